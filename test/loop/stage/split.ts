import type { HandoffName } from '../../../src/ports/handoff.ts';
import type { Project } from './project.ts';
import { runOnce, type Run, type RunSetting } from './run-action.ts';

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
