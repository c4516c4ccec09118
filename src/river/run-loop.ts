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

/** What main knows of its own run, kept on disk for post. */
export interface Recording {
  /** The newest work; null until the loop begins. */
  readonly work: () => Work | null;
  /** The lane that this run may have claimed, and has not given back for certain; null: none. */
  readonly claimed: () => LaneId | null;
  /** On disk before the claim is made: a run that is killed right behind its claim has its lane given back by post. Throws a UserError. */
  readonly claiming: (lane: LaneId) => void;
  /** The lane is given back. */
  readonly released: () => void;
  /** Throws a UserError when the work cannot be put on disk. */
  readonly keep: (work: Work) => void;
  /** For where no new call depends on the record any more: the work is in memory, and publishing it matters more. Warns once. */
  readonly tryToKeep: (work: Work) => void;
  readonly tryToRecord: (stage: RunRecord['stage']) => void;
}

/** What the loop has beside the world: the agents, and where its work goes. */
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

/** The loop on this machine: intake → work, on record, and no process of the agent left. */
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

/** With how it was isolated. The journal stands on the machine's disk; with its hash in the state nobody can put another in its place unseen. */
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

/** Nothing is on disk before the first claim but what the entry wrote. */
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
