import { laneOf, workOf } from '../../../src/report/facts.ts';
import { analysis, MINUTE } from '../../unit/core/core-fixtures.ts';
import { finisher } from './behaviours.ts';
import type { Machine } from './machine.ts';
import {
  createProject,
  finishOnce,
  runOnce,
  schedule,
  type Event,
  type Run,
  savedIn,
  warningsIn,
} from './run-action.ts';
import type { Project } from './project.ts';

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
  /** The reported cost of this run, and the actual cost of its calls, in US dollars. */
  readonly cost: { readonly reported: number; readonly real: number };
  readonly project: Project;
}

/** Plays a row: a job with main and post, and the next job without the fault. */
export async function playFault(row: FaultRow): Promise<PlayedFault> {
  const project = createProject({ issues: [1, 2], agent: [finisher], inputs: { 'max-iterations': '1' } });
  await runOnce(project);
  project.inputs = {};
  project.clock.advance(MINUTE);
  await row.inject?.(project);
  const main = await runOnce(project, {
    event: row.event ?? schedule,
    skewMs: row.skewMs ?? 0,
    prepare: (_checkout, machine) => row.onMachine?.(machine),
    onRecord: (_work, _checkout, machine) => {
      if (machine.calls() > 0) row.meanwhile?.(project, machine);
    },
  });
  if (row.endsBeforePost === true) endFaults(project);
  const post = await finishOnce(project, main);
  endFaults(project);
  row.later?.(project);
  const next = await runOnce(project);
  return {
    thisRun: `${describeEnd(main)}${post === null ? '' : `; post: ${post.end}`}`,
    nextRun: describeEnd(next),
    reported: [
      ...main.log,
      ...(post?.log ?? []),
      ...[main, post].flatMap((run) => [messageOf(run), ...warningsIn(run), savedWhere(run)]),
      main.report === null ? '' : (laneOf(main.report)?.restored ?? ''),
    ].join('\n'),
    cost: {
      reported: main.report === null ? 0 : (workOf(main.report)?.costUsd ?? 0),
      real: main.calls * (analysis().costUsd ?? 0),
    },
    project,
  };
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
