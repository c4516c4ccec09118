import type { JournalEntry } from '../core/journal/journal.ts';
import { countTasks } from '../core/tasks/queue.ts';
import type { Work, WorkIntake } from '../handover/intake.ts';
import type { LoopDeps } from '../loop/deps.ts';
import { runIterations } from '../loop/loop.ts';
import type { Log, Tone } from '../ports/machine.ts';
import { renderIterationEnd, renderProgressLine } from '../report/pages/progress.ts';
import { describeHandOver } from '../report/sentences/lane-status.ts';
import { listAgentNames } from './agents.ts';
import { hashText } from './packed-journal.ts';
import type { ActionDeps } from './deps.ts';
import type { Recording } from './recording.ts';

/** The loop's dependencies other than the world: the agents, and the destination of the work. */
interface LoopSetting extends Pick<
  LoopDeps,
  | 'agents'
  | 'stepAgents'
  | 'prompt'
  | 'signal'
  | 'ending'
  | 'outlet'
  | 'store'
  | 'showLive'
  | 'showWait'
  | 'sayLeft'
  | 'waitPolicy'
  | 'lookAtPeople'
> {
  readonly recording: Recording;
}

/** Runs the loop on this machine: turns an intake into recorded work, and leaves no process of the agent behind. */
export async function runLoop(deps: ActionDeps, setting: LoopSetting, intake: WorkIntake): Promise<Work> {
  const { config, context, runTag, clock, log, redact, connect, machine, appendJournal, keepPatch, journalHash } = deps;
  const { recording, ...given } = setting;
  const { pipeline } = intake;
  const finished = await runIterations(
    {
      ...given,
      context,
      runTag,
      clock,
      log,
      redact,
      sha256: hashText,
      config: { ...config, policy: { ...intake.policy, agents: listAgentNames(setting.agents) } },
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
  for (const { opened } of [...setting.agents, ...setting.stepAgents]) await opened()?.agent.sweep();
  return work;
}

/**
 * Returns the work with its isolation and the journal's hash, which reveals whether the journal on disk was replaced.
 */
function measured({ journalHash, connect }: ActionDeps, work: Work): Work {
  return { ...work, isolation: connect.isolation(), state: { ...work.state, journalHash: journalHash() } };
}

function narrateTo(log: Log): LoopDeps['narrate'] {
  return (entry, { tasks, state, journal }) => {
    const { done, all } = countTasks(tasks, state.tasks);
    for (const line of describeHandOver(entry, journal.at(-2) ?? null)) log.info(line);
    log.info(renderIterationEnd(entry), toneOf(entry));
    log.info(renderProgressLine({ done, total: all, title: entry.taskTitle }));
  };
}

function toneOf({ verdict }: JournalEntry): Tone {
  if (verdict.taskDone) return 'good';
  return verdict.progress ? 'heading' : 'bad';
}
