import { describe, expect, test } from 'vitest';
import { createUnknownSettings, type DoctorFacts } from '../../../../src/core/doctor/facts.ts';
import type { Finding } from '../../../../src/core/doctor/finding.ts';
import { diagnoseRun, type OwnRun } from '../../../../src/core/doctor/run-findings.ts';
import { parseWorkflow } from '../../../../src/core/doctor/workflow.ts';
import { actionRules } from '../../../../src/wiring/doctor/try-pipeline.ts';

const PATH = '.github/workflows/ralph.yml';
const TEXT = 'the same text';
const SETTINGS = 'https://github.com/acme/shop/settings';
const known = <T>(value: T) => ({ kind: 'known', value }) as const;
const unknown = { kind: 'unknown', why: 'GitHub did not answer.' } as const;

const workflow = parseWorkflow(PATH, {
  on: {
    schedule: [],
    workflow_dispatch: {},
    pull_request_review: { types: ['submitted'] },
    workflow_run: { workflows: ['CI'], types: ['completed'] },
  },
  permissions: {
    contents: 'write',
    issues: 'write',
    'pull-requests': 'write',
    checks: 'read',
    statuses: 'read',
    actions: 'read',
  },
  jobs: {
    ralph: {
      steps: [
        { uses: 'actions/checkout@v5', with: { ref: 'main', 'fetch-depth': 0, 'persist-credentials': false } },
        { uses: 'acme/ralph-action@v1', with: { verify: 'npm test', 'anthropic-api-key': '${{ secrets.KEY }}' } },
      ],
    },
  },
});
if (workflow === null) throw new Error('the workflow uses the action');

const good: OwnRun = {
  event: 'issue_comment',
  loginProblems: [],
  agentJob: 'this',
  pushObstacle: known(null),
  pullRequestObstacle: known(null),
  checkoutProblems: [],
  keepsCredentials: false,
  agent: known('claude 2.1.330'),
  stateStore: 'auto',
  cacheObstacle: null,
  state: known('restored #4 (ref)'),
  agents: ['claude'],
  prices: { hasPrices: false, isLimited: true, unpriced: [] },
  allowedTools: ['Bash(npm:*)'],
  verify: ['npm test'],
  maxCostUsdPerDay: 20,
};

/** The facts of a configured repository that the job's own token can see. */
const facts: DoctorFacts = {
  files: [{ kind: 'workflow', text: TEXT, workflow }],
  others: [],
  settings: [],
  pipelines: [],
  repository: known({
    name: 'acme/shop',
    webUrl: 'https://github.com/acme/shop',
    settings: {
      ...createUnknownSettings('it cannot be seen with this token.'),
      hasLabel: known(true),
      workflows: known([{ path: PATH, state: 'active' }]),
      onDefaultBranch: known({ [PATH]: TEXT }),
      inTheWay: known([]),
      branchRules: known([]),
      pushRulesets: known([]),
    },
  }),
  key: { kind: 'accepted' },
  verify: { kind: 'remembered', failed: null },
  agentNotes: '',
  hasNpm: true,
  spentTodayUsd: known(3),
};

const diagnosed = (run: Partial<OwnRun>, change: Partial<DoctorFacts> = {}): readonly Finding[] =>
  diagnoseRun({ ...facts, ...change, run: { ...good, ...run } }, actionRules);
const bad = (findings: readonly Finding[]): readonly string[] =>
  findings.flatMap(({ kind, check }) => (kind === 'ok' ? [] : [`${kind} ${check}`]));

test('a run that is set up sees all but what its token cannot see, and how far the agent is kept apart', () => {
  const findings = diagnosed({});
  expect(bad(findings)).toEqual(['unchecked branch-protection', 'warning isolation']);
  expect(new Set(findings.map(({ check }) => check)).size).toBe(22);
});

type Row = readonly [string, Partial<OwnRun>, Partial<DoctorFacts>, Finding['check'], Finding['kind'], RegExp];

describe('the findings of a run about itself', () => {
  test.each<Row>([
    ['no push', { pushObstacle: known('The token may not push.') }, {}, 'permissions', 'problem', /may not push/],
    ['push unknown', { pushObstacle: unknown }, {}, 'permissions', 'unchecked', /did not answer/],
    ['no pull request', { pullRequestObstacle: known('Turned off.') }, {}, 'pull-requests', 'problem', /Turned off/],
    ['no key', { loginProblems: ['There is no key.'] }, {}, 'secret', 'problem', /no key/],
    ['a refused key', {}, { key: { kind: 'refused', status: 401 } }, 'key', 'problem', /HTTP 401/],
    ['a silent provider', {}, { key: { kind: 'unanswered', why: 'no answer.' } }, 'key', 'unchecked', /no answer/],
    ['another login', {}, { key: { kind: 'form-only' } }, 'key', 'unchecked', /for free/],
    ['a checkout', { checkoutProblems: ['HEAD is detached.'] }, {}, 'checkout', 'problem', /detached/],
    ['credentials', { keepsCredentials: true }, {}, 'checkout', 'warning', /keeps credentials/],
    ['no agent', { agent: unknown }, {}, 'agent', 'problem', /did not answer/],
    ['cache alone', { stateStore: 'cache', cacheObstacle: 'it is read-only' }, {}, 'cache', 'problem', /read-only/],
    ['cache beside a ref', { cacheObstacle: 'it is read-only' }, {}, 'cache', 'ok', /because it is read-only/],
    ['the ref alone', { stateStore: 'ref', cacheObstacle: 'it is read-only' }, {}, 'cache', 'ok', /ref alone/],
    ['no state', { stateStore: 'none' }, {}, 'cache', 'warning', /nothing between runs/],
    ['a state that is lost', { state: unknown }, {}, 'state', 'problem', /did not answer/],
    ['no verify', { verify: [] }, {}, 'verify', 'warning', /no `verify`/],
    ['a red base', {}, { verify: { kind: 'remembered', failed: 'npm test' } }, 'verify', 'problem', /at `npm test`/],
    ['a tool', { verify: ['cargo test'] }, {}, 'allowed-tools', 'warning', /`cargo test`/],
    [
      'limits that do not bind',
      { agents: ['codex'] },
      {},
      'spend',
      'warning',
      /Codex calls only models whose price is known/,
    ],
    [
      'a model without a price',
      { prices: { hasPrices: true, isLimited: true, unpriced: ['gpt-9'] } },
      {},
      'spend',
      'problem',
      /No price is known for gpt-9/,
    ],
    [
      'limits that cannot bind',
      { agents: ['command'] },
      {},
      'spend',
      'warning',
      /Limits in dollars do not apply to Your command/,
    ],
    ['the day used up', {}, { spentTodayUsd: known(20) }, 'spend', 'warning', /used up/],
    ['a foreign workflow', {}, { files: [] }, 'workflow-file', 'unchecked', /names the action/],
  ])('%s', (_, run, change, check, kind, says) => {
    const findings = diagnosed(run, change).filter((found) => found.check === check);
    expect(findings).toContainEqual(expect.objectContaining({ kind, says: expect.stringMatching(says) }));
  });

  test('whatever is not fine says what to do', () => {
    const nothing = createUnknownSettings('it cannot be seen with this token.');
    const blind = diagnosed(
      { pushObstacle: unknown, pullRequestObstacle: unknown, stateStore: 'none', verify: [], keepsCredentials: true },
      {
        key: { kind: 'form-only' },
        spentTodayUsd: unknown,
        repository: known({ name: 'acme/shop', webUrl: 'https://github.com/acme/shop', settings: nothing }),
      },
    );
    expect(blind.filter(({ kind, remedy }) => kind !== 'ok' && remedy === null)).toEqual([]);
    expect(bad(blind).length).toBeGreaterThan(10);
  });

  test('a key of another agent has the one remedy that its sentence names', () => {
    const says = 'It holds an API key, which the agent does not accept there. Pass it as `openai-api-key` instead.';
    const key = { kind: 'malformed', problems: [says] } as const;
    expect(diagnosed({}, { key })).toContainEqual(expect.objectContaining({ kind: 'problem', says, remedy: null }));
  });

  test('a key that did not reach the step is not said to be untried as well', () => {
    expect(diagnosed({ loginProblems: ['There is no key.'] }).filter(({ check }) => check === 'key')).toEqual([]);
  });

  test('the setting for pull requests is a page away', () => {
    expect(diagnosed({ pullRequestObstacle: known('Turned off.') })).toContainEqual(
      expect.objectContaining({ remedy: expect.objectContaining({ link: `${SETTINGS}/actions` }) }),
    );
  });
});
