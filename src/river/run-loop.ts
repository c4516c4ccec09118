import type { LaneId } from '../core/tasks/ids.ts';
import { countTasks } from '../core/tasks/queue.ts';
import { messageOf } from '../errors.ts';
import type { Work, WorkIntake } from '../handover/intake.ts';
import type { LoopDeps } from '../loop/deps.ts';
import { loop } from '../loop/loop.ts';
import type { Log } from '../ports/machine.ts';
import { renderIterationEnd, renderProgressLine } from '../report/pages/progress.ts';
import { handOverLine } from '../report/sentences/lane-status.ts';
import { agentNamesOf, sha256 } from './agents.ts';
import type { RunRecord } from './believed.ts';
import type { RiverDeps } from './deps.ts';

/** The facts that main knows of its own run, kept on disk for post. */
export interface Recording {
  /** Returns the newest work; null until the loop begins. */
  readonly work: () => Work | null;
  /** Returns the lane that this run may have claimed and has not certainly given back; null when there is none. */
  readonly claimed: () => LaneId | null;
  /** Records a lane on disk before it is claimed, so that post gives it back if the run is killed right after its claim. Throws a UserError when it cannot. */
  readonly claiming: (lane: LaneId) => void;
  /** Records that the lane is given back. */
  readonly released: () => void;
  /** Writes the work to disk; throws a UserError when it cannot. */
  readonly keep: (work: Work) => void;
  /**
   * Writes the work to disk if possible, and warns once if not. It is for the end of a run, when no new call depends on
   * the record and publishing the work in memory matters more.
   */
  readonly tryToKeep: (work: Work) => void;
  readonly tryToRecord: (stage: RunRecord['stage']) => void;
}

/** The loop's dependencies besides the world: the agents, and the destination of the work. */
interface LoopSetting extends Pick<
  LoopDeps,
  | 'agents'
  | 'prompt'
  | 'signal'
  | 'ending'
  | 'outlet'
  | 'store'
  | 'showLive'
  | 'showWait'
  | 'sayLeft'
  | 'patience'
  | 'lookAtPeople'
> {
  readonly recording: Recording;
}

/** Runs the loop on this machine: turns an intake into work that is on record, and leaves no process of the agent. */
export async function runLoop(deps: RiverDeps, setting: LoopSetting, intake: WorkIntake): Promise<Work> {
  const { config, context, runTag, clock, log, redact, connect, machine, appendJournal, keepPatch, journalHash } = deps;
  const { recording, ...given } = setting;
  const { pipeline } = intake;
  const finished = await loop(
    {
      ...given,
      context,
      runTag,
      clock,
      log,
      redact,
      sha256,
      config: { ...config, policy: { ...intake.policy, agents: agentNamesOf(setting.agents) } },
      repository: await connect.repository(),
      verifier: await connect.verifier(),
      commands: await connect.commands(),
      pipeline,
      seal: await connect.seal(),
      readLearnings: machine.readLearnings,
      sleep: machine.sleep,
      files: machine.files,
      narrate: narrateTo(log),
      appendJournal,
      keepPatch,
      journalHash,
      record: (unfinished) => {
        recording.keep(measured(deps, unfinished));
      },
    },
    intake,
  );
  const work = measured(deps, finished);
  recording.keep(work);
  for (const { opened } of setting.agents) await opened()?.agent.sweep();
  return work;
}

/** Returns the work with its isolation and the journal's hash. Because of the hash in the state, nobody can replace the journal on the machine's disk unnoticed. */
function measured({ journalHash, connect }: RiverDeps, work: Work): Work {
  return { ...work, isolation: connect.isolation(), state: { ...work.state, journalHash: journalHash() } };
}

function narrateTo(log: Log): LoopDeps['narrate'] {
  return (entry, { tasks, state, journal }) => {
    const { done, all } = countTasks(tasks, state.tasks);
    for (const line of handOverLine(entry, journal.at(-2) ?? null)) log.info(line);
    log.info(renderIterationEnd(entry));
    log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
  };
}

/** Creates the recording. Before the first claim, the disk has only what the entry wrote. */
export function createRecording({ machine, log }: Pick<RiverDeps, 'machine' | 'log'>): Recording {
  let work: Work | null = null;
  let claimed: LaneId | null = null;
  let hasWarned = false;
  const record = (stage: RunRecord['stage']): void => {
    machine.record({ stage, claimed, work });
  };
  const tryToRecord = (stage: RunRecord['stage']): void => {
    try {
      record(stage);
    } catch (error) {
      if (!hasWarned) log.warning(messageOf(error));
      hasWarned = true;
    }
  };
  return {
    work: () => work,
    claimed: () => claimed,
    claiming: (lane) => {
      claimed = lane;
      record('gate');
    },
    released: () => {
      claimed = null;
    },
    keep: (latest) => {
      work = latest;
      record('work');
    },
    tryToKeep: (latest) => {
      work = latest;
      tryToRecord('work');
    },
    tryToRecord,
  };
}
