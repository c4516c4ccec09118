import { createLaneRecord, serializeRecord } from '../../../../src/core/sharing/lane-record.ts';
import { STATE_VERSION } from '../../../../src/core/lane/state/state.ts';
import { UserError } from '../../../../src/errors.ts';
import { HOUR, MINUTE } from '../../../unit/core/core-fixtures.ts';
import { addCommit } from '../in-memory.ts';
import type { FaultRow } from './play-fault.ts';
import type { Machine } from '../machine.ts';
import {
  addIssue,
  commented,
  cutOff,
  green,
  loseState,
  putDocument,
  putRecord,
  runOnce,
  savedState,
  storedRecord,
} from '../run-action.ts';
import type { Project } from '../project.ts';
import { stepRows } from './step-rows.ts';
import { killAt } from '../tap.ts';

const DAY = 24 * HOUR;

const complete = { thisRun: 'complete (plan_complete), 1 call', nextRun: 'idle (all_done), 0 calls' } as const;
/** The next run sends the missing notifications. */
const madeKnownLater = { ...complete, nextRun: 'complete (plan_complete), 0 calls' } as const;
/** The work is lost and the branch stays: one probe, then the rest. */
const probed = { thisRun: 'complete (plan_complete), 2 calls', nextRun: 'idle (all_done), 0 calls' } as const;
/** The next run does the work that this one missed. */
const stopped = (thisRun: string) => ({ thisRun, nextRun: 'complete (plan_complete), 1 call' }) as const;

const cacheRows: readonly FaultRow[] = [
  {
    title: 'cache',
    happened: 'its entries are evicted',
    inject: ({ kept }) => {
      kept.cache.saved.clear();
    },
    ...complete,
    reported: /restored #2 \(ref\)/,
  },
  {
    title: 'cache',
    happened: 'hangs',
    ...complete,
    reported: /cache cannot be read: no result within 8 s[^]*cache ✗: no result within 12 s, ref ✓/,
    inject: ({ kept }) => {
      kept.cache.outages.set('restore', 'no result within 8 s').set('save', 'no result within 12 s');
    },
  },
  {
    title: 'cache',
    happened: 'is read-only for this event',
    inject: ({ kept }) => {
      kept.cache.outages.set('save', 'it is read-only');
    },
    ...complete,
    reported: /cache ✗: it is read-only, ref ✓/,
  },
  {
    title: 'cache',
    happened: 'holds an older copy than the ref',
    ...complete,
    reported: /restored #4 \(ref\)/,
    inject: (project) => {
      const [old, state] = [project.kept.cache.saved.get('queue'), savedState(project)];
      putDocument(project, { sequence: 4, document: JSON.stringify({ ...state, sequence: 4 }) });
      if (old !== undefined) project.kept.cache.saved.set('queue', old);
    },
  },
  {
    title: 'cache',
    happened: "holds another lane's state",
    ...complete,
    reported: /The cache has #9 of this state and the ref has #2: it was reset/,
    inject: ({ kept }) => {
      kept.cache.saved.set('queue', {
        lane: 'queue',
        sequence: 9,
        document: JSON.stringify({ version: STATE_VERSION, lane: 'issue-9' }),
        transcript: null,
      });
    },
  },
];

const QUEUE_FILE = 'lanes/queue.json';
const recordText = ({ kept }: Project): string => kept.refs.textAt(QUEUE_FILE);

function putText({ kept }: Project, path: string, text: string | null): void {
  kept.refs.put((files) => (text === null ? files.delete(path) : files.set(path, text)));
}
const unreadable: readonly (readonly [string, (text: string) => string, RegExp])[] = [
  ['holds garbage', () => 'garbage \u0000', /it is not a JSON object/],
  ['holds nothing', () => '', /it is not a JSON object/],
  ['holds a truncated record', (text) => text.slice(0, text.length / 2), /it is not a JSON object/],
  ['holds a huge record', (text) => text + ' '.repeat(500_000), /it is longer than/],
  ["holds another lane's record", () => serializeRecord(createLaneRecord('issue-9')), /it belongs to another branch/],
];

const refRows: readonly FaultRow[] = [
  {
    title: 'ref',
    happened: 'is deleted',
    inject: (project) => {
      putText(project, QUEUE_FILE, null);
    },
    ...probed,
    reported: /The cache has #2 of this state and the ref has none: it was reset[^]*lost: no copy of it is left/,
  },
  {
    title: 'ref',
    happened: 'cannot be reached',
    inject: ({ kept }) => {
      for (const verb of ['read', 'write'] as const) kept.refs.outages.set(verb, 'no answer');
    },
    ...stopped('failed (infrastructure), 0 calls'),
    reported: /state of the queue cannot be read, so no call is made: no answer/,
  },
  {
    title: 'ref',
    happened: 'does not answer to the claim',
    inject: ({ kept }) => {
      kept.refs.outages.set('write', 'no answer');
    },
    ...stopped('failed (infrastructure), 0 calls'),
    reported: /This run cannot claim the queue, so no call is made: no answer/,
  },
  {
    title: 'ref',
    happened: 'cannot be reached, and the lane is paused',
    inject: async (project) => {
      await runOnce(project, { event: commented('/ralph pause', { issue: 1 }) });
      project.kept.refs.outages.set('read', 'no answer');
    },
    thisRun: 'failed (infrastructure), 0 calls',
    nextRun: 'paused (by_person), 0 calls',
    reported: /no call is made: no answer/,
  },
  {
    title: 'ref',
    happened: 'may not be written, ever',
    inject: ({ kept }) => {
      kept.refs.refusal = 'a ruleset forbids it';
    },
    thisRun: 'complete (plan_complete), 1 call',
    // The ref accepts writes again, and its content decides.
    nextRun: 'complete (plan_complete), 1 call',
    reported: /Nothing keeps a second run from working on the queue[^]*a ruleset forbids it[^]*state-store: cache/,
  },
  {
    title: 'ref',
    happened: 'may not be written, ever, and the hour is used up',
    inject: (project) => {
      project.kept.refs.refusal = 'a ruleset forbids it';
      project.inputs = { 'max-calls-per-hour': '1' };
    },
    thisRun: 'parked (calls_per_hour), 0 calls',
    nextRun: 'parked (calls_per_hour), 0 calls',
    reported: /./,
  },
  {
    title: 'ref',
    happened: 'with the counters is deleted, and the hour is used up',
    thisRun: 'parked (calls_per_hour), 0 calls',
    nextRun: 'parked (calls_per_hour), 0 calls',
    reported: /./,
    inject: (project) => {
      putText(project, 'usage.json', null);
      project.inputs = { 'max-calls-per-hour': '1' };
    },
  },
  ...unreadable.map(([happened, change, reported]): FaultRow => ({
    title: 'ref',
    happened,
    inject: (project) => {
      putText(project, QUEUE_FILE, change(recordText(project)));
    },
    ...probed,
    reported,
  })),
  {
    title: 'ref',
    happened: 'is set back by a person',
    ...complete,
    reported: /The cache has #3 of this state and the ref has #2: it was reset/,
    inject: (project) => {
      const before = recordText(project);
      putDocument(project, { sequence: 3, document: JSON.stringify({ ...savedState(project), sequence: 3 }) });
      putText(project, QUEUE_FILE, before);
    },
  },
  {
    title: 'ref',
    happened: 'holds a record of a newer version',
    thisRun: 'failed (configuration), 0 calls',
    nextRun: 'failed (configuration), 0 calls',
    reported: /newer version of this action \(version 4\).*does not overwrite.*Use that version/,
    inject: (project) => {
      putText(project, QUEUE_FILE, recordText(project).replace('"version": 3', '"version": 4'));
    },
  },
  {
    title: 'state',
    happened: 'is of a newer version',
    thisRun: 'failed (configuration), 0 calls',
    nextRun: 'failed (configuration), 0 calls',
    reported: new RegExp(`newer version of this action \\(version ${String(STATE_VERSION + 1)}\\)`),
    inject: (project) => {
      putDocument(project, {
        sequence: 2,
        document: JSON.stringify({ ...savedState(project), version: STATE_VERSION + 1 }),
      });
    },
  },
  {
    title: 'state',
    happened: 'cannot be read in the ref, and the cache hangs: what replaces it is newer than both',
    thisRun: 'complete (plan_complete), 2 calls',
    nextRun: 'idle (all_done), 0 calls',
    reported: /one probe iteration[^]*saved #8 /,
    inject: (project) => {
      putDocument(project, { sequence: 5, document: JSON.stringify({ ...savedState(project), sequence: 5 }) });
      putRecord(project, { ...storedRecord(project), document: '{' });
      for (const verb of ['restore', 'save'] as const) project.kept.cache.outages.set(verb, 'no result in time');
    },
  },
  {
    title: 'state',
    happened: 'is gone from both places',
    inject: loseState,
    thisRun: 'complete (plan_complete), 2 calls',
    nextRun: 'idle (all_done), 0 calls',
    reported: /lost: no copy of it is left.*one probe iteration/,
  },
  {
    title: 'state',
    happened: 'is out of reach in both places',
    inject: (project) => {
      cutOff(project, 'no answer');
    },
    ...stopped('failed (infrastructure), 0 calls'),
    reported: /so no call is made: no answer/,
  },
  {
    title: 'usage counters',
    happened: 'cannot be read',
    thisRun: 'parked (cost_per_day), 0 calls',
    nextRun: 'complete (plan_complete), 1 call',
    reported: /count as used up/,
    inject: (project) => {
      putText(project, 'usage.json', '{"version":1');
    },
    later: ({ clock }) => {
      clock.advance(DAY);
    },
  },
];

const answers: readonly (readonly [string, () => Error, string])[] = [
  ['answers 500', () => new UserError('infrastructure', 'GitHub answered 500. Run again later.'), 'infrastructure'],
  [
    'answers 429',
    () => new UserError('infrastructure', 'GitHub allows no more requests until 13:00.'),
    'infrastructure',
  ],
  [
    'answers 403',
    () => new UserError('configuration', 'The token may not do this. Give it the permission.'),
    'configuration',
  ],
  [
    'does not answer',
    () => new UserError('infrastructure', 'GitHub cannot be reached. Run again later.'),
    'infrastructure',
  ],
];
const asking = ['openIssuesWithLabel', 'pullRequestOf', 'checkMayUpdatePullRequest'] as const;
/** Writes that inform people and that no run depends on. */
const wishes = ['upsertComment', 'changeLabels', 'react'] as const;
const writing = ['updatePullRequest', 'markReady'] as const;
const SAID = /GitHub (answered|allows|cannot)|The token may not/;

const forgeRows: readonly FaultRow[] = answers.flatMap(([happened, error, reason]): readonly FaultRow[] => [
  ...asking.map((method): FaultRow => ({
    title: `GitHub: ${method}`,
    happened,
    inject: ({ forge }) => {
      forge.faults.set(method, error());
    },
    ...stopped(`failed (${reason}), 0 calls`),
    reported: SAID,
  })),
  ...writing.map((method): FaultRow => ({
    title: `GitHub: ${method}`,
    happened,
    inject: ({ forge }) => {
      forge.faults.set(method, error());
    },
    reported: SAID,
    thisRun: `failed (${reason}), 1 call`,
    nextRun: 'complete (plan_complete), 0 calls',
  })),
  ...wishes.map((method): FaultRow => ({
    title: `GitHub: ${method}`,
    happened,
    inject: ({ forge }) => {
      forge.faults.set(method, error());
    },
    // A thread that may not be commented on is not tried again.
    ...(method === 'upsertComment' && reason === 'infrastructure' ? madeKnownLater : complete),
    reported: SAID,
  })),
]);

const lost = new UserError('infrastructure', 'The work tree is gone.');
const inCheckout = (happened: string, method: Parameters<Machine['checkout']['faults']['set']>[0]): FaultRow => ({
  title: 'work tree',
  happened,
  meanwhile: (_project, { checkout }) => {
    checkout.faults.set(method, lost);
  },
  ...stopped('failed (infrastructure), 1 call'),
  reported: /The work tree is gone/,
});

/** Faults between the end of a call and its line in the journal; the call's cost is already recorded. */
const behindTheCallRows: readonly FaultRow[] = [
  inCheckout('cannot be looked at after the call', 'snapshot'),
  inCheckout('cannot be committed', 'commit'),
  inCheckout('cannot be compared', 'compare'),
  {
    ...inCheckout('cannot be put back after verify', 'putBack'),
    inject: (project) => {
      project.inputs = { verify: 'npm test' };
    },
  },
  {
    title: 'verify',
    happened: 'cannot be run after the call',
    inject: (project) => {
      project.inputs = { verify: 'npm test' };
      const { calls } = project.script;
      const before = calls.length;
      project.verifier = { verify: (call) => (calls.length > before ? Promise.reject(lost) : green.verify(call)) };
    },
    later: (project) => {
      project.verifier = green;
    },
    ...stopped('failed (infrastructure), 1 call'),
    reported: /The work tree is gone/,
  },
];

/** No answer of GitHub leads here, so this simulates a bug of our own. */
const bug = (): Error => new TypeError('a bug');
const bugRows: readonly FaultRow[] = [
  ...asking.map((method): FaultRow => ({
    title: `GitHub: ${method}`,
    happened: 'fails as nobody foresaw',
    inject: ({ forge }) => {
      forge.faults.set(method, bug());
    },
    ...stopped('failed (infrastructure), 0 calls'),
    reported: /a bug/,
  })),
  {
    title: 'GitHub: markReady',
    happened: 'fails as nobody foresaw',
    inject: ({ forge }) => {
      forge.faults.set('markReady', bug());
    },
    reported: /a bug/,
    thisRun: 'failed (infrastructure), 1 call',
    nextRun: 'complete (plan_complete), 0 calls',
  },
  ...wishes.map((method): FaultRow => ({
    title: `GitHub: ${method}`,
    happened: 'fails as nobody foresaw',
    inject: ({ forge }) => {
      forge.faults.set(method, bug());
    },
    ...(method === 'upsertComment' ? madeKnownLater : complete),
    reported: /a bug/,
  })),
  {
    title: 'GitHub: updatePullRequest',
    happened: 'fails as nobody foresaw',
    inject: ({ forge }) => {
      forge.faults.set('updatePullRequest', bug());
    },
    reported: /a bug/,
    thisRun: 'failed (infrastructure), 1 call; post: failed (infrastructure)',
    nextRun: 'complete (plan_complete), 0 calls',
  },
];

const gitRows: readonly FaultRow[] = [
  {
    title: 'push',
    happened: 'is rejected',
    inject: ({ remote }) => {
      remote.refusal = 'protected branch';
    },
    ...stopped('failed (configuration), 1 call; post: failed (configuration)'),
    reported: /could not be pushed to ralph\/queue: A branch protection rule[^]*protected branch/,
  },
  {
    title: 'push',
    happened: 'fails in main and works in post',
    inject: ({ remote }) => {
      for (const push of ['push', 'pushOn', 'pushWithState'] as const)
        remote.faults.set(push, new UserError('infrastructure', 'The remote does not answer.'));
    },
    endsBeforePost: true,
    // Only the run's record says that the task is done: its content is kept, and the next run verifies it.
    thisRun: 'failed (infrastructure), 1 call; post: failed (infrastructure)',
    nextRun: 'complete (plan_complete), 1 call',
    reported:
      /could not be pushed to ralph\/queue: The remote does not answer[^]*1 task was finished after the state was last saved/,
  },
  {
    title: 'branch',
    happened: 'is moved by a person before the run',
    inject: moveBranch,
    ...complete,
    reported: /pushed/,
  },
  {
    title: 'branch',
    happened: 'is moved by a person during the run',
    meanwhile: moveBranch,
    ...stopped('failed (infrastructure), 1 call; post: failed (infrastructure)'),
    reported: /Branch ralph\/queue moved meanwhile/,
  },
  {
    title: 'branch',
    happened: 'is deleted by a person',
    inject: ({ origin }) => {
      origin.branches.delete('ralph/queue');
    },
    thisRun: 'complete (plan_complete), 2 calls',
    nextRun: 'idle (all_done), 0 calls',
    reported: /pushed/,
  },
  {
    title: 'base branch',
    happened: 'moves',
    inject: (project) => {
      move(project, 'main');
    },
    ...complete,
    reported: /pushed/,
  },
  {
    title: 'base branch',
    happened: 'moves during the run',
    meanwhile: (project) => {
      move(project, 'main');
    },
    ...complete,
    reported: /pushed/,
  },
];

function moveBranch(project: Project): void {
  move(project, 'ralph/queue');
}

function move({ origin }: Project, branch: string): void {
  const parent = origin.branches.get(branch) ?? null;
  // The commit is added only once, because a record is written several times after the first call.
  if (parent !== null && origin.commits.get(parent)?.message === 'By hand') return;
  origin.branches.set(
    branch,
    addCommit(origin, {
      tree: { ...(parent === null ? {} : origin.commits.get(parent)?.tree), 'by-hand.md': 'edited' },
      parent,
      message: 'By hand',
    }),
  );
}

const oneAnHour = (project: Project): void => {
  project.inputs = { 'max-calls-per-hour': '1' };
};

const clockRows: readonly FaultRow[] = [
  ...(
    [
      ['an hour behind', -HOUR],
      ['a day behind', -DAY],
      ['an hour ahead', HOUR],
      ['a day ahead', DAY],
    ] as const
  ).map(([happened, skewMs]): FaultRow => ({ title: 'clock', happened, skewMs, ...complete, reported: /pushed/ })),
  {
    title: 'clock',
    happened: 'an hour behind, with the hour used up',
    skewMs: -HOUR,
    inject: oneAnHour,
    thisRun: 'parked (calls_per_hour), 0 calls',
    nextRun: 'parked (calls_per_hour), 0 calls',
    reported: /#2/,
  },
  {
    title: 'clock',
    happened: 'a day ahead, with a quota of its own: right again, there is no second one',
    skewMs: DAY,
    reported: /pushed/,
    inject: (project) => {
      oneAnHour(project);
      addIssue(project.forge, 3);
    },
    thisRun: 'parked (calls_per_hour), 1 call',
    nextRun: 'parked (calls_per_hour), 0 calls',
  },
  {
    title: 'another run',
    happened: 'was killed with its machine a minute ago',
    inject: (project) => killed(project, 0),
    thisRun: 'refused (another_run), 0 calls',
    nextRun: 'complete (plan_complete), 1 call',
    reported: /Another run is working on the queue.*its claim ends at/,
    later: ({ clock }) => {
      clock.advance(HOUR);
    },
  },
  {
    title: 'another run',
    happened: 'was killed with its machine, whose clock was a day ahead',
    inject: (project) => killed(project, DAY),
    ...complete,
    reported: /pushed/,
  },
  {
    title: 'another run',
    happened: 'was killed with its machine, whose clock was a day behind',
    inject: (project) => killed(project, -DAY),
    ...complete,
    reported: /pushed/,
  },
];

async function killed(project: Project, skewMs: number): Promise<void> {
  await runOnce(project, { skewMs, tap: killAt((name) => name === 'agent.prepare', 'before') });
  project.clock.advance(MINUTE);
}

const full = new UserError('infrastructure', "The run's record could not be written: no space left on device.");
const diskRows: readonly FaultRow[] = [
  {
    title: 'disk',
    happened: 'is full when the lane is claimed',
    onMachine: (machine) => {
      machine.diskProblem = full;
    },
    ...stopped('failed (infrastructure), 0 calls; post: cancelled (killed)'),
    reported: /no space left/,
  },
  {
    title: 'disk',
    happened: 'is full after the call',
    meanwhile: (_project, machine) => {
      machine.diskProblem = full;
    },
    thisRun: 'failed (infrastructure), 1 call; post: failed (infrastructure)',
    nextRun: 'complete (plan_complete), 1 call',
    reported: /no space left/,
  },
];

const orderRows: readonly FaultRow[] = [
  {
    title: 'order',
    happened: 'is given while the ref cannot be written',
    event: commented('/ralph pause', { issue: 1 }),
    inject: ({ kept }) => {
      kept.refs.outages.set('write', 'no answer');
    },
    ...stopped('failed (infrastructure), 0 calls'),
    reported: /The order "pause" could not be kept: no answer\. Nothing was changed\./,
  },
];

const refWrites = ({ kept }: Project): void => {
  kept.refs.outages.set('write', 'no answer');
};

/** The store that holds the lane fails at the end of the run. */
const releaseRows: readonly FaultRow[] = [
  {
    title: 'ref',
    happened: 'fails at the save and not in post',
    meanwhile: refWrites,
    endsBeforePost: true,
    thisRun: 'complete (plan_complete), 1 call; post: cancelled (killed)',
    nextRun: 'complete (plan_complete), 1 call',
    reported:
      /cache ✓, ref ✗: no answer[^]*The claim on the queue is not released yet: no answer\. The post step tries again[^]*saved #3 \(cache ✓ ref ✓\)/,
  },
  {
    title: 'ref',
    happened: 'fails at the save and not in post, and the event may not write the cache',
    endsBeforePost: true,
    inject: ({ kept }) => {
      kept.cache.outages.set('save', 'it is read-only');
    },
    meanwhile: refWrites,
    thisRun: 'complete (plan_complete), 1 call; post: cancelled (killed)',
    nextRun: 'complete (plan_complete), 1 call',
    reported: /The state was not saved[^]*saved #3/,
  },
  {
    title: 'ref',
    happened: 'cannot be read back after the save',
    meanwhile: ({ kept }) => {
      kept.refs.outages.set('readAgain', 'no answer');
    },
    ...complete,
    reported: /ref ✗: it could not be read back: no answer/,
  },
];

/** All faults, in the order of their documentation. */
export const faultRows: readonly FaultRow[] = [
  ...cacheRows,
  ...refRows,
  ...forgeRows,
  ...behindTheCallRows,
  ...bugRows,
  ...gitRows,
  ...clockRows,
  ...diskRows,
  ...orderRows,
  ...releaseRows,
  ...stepRows,
];
