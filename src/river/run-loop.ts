import { countTasks } from '../core/tasks/queue.ts';
import type { WorkIntake } from '../handover/handed.ts';
import type { Work } from '../handover/work.ts';
import type { LoopDeps } from '../loop/deps.ts';
import { loop } from '../loop/loop.ts';
import type { Log } from '../ports/machine.ts';
import { renderIterationEnd, renderProgressLine } from '../report/pages/progress.ts';
import { agentNamesOf } from './agents.ts';
import { handOverLine } from '../report/sentences/hand-overs.ts';
import type { RiverDeps } from './deps.ts';
import type { Recording } from './recording.ts';
import { sha256 } from './stages.ts';

/** What the loop has beside the world: the agents, and where its work goes. */
export interface LoopSetting extends Pick<
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
