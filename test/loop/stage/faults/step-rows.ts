import { createMarkedProject, type FailingJob } from './behind-the-call.ts';
import type { FaultRow } from './play-fault.ts';

const DONE = 'complete (plan_complete)';
const LIMIT = 'limit (iterations)';
const FAILED = 'failed (infrastructure)';
const IDLE = { nextRun: 'idle (all_done), 0 calls' } as const;
/** The next run publishes what this one could not. */
const REST = { nextRun: `${DONE}, 0 calls` } as const;
/** The next run does the work that this one lost. */
const AGAIN = { nextRun: `${DONE}, 1 call` } as const;
const FAILS = /This step fails/;

/** Ends of a run in one job, and of one in three jobs whose loop or last job fails. */
const one = (end: string, post = ''): string => `${end}, 1 call${post === '' ? '' : `; post: ${post}`}`;
const three = (loop: string, publish: string, post = ''): string =>
  `${loop}, 1 call; publish: ${publish}${post === '' ? '' : `; post: ${post}`}`;

type Ends = Pick<FaultRow, 'thisRun' | 'nextRun' | 'reported'>;

function failing(job: FailingJob, steps: readonly string[], ends: Ends): readonly FaultRow[] {
  return steps.map((step) => ({
    title: job === 'one' ? step : `${step} (three jobs)`,
    happened: 'fails behind the call',
    fails: { job, step },
    inject: (project) => {
      project.inputs = { verify: 'npm test' };
    },
    ...ends,
  }));
}

/** Rows of a project whose task is marked in a file, and whose agent leaves a marker. */
function failingWithMarks(job: FailingJob, steps: readonly string[], ends: Omit<Ends, 'nextRun'>): readonly FaultRow[] {
  const nextRun = `${LIMIT}, 1 call`;
  return failing(job, steps, { ...ends, nextRun }).map((row) => ({
    ...row,
    project: createMarkedProject,
    inject: () => undefined,
  }));
}

/** Steps of an iteration that lose it when they fail, in the job where the agent is called. */
const OF_ITERATION = [
  ...['place.record work', 'files.read', 'repository.snapshot', 'repository.commit', 'verifier.verify'],
  ...['repository.putBack', 'repository.compare', 'place.appendJournal'],
];
/** Steps that follow the last iteration: its work is kept, and the next run verifies it. */
const OF_LOOPS_END = ['agent.sweep', 'repository.checkOutCommitAlone', 'repository.checkOutTree (undo)'];
const OF_SIZE = ['repository.taskChanges', 'repository.publishedTexts'];
const OF_PULL_REQUEST = ['forge.pullRequestOf', 'remote.push', 'forge.updatePullRequest', 'forge.markReady'];
const WISHES = ['forge.issue', 'remote.branches', 'forge.requestReview', 'forge.amendComment', 'forge.changeLabels'];
const OF_STORE = ['refs.write', 'cache.save'];

const oneJobRows: readonly FaultRow[] = [
  ...failing('one', OF_ITERATION, { thisRun: one(FAILED), ...AGAIN, reported: FAILS }),
  ...failing('one', OF_LOOPS_END, { thisRun: one(FAILED), ...REST, reported: FAILS }),
  ...failing('one', [...OF_SIZE, ...WISHES, 'remote.pushWithState'], { thisRun: one(DONE), ...IDLE, reported: FAILS }),
  // Nothing depends on the answers to these.
  ...failing('one', ['repository.review', 'forge.headNow', 'forge.stepUrl', 'forge.deleteSupersededCaches'], {
    ...{ thisRun: one(DONE), ...IDLE, reported: /pushed/ },
  }),
  ...failing('one', OF_PULL_REQUEST, { thisRun: one(FAILED), ...REST, reported: FAILS }),
  ...failing('one', ['remote.sign'], { thisRun: one(FAILED, FAILED), ...AGAIN, reported: FAILS }),
  ...failing('one', ['forge.upsertComment'], { thisRun: one(DONE), ...REST, reported: FAILS }),
  ...failing('one', [...OF_STORE, 'refs.read'], { thisRun: one(FAILED, FAILED), ...REST, reported: FAILS }),
  ...failing('one', ['place.record ended'], { thisRun: one(DONE, DONE), ...IDLE, reported: FAILS }),
];

const loopJobRows: readonly FaultRow[] = [
  ...failing('loop', OF_ITERATION, { thisRun: three(FAILED, FAILED), ...AGAIN, reported: FAILS }),
  // The publishing job knows what the last hand-over says.
  ...failing(
    'loop',
    ['handoff.write', 'handoff.remove', 'handoff.pathOf', 'repository.bundle', 'handoff.fingerprint'],
    { thisRun: three(FAILED, 'cancelled (killed)'), ...AGAIN, reported: FAILS },
  ),
  ...failing('loop', [...OF_LOOPS_END, 'handoff.move', 'agent.exportSession'], {
    ...{ thisRun: three(FAILED, FAILED), ...REST, reported: FAILS },
  }),
  ...failing('loop', [...OF_SIZE, 'place.record ended'], { thisRun: three(DONE, DONE), ...IDLE, reported: FAILS }),
  ...failing('loop', ['repository.review'], { thisRun: three(DONE, DONE), ...IDLE, reported: /pushed/ }),
];

const publishJobRows: readonly FaultRow[] = [
  // Without the gate's hand-over nothing is known of the branch: all that was reserved counts until the claim ends.
  ...failing('publish', ['handoff.read'], {
    ...{ thisRun: three(DONE, FAILED), nextRun: 'refused (another_run), 0 calls', reported: FAILS },
  }),
  ...failing('publish', ['handoff.fingerprint', 'handoff.pathOf', 'remote.receive', 'place.record gate'], {
    ...{ thisRun: three(DONE, FAILED), ...AGAIN, reported: FAILS },
  }),
  ...failing('publish', ['place.record work', ...OF_PULL_REQUEST], {
    ...{ thisRun: three(DONE, FAILED), ...REST, reported: FAILS },
  }),
  ...failing('publish', ['remote.sign', 'refs.read'], {
    ...{ thisRun: three(DONE, FAILED, FAILED), ...AGAIN, reported: FAILS },
  }),
  ...failing('publish', OF_STORE, { thisRun: three(DONE, FAILED, FAILED), ...REST, reported: FAILS }),
  ...failing('publish', ['forge.upsertComment'], { thisRun: three(DONE, DONE), ...REST, reported: FAILS }),
  ...failing('publish', [...WISHES, 'remote.pushWithState'], { thisRun: three(DONE, DONE), ...IDLE, reported: FAILS }),
  ...failing('publish', ['forge.headNow', 'forge.deleteSupersededCaches'], {
    ...{ thisRun: three(DONE, DONE), ...IDLE, reported: /pushed/ },
  }),
  ...failing('publish', ['place.record ended'], { thisRun: three(DONE, DONE, DONE), ...IDLE, reported: FAILS }),
];

const markRows: readonly FaultRow[] = [
  ...failingWithMarks('one', ['repository.commitTexts', 'agent.exportSession'], {
    ...{ thisRun: one(LIMIT), reported: FAILS },
  }),
  // The agent's own copy stays as it was, and the next iteration marks the entry again.
  ...failingWithMarks('one', ['files.replace'], { thisRun: one(LIMIT), reported: /pushed/ }),
  ...failingWithMarks('one', ['files.remove'], { thisRun: one(LIMIT), reported: /cannot be removed, so it counts/ }),
  ...failingWithMarks('one', ['forge.openPullRequest'], { thisRun: one(FAILED), reported: FAILS }),
  // Main deletes the branch that it made for commits which never came; to post this is not a person's order.
  ...failingWithMarks('one', ['remote.sign'], { thisRun: one(FAILED, FAILED), reported: FAILS }),
  ...failingWithMarks('publish', ['remote.sign'], { thisRun: three(LIMIT, FAILED, FAILED), reported: FAILS }),
  ...failingWithMarks('loop', ['repository.commitTexts'], { thisRun: three(LIMIT, LIMIT), reported: FAILS }),
  ...failingWithMarks('loop', ['files.replace'], { thisRun: three(LIMIT, LIMIT), reported: /pushed/ }),
  ...failingWithMarks('loop', ['files.remove'], {
    ...{ thisRun: three(LIMIT, LIMIT), reported: /cannot be removed, so it counts/ },
  }),
  ...failingWithMarks('publish', ['forge.openPullRequest'], { thisRun: three(LIMIT, FAILED), reported: FAILS }),
];

/** Every step between the end of a call and the end of its run, each with a fault in it. */
export const stepRows: readonly FaultRow[] = [...oneJobRows, ...loopJobRows, ...publishJobRows, ...markRows];
