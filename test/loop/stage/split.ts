import type { HandoffName } from '../../../src/ports/handoff.ts';
import type { Project } from './project.ts';
import type { LaneId } from '../../../src/core/tasks/ids.ts';
import { runOnce, type Job, type Run, type RunSetting } from './run-action.ts';

/** A run of three jobs; null for a job that did not run because the one before ended the run. */
export interface SplitRun {
  readonly gate: Run;
  readonly loop: Run | null;
  readonly publish: Run | null;
}

/** The events between the jobs. */
export interface SplitSetting extends Pick<RunSetting, 'event' | 'signal'> {
  /** Set if the loop's job never begins, as when no runner is free. */
  readonly withoutLoop?: boolean;
  readonly loop?: Omit<RunSetting, 'event' | 'job'>;
  readonly publish?: Omit<RunSetting, 'event' | 'job'>;
  /** Changes the handed-over files, as an attacker in the loop's job can. */
  readonly beforePublish?: (handoff: Map<HandoffName, Uint8Array>, project: Project) => void;
}

/** Plays gate, loop and publish on separate machines, which share only the handed-over files. */
export async function runSplit(project: Project, setting: SplitSetting = {}): Promise<SplitRun> {
  const run = (project.runs += 1);
  project.handoff.clear();
  project.origin.bundles.clear();
  const event = setting.event === undefined ? {} : { event: setting.event };
  const gate = await runOnce(project, { ...event, hasProviderKey: false, job: { phase: 'gate', digest: '', run } });
  const digest = gate.handedOver?.lanes[0].digest;
  if (digest === undefined) return { gate, loop: null, publish: null };
  const loop =
    setting.withoutLoop === true
      ? null
      : await runOnce(project, { ...event, ...setting.loop, job: { phase: 'loop', digest, run } });
  setting.beforePublish?.(project.handoff, project);
  const publish = await runOnce(project, {
    ...event,
    ...setting.publish,
    hasProviderKey: false,
    job: { phase: 'publish', digest, run },
  });
  return { gate, loop, publish };
}

/** The jobs of one lane; null for a job that never began. */
interface LaneJobs {
  readonly loop: Run | null;
  readonly publish: Run | null;
}

/** A run of several lanes; `finish` is null if the gate handed over fewer than two, or it never began. */
export interface LanesRun {
  readonly gate: Run;
  readonly lanes: ReadonlyMap<LaneId, LaneJobs>;
  readonly finish: Run | null;
}

/** The events of a run of several lanes. */
export interface LanesSetting extends Pick<RunSetting, 'event'> {
  readonly gate?: Omit<RunSetting, 'event' | 'job'>;
  /** The setting of a lane's loop, or `never` if GitHub skips it because the run was cancelled before. */
  readonly loop?: (lane: LaneId) => Omit<RunSetting, 'event' | 'job'> | 'never';
  readonly publish?: (lane: LaneId) => Omit<RunSetting, 'event' | 'job'> | 'never';
  /** Set if the last job never begins, as when a person forces the run to be cancelled. */
  readonly withoutFinish?: boolean;
}

/** Plays the jobs of the reusable workflow: the gate, loop and publish of each lane in turn, and the last job. */
export async function runLanes(project: Project, setting: LanesSetting = {}): Promise<LanesRun> {
  const run = (project.runs += 1);
  project.handoffs.clear();
  project.origin.bundles.clear();
  const event = setting.event === undefined ? {} : { event: setting.event };
  const play = (job: Omit<Job, 'run'>, how: Omit<RunSetting, 'event' | 'job'> | 'never' = {}): Promise<Run | null> =>
    how === 'never' ? Promise.resolve(null) : runOnce(project, { ...event, ...how, job: { ...job, run } });
  const gate = await runOnce(project, {
    ...event,
    ...setting.gate,
    hasProviderKey: false,
    job: { phase: 'gate', digest: '', lane: 'each', run },
  });
  const handed = gate.handedOver?.lanes ?? [];
  const lanes = new Map<LaneId, LaneJobs>();
  for (const { lane, digest } of handed) {
    const loop = await play({ phase: 'loop', digest, lane }, setting.loop?.(lane));
    const publish = setting.publish?.(lane) ?? {};
    lanes.set(lane, {
      loop,
      publish: await play(
        { phase: 'publish', digest, lane, loopResult: loop === null ? 'skipped' : 'success' },
        publish === 'never' ? publish : { ...publish, hasProviderKey: false },
      ),
    });
  }
  const [first] = handed;
  const finish =
    first === undefined || handed.length < 2 || setting.withoutFinish === true
      ? null
      : await play({ ...first, phase: 'finish' }, { hasProviderKey: false });
  return { gate, lanes, finish };
}
