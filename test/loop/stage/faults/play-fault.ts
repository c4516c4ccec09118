import { selectLaneReport, selectWorkedReport } from '../../../../src/report/facts.ts';
import { parseBudgetIn } from '../../../../src/core/snapshot/snapshot.ts';
import { analysis, MINUTE } from '../../../unit/core/core-fixtures.ts';
import { finisher } from '../behaviours.ts';
import type { Machine } from '../machine.ts';
import {
  createProject,
  finishOnce,
  runOnce,
  schedule,
  type Event,
  type Run,
  savedIn,
  warningsIn,
} from '../run-action.ts';
import { failAt, type FailingJob } from './behind-the-call.ts';
import type { Project } from '../project.ts';
import { runSplit } from '../split.ts';

/**
 * A fault, and the ends of this run and the next one. The project has issue 1 done, a pull request, and issue 2 to do.
 */
export interface FaultRow {
  /** The name of the row. */
  readonly title: string;
  readonly happened: string;
  /** Causes the fault before the run. */
  readonly inject?: (project: Project) => void | Promise<void>;
  /** Causes the fault on this run's machine, before the run. */
  readonly onMachine?: (machine: Machine) => void;
  /** Causes the fault while the run works, after its first call. */
  readonly meanwhile?: (project: Project, machine: Machine) => void;
  /** The step that fails behind the end of a call, in the only job or in one of three. */
  readonly fails?: { readonly job: FailingJob; readonly step: string };
  /** Creates the project; absent for the usual one. */
  readonly project?: () => Project;
  readonly event?: Event;
  readonly skewMs?: number;
  /** Ends the fault before post starts; without it the fault lasts until post is done. */
  readonly endsBeforePost?: boolean;
  /** Called before the next run, after the fault has ended. */
  readonly later?: (project: Project) => void;
  readonly thisRun: string;
  readonly nextRun: string;
  /** The message to people. */
  readonly reported: RegExp;
}

export interface PlayedFault {
  /** The ends of main and post: `failed (infrastructure), 1 call; post: complete (plan_complete)`. */
  readonly thisRun: string;
  readonly nextRun: string;
  readonly reported: string;
  /** The reported cost of this run, what the books have of it, and the actual cost of its calls, in US dollars. */
  readonly cost: { readonly reported: number; readonly booked: number; readonly real: number };
  /** False if the row names a step that never ran. */
  readonly isReached: boolean;
  readonly project: Project;
}

/** Returns true if the run's money is in its report, or in the books if a step failed and so no report may have come. */
export function isAllMoneyBooked({ fails }: FaultRow, { reported, booked, real }: PlayedFault['cost']): boolean {
  return fails === undefined ? Math.abs(reported - real) < 1e-6 : booked >= real - 1e-6;
}

/** Plays a row: a job with main and post, and the next job without the fault. */
export async function playFault(row: FaultRow): Promise<PlayedFault> {
  const project = row.project?.() ?? (await createBegunProject());
  await row.inject?.(project);
  const before = bookedUsd(project);
  let isReached = row.fails === undefined;
  const { main, loop } = await playJobs(project, row, (step) => {
    isReached ||= step === row.fails?.step;
  });
  if (row.endsBeforePost === true) endFaults(project);
  const post = await finishOnce(project, main);
  const booked = bookedUsd(project) - before;
  endFaults(project);
  row.later?.(project);
  const next = await runOnce(project);
  const calls = loop?.calls ?? main.calls;
  return {
    thisRun: `${loop === null ? describeEnd(main) : `${describeEnd(loop)}; publish: ${main.end}`}${post === null ? '' : `; post: ${post.end}`}`,
    nextRun: describeEnd(next),
    reported: [
      ...(loop?.log ?? []),
      ...main.log,
      ...(post?.log ?? []),
      ...[loop, main, post].flatMap((run) => [messageOf(run), ...warningsIn(run), savedWhere(run)]),
      main.report === null ? '' : (selectLaneReport(main.report)?.restored ?? ''),
    ].join('\n'),
    cost: {
      reported: main.report === null ? 0 : (selectWorkedReport(main.report)?.costUsd ?? 0),
      booked,
      real: calls * (analysis().costUsd ?? 0),
    },
    isReached,
    project,
  };
}

/** Creates the usual project: issue 1 is done, and issue 2 is not. */
export async function createBegunProject(): Promise<Project> {
  const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
  await runOnce(project);
  project.inputs = {};
  project.clock.advance(MINUTE);
  return project;
}

/**
 * Plays the run with the fault; `main` is the last of its jobs, and `loop` the second of three. `heard` receives the
 * names of the steps of the job that fails.
 */
async function playJobs(
  project: Project,
  row: FaultRow,
  heard: (step: string) => void,
): Promise<{ readonly main: Run; readonly loop: Run | null }> {
  const { fails, event = schedule } = row;
  const tapOf = (job: FailingJob) =>
    fails?.job === job ? { tap: failAt(fails.step, { begun: job === 'publish', heard }) } : {};
  if (fails !== undefined && fails.job !== 'one') {
    const { loop, publish } = await runSplit(project, { event, loop: tapOf('loop'), publish: tapOf('publish') });
    if (loop === null || publish === null) throw new Error('The run ended in its first job.');
    return { main: publish, loop };
  }
  const main = await runOnce(project, {
    ...{ event, skewMs: row.skewMs ?? 0, ...tapOf('one') },
    prepare: (_checkout, machine) => row.onMachine?.(machine),
    onRecord: (_work, _checkout, machine) => {
      if (machine.calls() > 0) row.meanwhile?.(project, machine);
    },
  });
  return { main, loop: null };
}

/** Returns what the repository's counters have of today's money, including what is still reserved. */
function bookedUsd(project: Project): number {
  const parsed = parseBudgetIn(project.kept.refs.shared.snapshot, project.clock.now());
  if (parsed.kind !== 'budget') return 0;
  const { windows, reservations } = parsed.budget;
  return (windows.day?.costUsd ?? 0) + reservations.reduce((sum, { costUsd }) => sum + costUsd, 0);
}

function describeEnd({ end, calls }: Run): string {
  return `${end}, ${String(calls)} ${calls === 1 ? 'call' : 'calls'}`;
}

function savedWhere(run: Run | null): string {
  const saved = savedIn(run);
  return saved?.kind === 'saved' ? `saved #${String(saved.sequence)} (${saved.where})` : '';
}

function messageOf(run: Run | null): string {
  return run !== null && 'message' in run.outcome ? run.outcome.message : '';
}

function endFaults({ kept, forge, remote }: Project): void {
  kept.refs.outages.clear();
  kept.refs.refusal = null;
  kept.cache.outages.clear();
  forge.faults.clear();
  remote.faults.clear();
  remote.refusal = null;
}
