import { dirname } from 'node:path';
import type { RunReport } from '../../handover/report.ts';
import type { CountdownLine, Interruption, StatusFiles } from '../../home/status-files.ts';
import type { RunStatus } from '../../core/local/status-document.ts';
import type { Verifier } from '../../ports/agent.ts';
import type { Connections } from '../../run/deps.ts';
import { runAtHome, type HomeDeps, type ShownActivity } from '../../run/home/at-home.ts';
import { buildStatusDocument } from '../../report/pages/run-status.ts';
import { createJournalFile, type JournalFile, readJournalFile } from '../../runner/journal-file.ts';
import type { GenerationFiles } from '../../state/generation-files.ts';
import { QUEUE } from '../../core/tasks/ids.ts';
import { connectPorts } from '../connect.ts';
import { createGuard, guardConnections } from '../guard.ts';
import { createRunIsolation } from '../isolation/isolated.ts';
import { createMachine } from '../machine.ts';
import type { World } from '../world.ts';
import { openHomeSeal, openHomeStore } from './home-world.ts';
import type { RunFolders } from './place.ts';

interface Play {
  readonly top: string;
  readonly place: RunFolders;
  readonly kept: GenerationFiles;
  readonly gate: Pick<HomeDeps, 'forge' | 'findStart'>;
  readonly interruption: Interruption;
  readonly startedAt: number;
  /** The files for watchers, or null for a run that writes none. */
  readonly status: StatusFiles | null;
  readonly task: string | null;
  readonly handed: HomeDeps['handed'];
  readonly startBeside: HomeDeps['startBeside'];
  /** The countdown, or null without a terminal to draw it on. */
  readonly countdown: Pick<CountdownLine, 'begin' | 'end'> | null;
  readonly runName: string;
  /**
   * Returns the journal's folder. It is called once, before the first line, so that a run without calls leaves the
   * previous run's journal.
   */
  readonly journalFolder: () => string;
  /** The last status of the previous run, or null if it is unknown. */
  readonly before: RunStatus | null;
}

/** Plays the run with the adapters of a job and the person's own repository. */
export async function playAtHome(world: World, play: Play): Promise<RunReport> {
  const { log } = world;
  const isolated = createRunIsolation(world);
  const wired = connectPorts(world, { timeouts: null, isolated });
  const connections = connectAtHome(play, wired);
  const guard = createGuard(world, {
    putBack: () => [],
    write: (act) => {
      act();
    },
  });
  const guarded = guardConnections(connections, guard);
  let journal: JournalFile | null = null;
  const { show, verifying } = createStatusWriter(play, world);
  const machine = createMachine(world, { startedAt: play.startedAt, workFiles: wired.workFiles });
  try {
    return await runAtHome({
      ...world,
      ...play.gate,
      connect: { ...guarded, verifier: async () => verifying(await guarded.verifier()) },
      machine: {
        ...machine,
        // Write no record, because branch and state keep the work of a killed run after each iteration.
        record: ({ work }) => {
          if (work !== null) show({ work });
        },
      },
      startedAt: play.startedAt,
      appendJournal: (line) => {
        journal ??= createJournalFile(play.journalFolder(), () => undefined);
        journal.append(line);
      },
      keepPatch: (name, patch) => journal?.keepPatch(name, patch),
      journalHash: () => journal?.hash() ?? null,
      readJournal: () => {
        const path = journal?.path() ?? null;
        return path === null ? null : readJournalFile(dirname(path));
      },
      leave: () => undefined,
      runName: play.runName,
      task: play.task,
      handed: play.handed,
      startBeside: play.startBeside,
      signal: play.interruption.signal,
      ending: play.interruption.ending,
      show,
      sayLeft: play.countdown === null ? log.info : () => undefined,
    });
  } finally {
    play.countdown?.end();
    const unremoved = await isolated.close();
    if (unremoved !== null) log.warning(unremoved);
  }
}

/** Returns the connections with this machine's state and seal instead of GitHub's. */
export function connectAtHome(
  { kept, top, place, gate }: Pick<Play, 'kept' | 'top' | 'place' | 'gate'>,
  wired: Connections,
): Connections {
  const store = openHomeStore(kept, top);
  return {
    ...wired,
    forge: () => Promise.resolve(gate.forge),
    requests: () => null,
    refusedWishes: () => [],
    store: () => store,
    seal: () => Promise.resolve(openHomeSeal(place, top)),
  };
}

/** Creates a function that writes the state of the run for watchers. */
function createStatusWriter(
  { status, startedAt, countdown, before: last }: Pick<Play, 'status' | 'startedAt' | 'countdown' | 'before'>,
  { config, clock }: World,
): { readonly show: (change: Partial<ShownActivity>) => void; readonly verifying: (verifier: Verifier) => Verifier } {
  let shown: ShownActivity = { doing: 'starting', work: null, task: null, resumeAt: null, outcome: null };
  const show = (change: Partial<ShownActivity>): void => {
    const before = shown;
    shown = { ...shown, ...change, work: change.work ?? shown.work, task: change.task ?? shown.task };
    const lane = shown.work?.lane ?? { id: QUEUE, branch: config.branchPrefix + QUEUE };
    status?.status(
      buildStatusDocument({
        ...{ ...shown, lane, before: last, policy: config.policy, startedAt, now: clock.now(), pid: process.pid },
      }),
    );
    if (shown.doing === 'waiting' && shown.resumeAt !== null) {
      if (before.doing !== 'waiting') countdown?.begin(shown.resumeAt);
    } else countdown?.end();
    // A call may directly follow another one, so end that one first.
    if (before.doing === 'agent' && change.doing !== undefined)
      status?.callEnds(change.doing === 'ended' ? 'idle' : 'completed');
    if (change.doing === 'agent') status?.callBegins();
    if (shown.doing === 'ended') status?.callEnds(shown.outcome?.kind === 'failed' ? 'failed' : 'idle');
  };
  return {
    show,
    verifying: (verifier) => ({
      verify: async (call) => {
        show({ doing: 'verify' });
        return verifier.verify(call);
      },
    }),
  };
}
