import { describe, expect, test } from 'vitest';
import { isConditionTrue, interpolate } from '../../testbed/workflow/expressions.ts';
import { limitPermissions } from '../../testbed/workflow/permissions.ts';
import { parseWorkflow } from '../../testbed/workflow/workflow.ts';
import { KEY_INPUTS } from '../../src/core/agent-names.ts';
import { DASHBOARD_MARKER as page } from '../../src/core/dashboard/boxes.ts';
import { formatAnswerMarker } from '../../src/core/people/command.ts';
import { KEYLESS, WITH_KEYS } from '../../scripts/reusable-workflow.ts';
import { read } from './documents/pages.ts';

const single = parseWorkflow(read('templates/workflows/ralph.yml'));
const called = parseWorkflow(read('.github/workflows/ralph.yml'));
const branch = parseWorkflow(read('.github/workflows/ralph-branch.yml'));
const template = single.jobs['ralph'];
const gate = called.jobs['gate'];

const issue = { title: 'Greet', labels: [{ name: 'ralph' }] };
const pull = (ref: string, user?: object) => ({ number: 9, head: { ref }, user });
const ours = { body: `${formatAnswerMarker('thread-7', '7')}\nDone.`, in_reply_to_id: 7 };
const empty = { state: 'commented', body: null };
const bot = { type: 'Bot' };
const app = { type: 'Bot', login: 'our-app[bot]' };
const reviewer = { type: 'Bot', login: 'reviewer[bot]' };
const ofBot = { ...issue, pull_request: {}, user: app };
const repository = { default_branch: 'trunk' };

type Event = Readonly<Record<string, unknown>>;
const starts = (condition: string | undefined, event: Event): boolean =>
  isConditionTrue(
    condition ?? '',
    { github: { event }, inputs: { 'task-label': 'ralph', 'branch-prefix': 'ralph/' } },
    { status: 'success' },
  );

describe('what starts a job: the template, and the first job of the reusable workflow', () => {
  test.each<[string, Event, boolean]>([
    ['a schedule', { schedule: '17 * * * *' }, true],
    ['a dispatch', { inputs: null }, true],
    ['the label', { issue, label: { name: 'ralph' } }, true],
    ['the label that asks for a plan', { issue, label: { name: 'ralph:plan' } }, true],
    ['another label', { issue, label: { name: 'bug' } }, false],
    ['a command', { issue, comment: { body: '/ralph run' } }, true],
    ['a comment', { issue, comment: { body: 'Nice.' } }, false],
    ['a request', { issue, comment: { body: '/ralph\u00A0please rename it' } }, true],
    ['a command as code', { issue, comment: { body: '`/ralph run`' } }, true],
    ['a command in bold', { issue, comment: { body: '**/ralph** run' } }, true],
    ['a quoted command', { issue, comment: { body: '> /ralph run' } }, false],
    ["a mention on a bot's pull request", { issue: ofBot, comment: { body: '@our-app rename it' } }, true],
    ["a mention on a person's", { issue: { ...ofBot, user: { type: 'User' } }, comment: { body: '@our-app' } }, false],
    ['a mention on an issue of a bot', { issue: { ...issue, user: app }, comment: { body: '@our-app' } }, false],
    ["any other comment on a bot's pull request", { issue: ofBot, comment: { body: 'So @our-app …' } }, false],
    ["Ralph's pull request closed", { pull_request: pull('ralph/queue') }, true],
    ['that of somebody else', { pull_request: pull('feature') }, false],
    ['a review', { pull_request: pull('ralph/issue-7'), review: { state: 'commented' } }, true],
    ['a review of somebody else', { pull_request: pull('feature'), review: { state: 'commented' } }, false],
    ['a reply', { pull_request: pull('ralph/queue'), comment: { body: 'No.', in_reply_to_id: 7 } }, true],
    ['a reply to somebody else', { pull_request: pull('feature'), comment: { body: 'No.', in_reply_to_id: 7 } }, false],
    ['an answer by Ralph', { pull_request: pull('ralph/queue'), comment: ours, sender: bot }, false],
    ['the review that GitHub makes of it', { pull_request: pull('ralph/queue'), review: empty, sender: bot }, false],
    ['a review by a bot', { pull_request: pull('ralph/queue'), review: { ...empty, body: 'No.' }, sender: bot }, true],
    ['comments of a bot', { pull_request: pull('ralph/queue', app), review: empty, sender: reviewer }, true],
    ['an answer by an app', { pull_request: pull('ralph/queue', app), review: empty, sender: app }, false],
    ['comments of a person', { pull_request: pull('ralph/queue'), review: empty, sender: { type: 'User' } }, true],
    ['a comment that comes with a review', { pull_request: pull('ralph/queue'), comment: { body: 'No.' } }, false],
    ['a failed suite', { check_suite: { head_branch: 'ralph/queue', conclusion: 'failure' } }, true],
    ['a failed suite elsewhere', { check_suite: { head_branch: 'main', conclusion: 'failure' } }, false],
    ['a suite that passed', { check_suite: { head_branch: 'ralph/queue', conclusion: 'success' } }, false],
    ['a failed run', { workflow_run: { head_branch: 'ralph/issue-7', conclusion: 'timed_out' } }, true],
    ['a failed run elsewhere', { workflow_run: { head_branch: 'feature', conclusion: 'failure' } }, false],
    ['a run that passed', { workflow_run: { head_branch: 'ralph/queue', conclusion: 'success' } }, false],
  ])('%s', (_what, event, isStarted) => {
    expect([starts(template?.if, event), starts(gate?.if, event)]).toEqual([isStarted, isStarted]);
  });

  test.each<[string, Event, boolean]>([
    ['an issue with the label closed', { issue }, true],
    ['another one', { issue: { ...issue, labels: [] } }, false],
    ['one with a status label', { action: 'closed', issue: { ...issue, labels: [{ name: 'ralph:failed' }] } }, true],
    ['such a one edited', { action: 'edited', issue: { ...issue, labels: [{ name: 'ralph:failed' }] } }, false],
    ['a ticked box of the dashboard', { issue: { ...issue, labels: [], body: `${page}\n- [x] Run` } }, true],
    ['the dashboard without a tick', { issue: { ...issue, labels: [], body: `${page}\n- [ ] Run` } }, false],
    ['a ticked box elsewhere', { issue: { ...issue, labels: [], body: `Like\n${page}\n- [x] Run` } }, false],
    ['a comment on the dashboard', { issue: { ...issue, body: `${page}\n- [x]` }, comment: { body: 'Nice.' } }, false],
  ])('three jobs alone listen to: %s', (_what, event, isStarted) => {
    expect(starts(gate?.if, event)).toBe(isStarted);
  });
});

test.each([
  ['a review', { repository, pull_request: pull('ralph/queue') }, 'trunk'],
  ['a dispatch on a branch', { repository, inputs: null }, ''],
])("for %s every job checks out what is not Ralph's", (_what, event, ref) => {
  const checkouts = [template, ...Object.values(called.jobs), ...Object.values(branch.jobs)].flatMap((job) =>
    (job?.steps ?? []).filter(({ uses }) => uses?.startsWith('actions/checkout@') === true),
  );
  expect(checkouts).toHaveLength(3);
  expect(checkouts.map((step) => interpolate(step.with?.['ref'] ?? '', { github: { event } }))).toEqual([
    ref,
    ref,
    ref,
  ]);
});

test('the workflow that calls grants every permission that the called one asks for', () => {
  const given = parseWorkflow(read('templates/workflows/three-jobs.yml')).permissions as Readonly<
    Record<string, string>
  >;
  for (const { permissions } of Object.values(called.jobs))
    for (const [area, level] of Object.entries(permissions as Readonly<Record<string, string>>))
      expect([level, 'write'], area).toContain(given[area]);
});

describe.each([WITH_KEYS, KEYLESS])('$reusable', ({ reusable, branch: path, logsIn }) => {
  const calls = parseWorkflow(read(reusable));
  const ofBranch = parseWorkflow(read(path));

  test('calls a workflow of one branch with no permission that it does not grant, and with every secret', () => {
    const { permissions, uses, secrets = {}, with: given = {} } = calls.jobs['branch'] ?? {};
    expect(uses).toBe(`$/${path}`);
    for (const job of Object.values(ofBranch.jobs))
      expect(() => limitPermissions(job.permissions, permissions)).not.toThrow();
    expect(Object.keys(given).sort()).toEqual(Object.keys(ofBranch.on.called?.inputs ?? {}).sort());
    const used = [...read(path).matchAll(/secrets\.([\w-]+)/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(secrets).sort());
    expect(KEY_INPUTS.filter((name) => Object.hasOwn(secrets, name))).toEqual(logsIn ? [] : KEY_INPUTS);
  });

  test('gives each job its permissions, and only the loop of the keyless one asks for logins', () => {
    const writes = { contents: 'write', issues: 'write', 'pull-requests': 'write' };
    const login = logsIn ? { 'id-token': 'write' } : {};
    const permissionsOf = (of: typeof calls): Readonly<Record<string, unknown>> =>
      Object.fromEntries(Object.entries(of.jobs).map(([name, { permissions }]) => [name, permissions]));
    expect([calls.permissions, ofBranch.permissions]).toEqual([{}, {}]);
    expect(permissionsOf(calls)).toEqual({
      gate: { ...writes, checks: 'read', statuses: 'read', actions: 'read' },
      // It runs nothing itself: GitHub wants what its jobs ask for.
      branch: { ...writes, ...login },
      finish: writes,
    });
    expect(permissionsOf(ofBranch)).toEqual({ loop: { contents: 'read', ...login }, publish: writes });
  });
});
