import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { diagnoseRepository } from '../../../../src/core/doctor/doctor.ts';
import {
  type DoctorFacts,
  type RepositoryFacts,
  type RepositorySettings,
  createUnknownSettings,
  withEffectiveInputs,
  type WorkflowFile,
} from '../../../../src/core/doctor/facts.ts';
import { warnOfJobCaches } from '../../../../src/core/doctor/cache-findings.ts';
import type { Finding } from '../../../../src/core/doctor/finding.ts';
import { parseWorkflow } from '../../../../src/core/doctor/workflow.ts';
import { actionRules } from '../../../../src/wiring/doctor/try-pipeline.ts';
import { parseYaml } from '../../../../src/yaml/parse.ts';

const PATH = '.github/workflows/ralph.yml';
const template = readFileSync(new URL('../../../../templates/workflows/ralph.yml', import.meta.url), 'utf8')
  .replace('OWNER/', 'acme/')
  .replace('# verify:', 'verify:');

const CONDITION = / {4}if: >-\n(?: {6}.*\n)+/;

const known = <T>(value: T) => ({ kind: 'known', value }) as const;
const unknown = { kind: 'unknown', why: 'the token may not ask for it.' } as const;

const settings: RepositorySettings = {
  token: known({ writes: false, mayOpenPullRequests: true }),
  secrets: known(['ANTHROPIC_API_KEY']),
  hasLabel: known(true),
  workflows: known([{ path: PATH, state: 'active' }]),
  onDefaultBranch: known({ [PATH]: template }),
  inTheWay: known([]),
  branchRules: known([]),
  branchProtection: known([]),
  pushRulesets: known([]),
};

const repository: RepositoryFacts = { name: 'acme/shop', webUrl: 'https://github.com/acme/shop', settings };

const good: DoctorFacts = {
  files: [fileWith(template)],
  others: [{ name: 'CI', checksPullRequests: true }],
  settings: [],
  pipelines: [],
  repository: known(repository),
  key: { kind: 'accepted' },
  verify: { kind: 'passed', seconds: 12 },
  agentNotes: '## Tests\n\n    npm test\n',
  hasNpm: true,
  spentTodayUsd: known(3.5),
};

function fileWith(text: string): WorkflowFile {
  const parsed = parseYaml(text);
  const workflow = parsed.kind === 'data' ? parseWorkflow(PATH, parsed.data) : null;
  if (workflow === null) throw new Error('the text uses the action');
  return { kind: 'workflow', text, workflow };
}

/** Returns the good facts with a text of the workflow replaced, here and on the default branch. */
function changed(from: string | RegExp, to: string): DoctorFacts {
  const text = template.replace(from, to);
  if (text === template) throw new Error(`nothing to replace: ${String(from)}`);
  return { ...withSettings({ onDefaultBranch: known({ [PATH]: text }) }), files: [fileWith(text)] };
}

const input = (lines: string): DoctorFacts => changed(/ +verify: .*\n/, `${lines.replaceAll(/^/gm, ' '.repeat(10))}\n`);

function withSettings(change: Partial<RepositorySettings>): DoctorFacts {
  return { ...good, repository: known({ ...repository, settings: { ...settings, ...change } }) };
}

const of = (facts: DoctorFacts, check: Finding['check']): readonly Finding[] =>
  diagnoseRepository(facts, actionRules).filter((found) => found.check === check);

test('with the template and everything set up there is one warning: how far the agent is kept apart', () => {
  const findings = diagnoseRepository(good, actionRules);
  expect(findings.filter(({ kind }) => kind !== 'ok')).toMatchObject([
    {
      check: 'isolation',
      kind: 'warning',
      remedy: { link: 'https://github.com/acme/ralph-action/blob/v1/docs/security.md' },
    },
  ]);
  expect(new Set(findings.map(({ check }) => check)).size).toBe(22);
});

test('whatever a token may not ask is unchecked, never fine, and has the page to look at', () => {
  const blind = withSettings(createUnknownSettings(unknown.why));
  const page = 'https://github.com/acme/shop';
  const seen = diagnoseRepository(blind, actionRules).filter(({ kind }) => kind === 'unchecked');
  expect(seen.map(({ check, remedy }) => [check, remedy?.link])).toEqual([
    ['pull-requests', `${page}/settings/actions`],
    ['secret', `${page}/settings/secrets/actions`],
    ['label', `${page}/labels`],
    ['schedule', `${page}/actions/workflows/ralph.yml`],
    ['branch-rules', `${page}/settings/rules`],
    ['branch-protection', `${page}/settings/branches`],
    ['push-rules', `${page}/settings/rules`],
  ]);
  const alone = diagnoseRepository({ ...good, repository: unknown }, actionRules);
  expect(alone.filter(({ kind }) => kind === 'unchecked').map(({ check }) => check)).toEqual([
    'pull-requests',
    'secret',
    'label',
    'schedule',
    'branch-rules',
    'branch-protection',
    'push-rules',
  ]);
});

test.each<[string, string, boolean]>([
  ['with the same tasks', template, true],
  [
    'with a label and branches of its own',
    template.replace(/( +)verify:/, '$1task-label: other\n$1branch-prefix: other/\n$1verify:'),
    false,
  ],
  ['on other events', template.replace(/on:[^]*?permissions:/, 'on:\n  push:\n\npermissions:'), false],
])('a second workflow %s', (_, text, isRival) => {
  const second = fileWith(text);
  if (second.kind !== 'workflow') throw new Error('the text is a workflow');
  const other: WorkflowFile = { ...second, workflow: { ...second.workflow, path: '.github/workflows/agent.yml' } };
  const found = of({ ...good, files: [...good.files, other] }, 'workflow-file').filter(({ kind }) => kind !== 'ok');
  expect(found).toMatchObject(
    isRival
      ? [{ kind: 'warning', where: '.github/workflows/agent.yml', says: expect.stringContaining(PATH) as string }]
      : [],
  );
});

test.each<[string, string, Finding['kind'] | undefined]>([
  ['entries of files on a schedule have nobody who asked', 'task-sources: plan, prd', 'warning'],
  ['a prompt has nobody who asked either', 'task-sources: prompt', 'warning'],
  ['with somebody named', 'task-sources: plan\nnotify: ann', 'ok'],
  ['without messages, since that was wanted', 'task-sources: plan\nnotify: none', 'ok'],
  ['beside issues as well', 'task-sources: issues, plan', 'warning'],
  ['issues have who put the label on', 'task-sources: issues', undefined],
  ['nobody knows whether the files of the default exist', 'max-iterations: 5', undefined],
  ['an expression says nothing', 'task-sources: ${{ vars.SOURCES }}', undefined],
])('the recipients of messages: %s', (_, lines, kind) => {
  expect(of(input(lines), 'notify').map((found) => found.kind)).toEqual(kind === undefined ? [] : [kind]);
});

type Row = readonly [string, DoctorFacts, Finding['check'], Finding['kind'], RegExp, RegExp];

describe('what the workflow file says', () => {
  test.each<Row>([
    ['no workflow', { ...good, files: [] }, 'workflow-file', 'problem', /No workflow/, /ralph init/],
    [
      'one that cannot be read',
      { ...good, files: [{ kind: 'unreadable', path: PATH, why: 'line 3: no.' }] },
      'workflow-file',
      'problem',
      /line 3/,
      /YAML/,
    ],
    ['the placeholder', changed('acme/', 'OWNER/'), 'placeholder', 'problem', /OWNER/, /account/],
    ['an old name', input("cb-no-progress: '2'"), 'inputs', 'problem', /circuit-no-progress/, /this name/],
    ['a slip', input('max_iteration: 3'), 'inputs', 'problem', /`max_iteration`/, /`max-iterations`/],
    ['a name far from all', input('frobnicate: 3'), 'inputs', 'problem', /not an input/, /Remove/],
    ['a foreign event', changed('on:\n', 'on:\n  release:\n'), 'triggers', 'problem', /`release`/, /Remove/],
    [
      'a foreign type',
      changed('[labeled, unlabeled]', '[labeled, pinned]'),
      'triggers',
      'problem',
      /pinned/,
      /labeled/,
    ],
    ['no types', changed('    types: [created]\n', ''), 'triggers', 'warning', /no `types`/, /created/],
    ['no filter', changed(CONDITION, ''), 'event-filter', 'warning', /issues, issue_comment/, /event\.label/],
    [
      'a permission less',
      changed('issues: write', 'issues: read'),
      'permissions',
      'problem',
      /`issues: write`/,
      /issues: write/,
    ],
    [
      'no permissions',
      changed(/permissions:\n(?: {2}.*\n)+/, ''),
      'permissions',
      'problem',
      /only read/,
      /contents: write/,
    ],
    [
      'only reading',
      changed(/permissions:\n(?: {2}.*\n)+/, 'permissions: read-all\n'),
      'permissions',
      'problem',
      /lacks/,
      /write/,
    ],
    [
      'a token of its own',
      input('github-token: ${{ secrets.APP }}'),
      'permissions',
      'unchecked',
      /of its own/,
      /may write/,
    ],
    [
      'no checkout',
      changed(/ {6}- uses: actions\/checkout(?:.*\n){6}/, ''),
      'checkout',
      'problem',
      /no actions\/checkout/,
      /fetch-depth/,
    ],
    [
      'a checkout beside the workspace',
      changed('persist-credentials: false', 'path: app'),
      'checkout',
      'problem',
      /into `app`/,
      /Remove `path`/,
    ],
    [
      'a partial checkout',
      changed('persist-credentials: false', 'filter: blob:none'),
      'checkout',
      'warning',
      /has `filter`/,
      /Remove/,
    ],
    [
      'a sparse checkout',
      changed('persist-credentials: false', 'sparse-checkout: src'),
      'checkout',
      'warning',
      /has `sparse-checkout`.*agent and `verify` see only those that are checked out/,
      /Remove/,
    ],
    [
      'another checkout beside the workspace',
      changed('    steps:\n', '    steps:\n      - uses: actions/checkout@v5\n        with: { path: other }\n'),
      'checkout',
      'ok',
      /whole history/,
      /^$/,
    ],
    [
      'kept credentials',
      changed(/ +persist-credentials.*\n/, ''),
      'checkout',
      'warning',
      /persist-credentials/,
      /false/,
    ],
    ['no key', changed(/ +anthropic-api-key: .*\n/, ''), 'secret', 'problem', /no key/, /Pass/],
    [
      'a key under a wrong name',
      changed(/ +with:\n +anthropic-api-key: (.*)\n/, '        env: { CLAUDE_API_KEY: "$1" }\n        with:\n'),
      'secret',
      'problem',
      /`CLAUDE_API_KEY` seems to be one/,
      /Pass/,
    ],
    [
      'an OAuth token as an API key',
      changed('secrets.ANTHROPIC_API_KEY', 'secrets.CLAUDE_CODE_OAUTH_TOKEN'),
      'secret',
      'warning',
      /`anthropic-api-key` is set from the secret `CLAUDE_CODE_OAUTH_TOKEN`/,
      /claude-code-oauth-token: \$\{\{ secrets\.CLAUDE_CODE_OAUTH_TOKEN \}\}/,
    ],
    [
      'an API key as an OAuth token',
      changed('anthropic-api-key:', 'claude-code-oauth-token:'),
      'secret',
      'warning',
      /`claude-code-oauth-token` is set from the secret `ANTHROPIC_API_KEY`/,
      /anthropic-api-key: /,
    ],
    [
      'either of two secrets, one of them with its own name',
      changed('secrets.ANTHROPIC_API_KEY', 'secrets.ANTHROPIC_API_KEY || secrets.CLAUDE_CODE_OAUTH_TOKEN'),
      'secret',
      'problem',
      /`CLAUDE_CODE_OAUTH_TOKEN`, which is not a secret/,
      /gh secret set/,
    ],
    ['the cache alone', input('state-store: cache'), 'cache', 'problem', /issues, issue_comment, pull_request/, /auto/],
    [
      'the cache, with its mode',
      {
        ...good,
        files: [
          fileWith(template.replace(/^jobs:/m, 'cache-mode: write\njobs:').replace('verify:', 'state-store: cache #')),
        ],
      },
      'cache',
      'ok',
      /Every trigger/,
      /^$/,
    ],
    ['no state', input('state-store: none'), 'cache', 'warning', /nothing between runs/, /Remove/],
    [
      'a setting as an input',
      input('max-patch-kib: 4096'),
      'inputs',
      'problem',
      /`max-patch-kib` is a setting, not an input/,
      /Put it under `settings`\. settings: \|\n {2}max-patch-kib: "?4096/,
    ],
    [
      'an input of one job',
      input('phase: gate'),
      'inputs',
      'problem',
      /`phase` is an input of the action of one job/,
      /\.github\/actions\/job/,
    ],
    ['a setting under `settings`', input('settings: |\n  max-patch-kib: 4096'), 'inputs', 'ok', /Every input/, /^$/],
    [
      'the earlier name of a list of agents',
      input('agents: codex'),
      'inputs',
      'problem',
      /now part of `agent`/,
      /Rename/,
    ],
    [
      'an invalid number',
      input('max-iterations: ten'),
      'inputs',
      'problem',
      /`max-iterations: ten` is not a whole number/,
      /Correct/,
    ],
    ['an invalid amount', input('max-cost-usd-per-day: $20'), 'spend', 'unchecked', /not known here/, /doctor/],
    ['a command as a tool', input('allowed-tools: npm test'), 'inputs', 'problem', /not a tool/, /Correct/],
    ['an expression', input('max-iterations: ${{ vars.MAX }}'), 'inputs', 'ok', /Every input/, /^$/],
    [
      'another label than that of the condition',
      input('task-label: ai'),
      'event-filter',
      'warning',
      /label `ralph`, but `task-label` is `ai`/,
      /== 'ai'/,
    ],
    ['the same label in other letters', input('task-label: Ralph'), 'event-filter', 'ok', /ignores other labels/, /^$/],
    [
      'a key in the file',
      changed('${{ secrets.ANTHROPIC_API_KEY }}', 'sk-ant-api03-x'),
      'secret',
      'warning',
      /file contains the value of `anthropic-api-key`/,
      /secrets\.ANTHROPIC_API_KEY/,
    ],
    ['Windows', changed('ubuntu-latest', 'windows-2025'), 'runner', 'problem', /`windows-2025`/, /ubuntu-latest/],
    [
      'a job that ends before the run',
      input('max-minutes: 120'),
      'runner',
      'warning',
      /after 60 minutes/,
      /timeout-minutes: 130/,
    ],
    ['a job without a limit of its own', changed(/ +timeout-minutes: .*\n/, ''), 'runner', 'ok', /suit a run/, /^$/],
    ['a path of the runner', input('agent-path: /opt/claude'), 'agent', 'unchecked', /\/opt\/claude/, /runner/],
    ['no verify', changed(/ +verify: .*\n/, ''), 'verify', 'warning', /no `verify`/, /npm test/],
    ['no limit of a day', input("max-cost-usd-per-day: '0'"), 'spend', 'warning', /no daily cost limit/, /20/],
  ])('%s', (_, facts, check, kind, says, remedy) => {
    const [found] = of(facts, check);
    expect(found).toMatchObject({ kind, says: expect.stringMatching(says) });
    expect([found?.remedy?.text, found?.remedy?.paste, found?.remedy?.link].join(' ').trim()).toMatch(remedy);
  });

  test('a label in another condition is left to it, and write-all is enough', () => {
    expect(of(changed(CONDITION, "    if: github.event_name == 'schedule'\n"), 'triggers')).toMatchObject([
      { kind: 'ok' },
    ]);
    expect(of(changed(/permissions:\n(?: {2}.*\n)+/, 'permissions: write-all\n'), 'permissions')).toMatchObject([
      { kind: 'ok' },
    ]);
  });
});

describe('reviews and checks', () => {
  type AnswerRow = readonly [string, DoctorFacts, RegExp, RegExp];
  const without = (event: string): [RegExp, string] => [new RegExp(`^ {2}${event}:.*\\n(?: {4}.*\\n)+`, 'm'), ''];
  const noReviews = changed(...without('pull_request_review'));
  const noEvents = template
    .replace(...without('schedule'))
    .replace(...without('workflow_run'))
    .replace(...without('check_suite'));

  test.each<AnswerRow>([
    [
      'reviews start no run',
      noReviews,
      /`pull_request_review`, so a review waits for the next scheduled run\. On an issue's own .*`\/ralph run`/,
      /submitted/,
    ],
    [
      'checks start no run, and nothing else does by itself',
      { ...good, files: [fileWith(noEvents)] },
      /neither `workflow_run` nor `check_suite`.* until something else starts a run/,
      /workflows: \[CI\]/,
    ],
    [
      'checks may not be read',
      changed(/^ {2}checks: .*\n/m, ''),
      /`checks: read`, so failed checks/,
      /^.*checks: read/,
    ],
    ['statuses may not', changed('statuses: read', 'statuses: none'), /failed commit statuses/, /statuses: read/],
    ['logs may not', changed(/^ {2}actions: .*\n/m, ''), /logs of failed jobs/, /actions: read/],
    [
      'nothing may be read of them',
      changed(/^ {2}(?:checks|statuses|actions): .*\n/gm, ''),
      /`checks: read`, `statuses: read`, `actions: read`, so failed checks .*, failed commit .*, the logs /,
      /checks: read\nstatuses: read\nactions: read/,
    ],
    [
      'the workflow watches itself',
      changed('workflows: [CI]', 'workflows: [CI, ralph]'),
      /names this .*`ralph`/,
      /other/,
    ],
    [
      'a workflow is called otherwise',
      {
        ...good,
        others: [
          { name: 'Build: all', checksPullRequests: true },
          { name: 'Deploy', checksPullRequests: false },
        ],
      },
      /names `CI`, but no workflow here has that name/,
      /workflows: \["Build: all"\]/,
    ],
    [
      'a condition lists other events',
      changed(CONDITION, "    if: github.event_name == 'issues' || github.event_name == 'workflow_run'\n"),
      /leaves out `pull_request_review`, `pull_request_review_comment`, `check_suite`/,
      /event_name == 'check_suite'/,
    ],
    ['branches are called otherwise', input('branch-prefix: bot/'), /begin with `ralph\/`, but .* `bot\/`/, /'bot\/'/],
    [
      "a review would set up the job with Ralph's code",
      changed(/^ {10}ref: .*\n/m, ''),
      /checks out Ralph's branch/,
      /ref: \$\{\{ github\.event\.pull_request/,
    ],
  ])('%s', (_, facts, says, remedy) => {
    const found = of(facts, 'answers');
    expect(found).toMatchObject([{ kind: 'warning', says: expect.stringMatching(says) }]);
    expect([found[0]?.remedy?.text, found[0]?.remedy?.paste].join(' ')).toMatch(remedy);
  });

  test.each<readonly [string, DoctorFacts]>([
    ['the template', good],
    [
      'answers turned off',
      { ...good, files: [fileWith(noEvents.replace('verify:', 'answer-checks: false\n          verify:'))] },
    ],
    ['a prefix that begins like it', input('branch-prefix: ralph/bot-')],
    ['no CI here yet', { ...good, others: [{ name: 'Deploy', checksPullRequests: false }] }],
    ['another CI alone', changed(...without('workflow_run'))],
    [
      'a token of its own',
      {
        ...changed(/^ {2}(?:checks|statuses|actions): .*\n/gm, ''),
        files: [
          fileWith(
            template
              .replace(/^ {2}(?:checks|statuses|actions): .*\n/gm, '')
              .replace('verify:', 'github-token: ${{ secrets.APP }}\n          verify:'),
          ),
        ],
      },
    ],
    ['all permissions', changed(/permissions:\n(?: {2}.*\n)+/, 'permissions: write-all\n')],
  ])('%s: nothing is missing', (_, facts) => {
    expect(of(facts, 'answers')).toMatchObject([{ kind: 'ok' }]);
  });
});

describe('what GitHub and this machine say', () => {
  const rule = { type: 'pull_request', ruleset: 7, source: 'acme', ofOrganization: false };
  test.each<Row>([
    [
      'the setting off',
      withSettings({ token: known({ writes: true, mayOpenPullRequests: false }) }),
      'pull-requests',
      'problem',
      /turned off/,
      /settings\/actions$/,
    ],
    [
      'no secret',
      withSettings({ secrets: known([]) }),
      'secret',
      'problem',
      /not a secret/,
      /gh secret set ANTHROPIC_API_KEY --repo acme\/shop/,
    ],
    [
      'no label',
      withSettings({ hasLabel: known(false) }),
      'label',
      'problem',
      /does not exist/,
      /gh label create ralph --repo acme\/shop/,
    ],
    [
      'not on the default branch',
      withSettings({ onDefaultBranch: known({ [PATH]: null }) }),
      'schedule',
      'problem',
      /not on the default branch/,
      /merge/,
    ],
    [
      'another text there',
      withSettings({ onDefaultBranch: known({ [PATH]: 'on: push' }) }),
      'schedule',
      'warning',
      /differs/,
      /Merge/,
    ],
    [
      'a branch in the way',
      withSettings({ inTheWay: known([{ branch: 'ralph/queue', existing: ['ralph', 'ralph/issue-1'] }]) }),
      'branch-names',
      'problem',
      /`ralph` is in the way of `ralph\/queue`/,
      /branch-prefix/,
    ],
    [
      'a merge queue',
      withSettings({ branchRules: known([{ ...rule, type: 'merge_queue' }]) }),
      'branch-rules',
      'problem',
      /bypass the merge queue/,
      /Exclude/,
    ],
    [
      'a rule about merges',
      withSettings({ branchRules: known([{ ...rule, type: 'required_linear_history' }]) }),
      'branch-rules',
      'warning',
      /refuses merges of the base/,
      /Exclude/,
    ],
    [
      'a rule',
      withSettings({ branchRules: known([rule]) }),
      'branch-rules',
      'problem',
      /`pull_request`/,
      /acme\/shop\/settings\/rules\/7$/,
    ],
    [
      'a rule about signatures, which GitHub makes',
      withSettings({ branchRules: known([{ ...rule, type: 'required_signatures' }]) }),
      'branch-rules',
      'ok',
      /requires signed commits .*GITHUB_TOKEN or that of a GitHub App, not a person's; .*merge of the base/,
      /^$/,
    ],
    [
      'a rule about signatures beside another',
      withSettings({ branchRules: known([rule, { ...rule, type: 'required_signatures' }]) }),
      'branch-rules',
      'problem',
      /branches: `pull_request` refuses pushes without a pull request\./,
      /Exclude/,
    ],
    [
      'a rule about signatures without any',
      {
        ...withSettings({ branchRules: known([{ ...rule, type: 'required_signatures' }]) }),
        files: [fileWith(template.replace('verify:', 'sign-commits: false #'))],
      },
      'branch-rules',
      'problem',
      /refuses commits without a signature/,
      /Exclude/,
    ],
    [
      'a classic protection about signatures',
      withSettings({ branchProtection: known(['required_signatures']) }),
      'branch-protection',
      'ok',
      /requires signed commits/,
      /^$/,
    ],
    [
      'a rule of the organization',
      withSettings({ branchRules: known([{ ...rule, ofOrganization: true }]) }),
      'branch-rules',
      'problem',
      /without a pull request/,
      /github\.com\/organizations\/acme\/settings\/rules\/7$/,
    ],
    [
      'a harmless rule',
      withSettings({ branchRules: known([{ ...rule, type: 'non_fast_forward' }]) }),
      'branch-rules',
      'ok',
      /No ruleset/,
      /^$/,
    ],
    [
      'a rule to look at',
      withSettings({ branchRules: known([{ ...rule, type: 'deletion' }]) }),
      'branch-rules',
      'warning',
      /keeps the branch/,
      /Exclude/,
    ],
    [
      'a classic protection',
      withSettings({ branchProtection: known(['deletion', 'pull_request', 'update']) }),
      'branch-protection',
      'problem',
      /keeps the branch .*refuses pushes without a pull request/,
      /acme\/shop\/settings\/branches$/,
    ],
    [
      'a classic protection that only keeps the branch',
      withSettings({ branchProtection: known(['deletion']) }),
      'branch-protection',
      'warning',
      /keeps the branch/,
      /pattern/,
    ],
    [
      'a branch that is not there yet',
      withSettings({ branchProtection: known(null) }),
      'branch-protection',
      'unchecked',
      /only once Ralph's branch exists/,
      /settings\/branches$/,
    ],
    [
      'a push ruleset',
      withSettings({ pushRulesets: known([{ id: 3, name: 'no binaries' }]) }),
      'push-rules',
      'warning',
      /no binaries/,
      /settings\/rules/,
    ],
    [
      'a refused key',
      { ...good, key: { kind: 'refused', status: 401 } },
      'key',
      'problem',
      /401/,
      /platform\.claude\.com/,
    ],
    ['no key here', { ...good, key: { kind: 'none' } }, 'key', 'unchecked', /never shows secrets/, /ANTHROPIC_API_KEY/],
    [
      'a key here under another name',
      { ...good, key: { kind: 'misnamed', why: '`CLAUDE_KEY` seems to be one.' } },
      'key',
      'unchecked',
      /CLAUDE_KEY/,
      /ANTHROPIC_API_KEY/,
    ],
    ['an OAuth token', { ...good, key: { kind: 'form-only' } }, 'key', 'unchecked', /right form/, /max-iterations: 1/],
    ['no npm', { ...good, hasNpm: false }, 'agent', 'warning', /does not have/, /runner/],
    [
      'verify not tried',
      { ...good, verify: { kind: 'not-tried' } },
      'verify',
      'unchecked',
      /add --verify/,
      /doctor --verify/,
    ],
    [
      'verify fails',
      { ...good, verify: { kind: 'failed', command: 'npm test', tail: 'no test' } },
      'verify',
      'problem',
      /at `npm test`: no test/,
      /clean clone/,
    ],
    [
      'a tool that is not allowed',
      { ...good, agentNotes: '```sh\n$ cargo test && ls\n```\nLint: `ruff check`' },
      'allowed-tools',
      'warning',
      /`cargo test`, `ruff check`/,
      /allowed-tools: \+Bash\(cargo:\*\),\+Bash\(ruff:\*\)$/,
    ],
    [
      'a shell, which no rule should allow',
      { ...good, agentNotes: 'Test: `TERM=linux bash -c "x"`' },
      'allowed-tools',
      'warning',
      /bash -c/,
      /put the command in a script and name the script\.$/,
    ],
    [
      'a shell beside a program',
      { ...good, agentNotes: '- Lint: `bash -c "x"`\n- Test: `cargo test`' },
      'allowed-tools',
      'warning',
      /bash -c.*cargo test/,
      /put the command in a script and name the script\.$/,
    ],
    [
      'variables before a program that no rule covers',
      { ...good, agentNotes: 'Test: `FLAGS="a b" cargo test`' },
      'allowed-tools',
      'warning',
      /cargo test/,
      /name them in `agent-env`\.$/,
    ],
    [
      'an agent that reports no cost',
      input('agent: codex'),
      'spend',
      'warning',
      /Codex calls only models whose price is known/,
      /prices: /,
    ],
    [
      'a model without a price',
      input('agent: codex\nmodel: gpt-9'),
      'spend',
      'problem',
      /No price is known for gpt-9/,
      /prices: gpt-9=/,
    ],
    ['the day used up', { ...good, spentTodayUsd: known(20) }, 'spend', 'warning', /\$20\.00 of \$20/, /40/],
    ['spend unknown', { ...good, spentTodayUsd: unknown }, 'spend', 'unchecked', /may not ask/, /ralph status/],
  ])('%s', (_, facts, check, kind, says, remedy) => {
    const [found] = of(facts, check);
    expect(found).toMatchObject({ kind, says: expect.stringMatching(says) });
    expect([found?.remedy?.text, found?.remedy?.paste, found?.remedy?.link].join(' ').trim()).toMatch(remedy);
  });

  test('a workflow that GitHub disabled after 60 days', () => {
    const facts = withSettings({ workflows: known([{ path: PATH, state: 'disabled_inactivity' }]) });
    expect(of(facts, 'schedule').filter(({ kind }) => kind === 'problem')).toMatchObject([
      { says: expect.stringContaining('60 days'), remedy: { paste: 'gh workflow enable ralph.yml' } },
    ]);
  });
});

test.each<[string, string, string, boolean]>([
  ['of another name', 'someone/my-ralph@v1', 'verify: npm test', true],
  ['in a folder of the repository', './.github/actions/agent', 'verify: npm test', true],
  ['by two inputs alone', 'someone/my-ralph@v1', 'circuit-no-progress: 2\n          task-sources: plan', true],
  ['of earlier versions', './', 'cb-no-progress: 2\n          max-calls-per-hour: 3', true],
  ['no copy: another action for the same agent', 'anthropics/claude-code-action@v1', 'allowed-tools: Read', false],
  ['no copy: one name that others have too', 'someone/checker@v1', 'verify: npm test', false],
])('a copy of the action, %s', (_, name, inputs, isOne) => {
  const isBare = inputs.includes('\n') || name.includes('checker');
  const text = template
    .replace(/acme\/ralph-action@\S+/, name)
    .replace(/( +)anthropic-api-key: .*\n/, isBare ? '' : '$&')
    .replace(/verify: .*/, inputs);
  const parsed = parseYaml(text);
  const workflow = parsed.kind === 'data' ? parseWorkflow(PATH, parsed.data) : null;
  expect(workflow?.uses.map(({ knownBy }) => knownBy) ?? []).toEqual(isOne ? ['inputs'] : []);
  if (workflow === null) return;
  const found = diagnoseRepository({ ...good, files: [{ kind: 'workflow', text, workflow }] }, actionRules);
  expect(found[0]).toMatchObject({ kind: 'ok', says: expect.stringContaining(`\`${name}\` look like`) as string });
  expect(found.filter(({ check }) => check === 'inputs')).not.toEqual([]);
});

/** Returns the settings of runs whose label comes from a settings file of another Ralph. */
function withLabelOfFile(facts: DoctorFacts, label: string): DoctorFacts {
  const settings = [
    {
      workflow: facts.files.length === 0 ? 'ralph run' : PATH,
      settings: [{ input: 'task-label', text: label, origin: 'file', where: '.ralphrc:3 GITHUB_TASK_LABEL' }],
      problems: [],
    },
  ] as const;
  return { ...facts, settings, files: withEffectiveInputs(facts.files, settings) };
}

describe('the label that starts a job and the label of tasks', () => {
  test('of a settings file', () => {
    const [found] = of(withLabelOfFile(good, 'agent'), 'event-filter');
    expect(found).toMatchObject({
      kind: 'warning',
      says: expect.stringContaining(
        'waits for the label `ralph`, but `task-label` is `agent` (.ralphrc:3 GITHUB_TASK_LABEL)',
      ) as string,
      remedy: { paste: "github.event.label.name == 'agent'" },
    });
    expect(of(withLabelOfFile(good, 'Ralph'), 'event-filter')).toMatchObject([{ kind: 'ok' }]);
  });

  test.each<[string, string, Finding['kind']]>([
    ['the other way round', "'ai' == github.event.label.name", 'warning'],
    ['by the labels of the issue', "contains(github.event.issue.labels.*.name, 'ai')", 'warning'],
    ['one of two', "github.event.label.name == 'ai' || github.event.label.name == 'ralph'", 'ok'],
    ['a label to leave out', "!contains(github.event.issue.labels.*.name, 'wip')", 'ok'],
    ['a variable', 'github.event.label.name == vars.LABEL', 'ok'],
  ])('in a condition, %s', (_, condition, kind) => {
    expect(of(changed("github.event.label.name == 'ralph'", condition), 'event-filter')).toMatchObject([{ kind }]);
  });

  test('without a workflow, that of a settings file must be there', () => {
    const facts = withLabelOfFile({ ...withSettings({ hasLabel: known(false) }), files: [] }, 'agent');
    expect(of(facts, 'label')).toMatchObject([
      { kind: 'problem', remedy: { paste: 'gh label create agent --repo acme/shop' } },
    ]);
  });
});

describe('a workflow that calls the reusable one', () => {
  const calling = readFileSync(new URL('../../../../templates/workflows/three-jobs.yml', import.meta.url), 'utf8')
    .replace('OWNER/', 'acme/')
    .replace(/^ {4}# with:\n {4}# {3}(verify: .*?) #.*$/m, '    with:\n      $1');
  const factsOf = (text: string): DoctorFacts => ({
    ...withSettings({ onDefaultBranch: known({ [PATH]: text }) }),
    files: [fileWith(text)],
  });

  test('is set up like the single one, and keeps the agent in a job of its own', () => {
    const findings = diagnoseRepository(factsOf(calling), actionRules);
    expect(findings.filter(({ kind }) => kind !== 'ok')).toEqual([]);
    expect(findings.find(({ check }) => check === 'isolation')).toMatchObject({
      kind: 'ok',
      says: expect.stringContaining('can only read') as string,
    });
  });

  test('compares labels with its own input, whatever a settings file says', () => {
    expect(of(withLabelOfFile(factsOf(calling), 'agent'), 'event-filter')).toMatchObject([
      {
        kind: 'warning',
        says: expect.stringContaining('The first job of the called workflow waits for the label `ralph`') as string,
        remedy: { paste: 'task-label: agent' },
      },
    ]);
    const both = calling.replace('verify:', 'task-label: agent\n      verify:');
    expect(of(withLabelOfFile(factsOf(both), 'agent'), 'event-filter')).toMatchObject([{ kind: 'ok' }]);
  });

  test.each<[string, string, string, Finding['check'], Finding['kind']]>([
    ['an invalid input', 'verify:', 'verfy:', 'inputs', 'problem'],
    ['no key', /^ {4}secrets:[^]*/m.exec(calling)?.[0] ?? '', '', 'secret', 'problem'],
    ['a permission that its jobs need', '  issues: write', '  issues: read', 'permissions', 'problem'],
    [
      'a permission to read that its first job needs',
      /^ {2}statuses: .*\n/m.exec(calling)?.[0] ?? '',
      '',
      'answers',
      'problem',
    ],
  ])('%s is found', (_, from, to, check, kind) => {
    expect(calling).toContain(from);
    expect(of(factsOf(calling.replace(from, to)), check)).toMatchObject([{ kind }]);
  });
});

describe('a workflow that calls the one without stored keys', () => {
  const keyless = readFileSync(new URL('../../../../templates/workflows/three-jobs.yml', import.meta.url), 'utf8')
    .replace('OWNER/', 'acme/')
    .replace('ralph.yml', 'ralph-keyless.yml')
    .replace('  contents: write', '  id-token: write\n  contents: write')
    .replace(/^ {4}# with:\n {4}# {3}(verify: .*?) #.*\n {4}secrets:.*$/m, '    with:\n      $1\n      PROVIDER: x');
  const factsOf = (provider: string, from = '', to = ''): DoctorFacts => {
    const text = keyless.replace('PROVIDER', provider).replace(from, to);
    return { ...withSettings({ onDefaultBranch: known({ [PATH]: text }) }), files: [fileWith(text)] };
  };

  test.each(['aws-role', 'google-workload-identity-provider', 'anthropic-federation-rule'])(
    'needs no key with %s',
    (provider) => {
      const findings = diagnoseRepository(factsOf(provider), actionRules);
      expect(findings.filter(({ kind }) => kind !== 'ok')).toEqual([]);
    },
  );

  test('takes one provider', () => {
    const both = factsOf('aws-role', '      aws-role: x', '      aws-role: x\n      anthropic-federation-rule: x');
    expect(of(both, 'secret')).toMatchObject([
      { kind: 'problem', says: expect.stringContaining('`aws-role`, `CLAUDE_CODE_OAUTH_TOKEN`') as string },
    ]);
    const clouds = factsOf(
      'aws-role',
      '      aws-role: x',
      '      aws-role: x\n      google-workload-identity-provider: x',
    );
    expect(of(clouds, 'secret')).toMatchObject([
      { kind: 'problem', says: expect.stringContaining('`aws-role`, `google-workload-identity-provider`') as string },
    ]);
  });

  test('needs a provider, the permission to log in, and inputs that exist', () => {
    expect(of(factsOf('google-project'), 'secret')).toMatchObject([{ kind: 'problem' }]);
    expect(of(factsOf('aws-role', '  id-token: write\n'), 'permissions')).toMatchObject([
      { kind: 'problem', says: 'The workflow lacks `id-token: write`.' },
    ]);
    expect(of(factsOf('aws-role', 'ralph-keyless.yml', 'ralph.yml'), 'inputs')).toMatchObject([{ kind: 'problem' }]);
  });
});

test('odd data for a workflow is not taken for one of Ralph, and never throws', () => {
  for (const data of [
    null,
    7,
    'x',
    [],
    {},
    { jobs: [] },
    { jobs: { a: null, b: { steps: {} } } },
    { jobs: { a: { steps: [null, 7] } } },
  ])
    expect(parseWorkflow(PATH, data)).toBeNull();
  expect(parseYaml('a: [').kind).toBe('unreadable');
  expect(parseYaml('a: &a [x]\nb: [*a, *a]')).toEqual({ kind: 'data', data: { a: ['x'], b: [['x'], ['x']] } });
});

describe('a token of its own for the reusable workflow', () => {
  const noPullRequests = {
    ...repository,
    settings: { ...settings, token: known({ writes: false, mayOpenPullRequests: false }) },
  };
  const calling = (secrets: string): string =>
    `on: { workflow_dispatch: {} }
permissions: { contents: write, issues: write }
jobs:
  ralph:
    uses: acme/ralph-action/.github/workflows/ralph.yml@v1
    secrets: { anthropic-api-key: '\${{ secrets.ANTHROPIC_API_KEY }}'${secrets} }
`;
  const found = (secrets: string, check: string): readonly Finding[] =>
    diagnoseRepository(
      { ...good, files: [fileWith(calling(secrets))], repository: known(noPullRequests) },
      actionRules,
    ).filter((finding) => finding.check === check);

  test.each([
    ['a token', ", token: '${{ secrets.BOT }}'", 'token'],
    [
      'a GitHub App',
      ", app-client-id: '${{ secrets.APP }}', app-private-key: '${{ secrets.APP_KEY }}'",
      'app-client-id',
    ],
  ])('%s opens pull requests whatever the setting of the repository says', (_what, secrets, name) => {
    expect(found(secrets, 'pull-requests')).toMatchObject([
      { kind: 'unchecked', says: expect.stringContaining(`\`${name}\``) as string },
    ]);
  });

  test("the caller's job still needs the permissions that the called jobs ask for", () => {
    expect(found(", token: '${{ secrets.BOT }}'", 'permissions')).toMatchObject([
      { kind: 'problem', says: expect.stringContaining('pull-requests: write') as string },
    ]);
  });

  test.each([
    ['no token', ''],
    ["the job's token", ", token: '${{ secrets.GITHUB_TOKEN }}'"],
  ])('%s: the setting of the repository counts', (_what, secrets) => {
    expect(found(secrets, 'pull-requests')).toMatchObject([{ kind: 'problem' }]);
  });
});

test.each<[string, string, Finding['kind'] | undefined]>([
  ["with the job's own token", 'auto-merge: true', 'warning'],
  ["with the job's own token, by name", 'auto-merge: dependencies\ngithub-token: ${{ github.token }}', 'warning'],
  ['with the token of an App', 'auto-merge: true\ngithub-token: ${{ steps.app.outputs.token }}', 'ok'],
  ['that is off', 'auto-merge: false', undefined],
  ['that nobody asks for', 'max-iterations: 5', undefined],
])('auto-merge %s', (_, lines, kind) => {
  const found = of(input(lines), 'pull-requests').filter(({ says }) => /auto-merge/i.test(says));
  expect(found.map((one) => one.kind)).toEqual(kind === undefined ? [] : [kind]);
});

describe('steps of the same job that store a cache', () => {
  const findingsWith = (step: string): readonly Finding[] =>
    of(changed(/^( *)(?=- uses: actions\/checkout)/m, `$1- ${step.replaceAll('\n', '\n$1  ')}\n$1`), 'cache').filter(
      ({ says }) => says.includes('stores a cache'),
    );

  test.each([
    'uses: actions/cache@v4',
    'uses: actions/setup-node@v5\nwith: { cache: npm }',
    'uses: actions/setup-java@v5\nwith: { cache: gradle }',
    'uses: actions/setup-go@v6',
    'uses: gradle/actions/setup-gradle@v4',
    'uses: Swatinem/rust-cache@v2',
    'uses: mozilla-actions/sccache-action@v0.0.9',
    'uses: ruby/setup-ruby@v1\nwith: { bundler-cache: true }',
    'uses: astral-sh/setup-uv@v6\nwith: { enable-cache: true }',
    'uses: docker/build-push-action@v6\nwith: { cache-to: type=gha }',
  ])('%s: named', (step) => {
    const [finding] = findingsWith(step);
    expect(finding?.says).toContain(`\`${/uses: (\S+)/.exec(step)?.[1] ?? ''}\``);
  });

  test.each([
    'uses: actions/cache/restore@v4',
    'uses: actions/setup-node@v5',
    'uses: actions/setup-go@v6\nwith: { cache: false }',
    'uses: gradle/actions/setup-gradle@v4\nwith: { cache-disabled: true }',
    'uses: docker/build-push-action@v6\nwith: { no-cache: true, cache-from: type=gha }',
    'uses: actions/setup-python@v6\nwith: { cache-dependency-path: a.txt }',
  ])('%s: none', (step) => {
    expect(findingsWith(step)).toEqual([]);
  });

  const warningWith = (steps: readonly object[], isIsolated: boolean): string | null => {
    const ralph = { uses: 'octo/ralph-action@v1' };
    const both = [
      ...steps,
      ralph,
      { uses: 'actions/cache/save@v4', if: 'false', name: 'Later', with: { path: '~/x' } },
    ];
    const workflow = parseWorkflow('w.yml', { jobs: { ralph: { steps: both }, other: { steps: [ralph, ...steps] } } });
    return warnOfJobCaches(workflow?.uses ?? [], { job: 'ralph', isIsolated });
  };

  test.each<[string, object, boolean]>([
    ['a folder of the checkout', { with: { path: 'node_modules' } }, true],
    ['a folder of the checkout beside others', { with: { path: '~/.npm\n!a\n.turbo' } }, true],
    ['the workspace by its expression', { with: { path: '${{ github.workspace }}/target' } }, true],
    ['folders that only the action knows', {}, true],
    ['folders of the home folder', { with: { path: '~/.npm\n~/.cache' } }, false],
    ['a folder of the runner', { with: { path: '${{ runner.temp }}/x' } }, false],
    ['packages of the machine', { uses: 'actions/setup-node@v5', with: { cache: 'npm' } }, false],
    ['a cache that is only restored', { uses: 'actions/cache/restore@v4', with: { path: 'a' } }, false],
    ['a cache that is stored before the agent works', { uses: 'actions/cache/save@v4', with: { path: 'a' } }, false],
  ])('a run with isolation names a step that stores %s, if the checkout is in it', (_, given, isNamed) => {
    const step = { uses: 'actions/cache@v4', name: 'Deps', ...given };
    const warning = warningWith([step], true);
    if (isNamed) expect(warning).toContain(`(\`${step.uses} (Deps)\`): the checkout then has the agent's commits`);
    else expect(warning).toBeNull();
  });

  test('a run without isolation names every step of its job that stores a cache', () => {
    expect(warningWith([{ uses: 'actions/setup-node@v5', with: { cache: 'npm' } }], false)).toContain(
      '(`actions/setup-node@v5`, `actions/cache/save@v4 (Later)`): an agent without isolation may have changed it',
    );
  });
});
