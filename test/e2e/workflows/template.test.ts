import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { closePull, type StoredIssue, type StoredPull } from '../../../testbed/github/state.ts';
import { events } from '../../../testbed/testbed.ts';
import { createScene, KEY, type Scene, type ScenePerformance } from '../e2e-fixture.ts';
import { deepTest, rows } from '../../runs.ts';

const template = readFileSync(new URL('../../../templates/workflows/ralph.yml', import.meta.url), 'utf8');

type Event = ScenePerformance['event'];
type Played = Awaited<ReturnType<Scene['play']>>;

/** Returns the end of an event: that no job started, or how the run ended. */
function ending(played: Played): string {
  if (played.kind !== 'ran') return played.kind;
  const { outcome = '', reason = '' } = played.result.outputs;
  return `${outcome} (${reason}), ${played.calls} calls`;
}

const COMPLETE = 'complete (plan_complete), 2 calls';
const play = (scene: Scene, event: Event) => scene.play({ workflow: template, event });
const say = ({ testbed: { github } }: Scene, issue: StoredIssue, body: string, by = 'octo') =>
  events.comment(github, { issue, body, by });

describe('the template, played', () => {
  test.each<[string, (issue: StoredIssue, scene: Scene) => Event, string, string?]>(
    rows<[string, (issue: StoredIssue, scene: Scene) => Event, string, string?]>(5, [
      [
        'a schedule that it does not have',
        () => ({ name: 'schedule', payload: { schedule: '1 1 * * *' } }),
        'not-triggered',
      ],
      ['another label', (issue) => events.labeled(issue, 'bug'), 'skipped'],
      [
        'the label, by a stranger',
        (issue) => events.labeled(issue, 'ralph', 'stranger'),
        'refused (not_allowed), 0 calls',
      ],
      ['the label taken off', (issue) => events.unlabeled(issue), 'idle (updated), 0 calls', 'ralph: Greet'],
      ['another label taken off', (issue) => events.unlabeled(issue, 'bug'), 'skipped'],
      ['an issue closed', (issue) => events.issue('closed', issue), 'not-triggered'],
      ['an issue deleted', (issue) => events.issue('deleted', issue), 'not-triggered'],
      ['an issue edited', (issue) => events.edited(issue, 'stranger'), 'not-triggered'],
      ['a comment', (issue, scene) => say(scene, issue, 'What does ralph do?'), 'skipped'],
      ['a command', (issue, scene) => say(scene, issue, '/ralph status'), 'idle (answered), 0 calls', 'ralph: Greet'],
      [
        'a command of a stranger',
        (issue, scene) => say(scene, issue, '/ralph run', 'stranger'),
        'refused (not_allowed), 0 calls',
      ],
      [
        'a comment that only begins like one',
        (issue, scene) => say(scene, issue, '/ralphs'),
        'idle (not_for_us), 0 calls',
      ],
      ['a push', () => events.push(), 'not-triggered'],
      ['a run of a workflow that it does not name', () => ran('Release', 'ralph/queue'), 'not-triggered'],
      ['a failed run elsewhere', () => ran('CI', 'feature'), 'skipped'],
      ['a run that passed', () => ran('CI', 'ralph/queue', 'success'), 'skipped'],
      [
        "a failed run on a branch of Ralph's that is not a task's",
        () => ran('CI', 'ralph/x'),
        'idle (updated), 0 calls',
      ],
      ['a repository dispatch', () => events.repositoryDispatch(), 'not-triggered'],
      ['a dispatch with the command pause', () => events.dispatch('pause'), 'idle (answered), 0 calls', 'ralph: pause'],
      [
        'a dispatch with the command status',
        () => events.dispatch('status'),
        'idle (answered), 0 calls',
        'ralph: status',
      ],
      // These two events reach that end without concurrency as well, below.
      ['the schedule', () => events.schedule(), COMPLETE, 'ralph: queue'],
      ['the label', (issue) => events.labeled(issue), COMPLETE, 'ralph: Greet'],
    ]),
  )('%s', async (_what, event, end, runName) => {
    await using scene = await createScene();
    const played = await play(scene, event(scene.openIssue('Greet'), scene));
    expect(ending(played)).toBe(end);
    if (runName !== undefined) expect(played).toMatchObject({ runName });
    if (played.kind === 'ran') expect(played.inputs).toEqual({ 'anthropic-api-key': KEY });
  });

  test.each([undefined, 'run'])('a dispatch with the command %s is a run', async (command) => {
    await using scene = await createScene();
    expect(ending(await play(scene, events.dispatch(command)))).toBe('idle (no_such_label), 0 calls');
  });

  test('a dispatch with an unknown command is refused by GitHub itself', async () => {
    await using scene = await createScene();
    await expect(play(scene, events.dispatch('statsu'))).rejects.toThrow(
      "'statsu' for input 'command' not in the list",
    );
  });

  // Also tested by everyday/lifecycle.
  deepTest('merged: the branch goes, also when a person deleted it already', async () => {
    await using scene = await createScene();
    const { github, git } = scene.testbed;
    expect(ending(await play(scene, events.labeled(scene.openIssue('Greet'))))).toBe(COMPLETE);
    const merged = pullOf(scene);
    await git('update-ref', 'refs/heads/main', `refs/heads/${merged.head}`);
    closePull(github.state, merged.number, { kind: 'merged', at: Date.now() });
    const event = events.pullClosed(merged, 'Greet');
    const played = await play(scene, event);
    expect(ending(played)).toBe('idle (updated), 0 calls');
    expect(played).toMatchObject({ runName: 'ralph: Greet' });
    expect(logOf(played)).toContain('The branch ralph/issue-1 was deleted.');
    const again = await play(scene, event);
    expect(ending(again)).toBe('idle (updated), 0 calls');
    expect(logOf(again)).toContain('The branch ralph/issue-1 was already deleted.');
  });

  test('closed without merging: the default branch is checked out, not the merge that GitHub made', async () => {
    await using scene = await createScene();
    const { git } = scene.testbed;
    const played = await play(scene, events.pullClosed(await openedByHand(scene, 'ralph/queue')));
    expect(ending(played)).toBe('idle (updated), 0 calls');
    expect(logOf(played)).toContain('was closed without merging, so work on the queue is on hold.');
    expect(await git('rev-list', '--count', '--merges', 'refs/pull/9/merge')).toBe('1');
  });

  test.each([
    ['of other people', { head: 'feature' }, 'skipped'],
    [
      'of a fork, without secrets and with a token that can only read',
      { fork: 'stranger' },
      'refused (not_allowed), 0 calls',
    ],
  ])('a pull request %s', async (_whose, change, end) => {
    await using scene = await createScene();
    const pull = await openedByHand(scene, 'feature');
    expect(ending(await play(scene, events.pullClosed({ ...pull, head: 'ralph/queue', ...change })))).toBe(end);
  });

  test.each([
    ['on a pull request of other people', 'feature', 'octo', 'skipped'],
    ["of a stranger on Ralph's", 'ralph/queue', 'stranger', 'idle (not_for_us), 0 calls'],
  ])('a review %s', async (_whose, head, by, end) => {
    await using scene = await createScene();
    scene.openIssue('Greet');
    const played = await play(scene, reviewed(await openedByHand(scene, head), by));
    expect(ending(played)).toBe(end);
    // The event's own checkout is the merge of Ralph's branch, which has an additional folder.
    if (played.kind === 'ran') expect(existsSync(join(played.workspace, 'src'))).toBe(true);
  });

  test('a pull request with conflicts starts no workflow', async () => {
    await using scene = await createScene();
    const pull = await openedByHand(scene, 'feature', 'main:src');
    await openedByHand(scene, 'main', 'main:test');
    expect(ending(await play(scene, events.pullClosed(pull)))).toBe('not-triggered');
  });

  test('without the secret: the run says which input it lacks, before a call', async () => {
    await using scene = await createScene();
    scene.openIssue('Greet');
    const played = await scene.play({ workflow: template, event: events.schedule(), secrets: {} });
    expect(ending(played)).toBe('failed (configuration), 0 calls');
    expect(logOf(played)).toContain('anthropic-api-key');
  });
});

test('without concurrency: the second of two runs at once is refused before a call, and a label added in the meantime is worked on', async () => {
  await using scene = await createScene();
  scene.openIssue('First');
  const meanwhile: Promise<Played>[] = [];
  const first = await scene.play({
    workflow: template,
    event: events.schedule(),
    when: {
      text: 'I start with',
      act: () => {
        const labeled = events.labeled(scene.openIssue('Second'));
        meanwhile.push(play(scene, events.schedule()), play(scene, labeled));
      },
    },
  });
  const [second, label] = await Promise.all(meanwhile);
  expect(ending(first)).toBe(COMPLETE);
  expect(second && ending(second)).toBe('refused (another_run), 0 calls');
  expect(label && ending(label)).toBe(COMPLETE);
});

describe("a project's own steps around the action", () => {
  const around = (before: string, after = ''): string =>
    template.replace(/^ +# What the project needs.*$/m, before) + after;

  test('run before and after it, and their changes to the environment take effect', async () => {
    await using scene = await createScene();
    scene.openIssue('Greet');
    const played = await scene.play({
      workflow: around(
        '      - uses: actions/setup-node@v5\n      - run: echo "WORD=${{ github.event_name }}" >> "$GITHUB_ENV"\n',
        '      - if: always()\n        run: test "$WORD" = schedule\n',
      ).replace('- uses: OWNER', '- if: env.WORD == github.event_name\n        uses: OWNER'),
      event: events.schedule(),
    });
    expect(ending(played)).toBe(COMPLETE);
    expect('steps' in played && played.steps.map(({ end }) => end)).toEqual([
      'success',
      'not-played',
      'success',
      'success',
      'success',
    ]);
  });

  test('when one of them fails, the action does not run', async () => {
    await using scene = await createScene();
    const played = await scene.play({
      workflow: around('      - run: echo broken; exit 1\n'),
      event: events.schedule(),
    });
    expect(played).toMatchObject({
      kind: 'without-action',
      steps: [{ end: 'success' }, { end: 'failure', log: 'broken\n' }, { end: 'skipped' }],
    });
  });
});

/** Opens a pull request of a branch with one commit, which results in this tree. */
async function openedByHand({ testbed: { git } }: Scene, branch: string, tree = 'main:src'): Promise<StoredPull> {
  const headSha = await git('commit-tree', tree, '-p', 'main', '-m', 'By hand');
  await git('update-ref', `refs/heads/${branch}`, headSha);
  return {
    ...{ id: 1, number: 9, head: branch, fork: null, base: 'main', headSha, baseSha: headSha, mergedAt: null },
    ...{ draft: false, reviewers: [], maintainerCanModify: true },
  };
}

const repository = { id: 1, full_name: 'acme/shop', default_branch: 'main' };

/** Returns the event of a completed workflow of the project. */
function ran(name: string, branch: string, conclusion = 'failure'): Event {
  const run = { name, conclusion, head_branch: branch, head_sha: 'a'.repeat(40), head_repository: { id: 1 } };
  const workflow = { name, path: '.github/workflows/ci.yml' };
  return { name: 'workflow_run', payload: { action: 'completed', workflow, workflow_run: run, repository } };
}

function reviewed({ number, head, headSha }: StoredPull, by: string): Event {
  const ends = { head: { ref: head, sha: headSha, repo: repository }, base: { ref: 'main', repo: repository } };
  return {
    name: 'pull_request_review',
    payload: {
      action: 'submitted',
      review: { state: 'commented', body: 'Please rename it.' },
      pull_request: { number, title: 'Work', state: 'open', ...ends },
      repository,
      sender: { login: by, id: 1, type: 'User' },
    },
  };
}

function pullOf({ testbed: { github } }: Scene): StoredPull {
  const [pull] = github.state.pulls;
  if (pull === undefined) throw new Error('There is no pull request.');
  return pull;
}

function logOf(played: Played): string {
  return played.kind === 'ran' ? played.result.main.log : '';
}
