import type { HandoffName } from '../../../src/ports/handoff.ts';
import type { Project } from './project.ts';
import { runOnce, type Run, type RunSetting } from './river.ts';

/** A run of three jobs; null: the job did not run, because the one before ended the run. */
export interface SplitRun {
  readonly gate: Run;
  readonly loop: Run | null;
  readonly publish: Run | null;
}

/** What happens between the jobs. */
export interface SplitSetting extends Pick<RunSetting, 'event' | 'signal'> {
  /** The job of the loop never begins, as when no runner is free. */
  readonly withoutLoop?: boolean;
  readonly loop?: Omit<RunSetting, 'event' | 'job'>;
  readonly publish?: Omit<RunSetting, 'event' | 'job'>;
  /** Changes what was handed over, as who has the job of the loop can. */
  readonly beforePublish?: (handoff: Map<HandoffName, Uint8Array>, project: Project) => void;
}

/** Gate, loop and publish on machines of their own, which have nothing in common but what is handed over. */
export async function runSplit(project: Project, setting: SplitSetting = {}): Promise<SplitRun> {
  const run = (project.runs += 1);
  project.handoff.clear();
  project.origin.bundles.clear();
  const event = setting.event === undefined ? {} : { event: setting.event };
  const gate = await runOnce(project, { ...event, hasProviderKey: false, job: { phase: 'gate', digest: '', run } });
  const digest = gate.handedOver?.digest;
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
