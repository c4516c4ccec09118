import { fileURLToPath } from 'node:url';
import type { WriteStream } from 'node:tty';
import { buildVerifyEnvironment } from '../../config/agent-environment.ts';
import type { Config, RunContext } from '../../config/config.ts';
import type { Log, Clock } from '../../ports/machine.ts';
import type { Seal, StateStore } from '../../ports/state.ts';
import { createDirectoryConversations } from '../../home/directory-conversations.ts';
import type { GenerationFiles } from '../../state/generation-files.ts';
import { realPace } from '../state.ts';
import { createSeal, MAX_CLOSED_BYTES } from '../../state/seal.ts';
import { locateStateFolder } from './checkout-state.ts';
import { type Secrets, type World, systemClock } from '../world.ts';
import { ALL_PROVIDERS, findProblemsByAgent } from '../agents/providers.ts';
import { loadSealingKey, type RunFolders } from './place.ts';
import { formatInstant } from '../../core/countdown.ts';
import { createCountdownLine, type CountdownLine } from '../../home/status-files.ts';
import { formatDuration } from '../../report/format.ts';

const personClock = createPersonClock(Date.now, () => performance.now());

/** The parts of a local run. */
export interface HomeSetting {
  readonly config: Config;
  readonly packageRoot: URL;
  readonly environment: NodeJS.ProcessEnv;
  /** Top folder of the person's checkout. */
  readonly top: string;
  readonly place: RunFolders;
  readonly runTag: string;
  readonly runFolder: string;
  /** The number of this run in the checkout. */
  readonly number: number;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly repository: RunContext['repository'];
  readonly agentFolder: string | null;
  readonly loginProblems: readonly string[];
  readonly verifyProblems: readonly string[];
}

/** The run id of all leases and reservations of this machine, so that a later run ends those of a killed run. */
const RUN_ID = 'local';

/**
 * Creates the world of a local run. It is a job's world, but with the person's own repository instead of a server's.
 */
export function createHomeWorld(setting: HomeSetting): World {
  const { config, packageRoot, environment, top, place, secrets, log, number } = setting;
  return {
    config,
    context: {
      workspace: place.clone,
      temp: place.temp,
      repository: setting.repository,
      serverUrl: 'https://github.com',
      apiUrl: 'https://api.github.com',
      runId: RUN_ID,
      runAttempt: number,
      runUrl: '',
      logUrl: '',
      runnerName: '',
      workflowPath: null,
      // A person starts the run by hand, so use that event.
      event: { name: 'workflow_dispatch', payload: {} },
      loginProblems: setting.loginProblems,
      otherLoginProblems: findProblemsByAgent(setting.environment, setting.config.agent.others),
      verifyProblems: setting.verifyProblems,
    },
    environment: { ...environment, RUNNER_TOOL_CACHE: environment.RUNNER_TOOL_CACHE ?? place.tools },
    actionFolder: fileURLToPath(packageRoot),
    secrets,
    redact: secrets.redact,
    clock: personClock,
    log,
    debug: () => undefined,
    readJournal: () => null,
    keepReceipt: () => undefined,
    variables: buildVerifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS),
    runFolder: setting.runFolder,
    runKey: Buffer.from(loadSealingKey(place), 'hex'),
    runTag: setting.runTag,
    remoteUrl: top,
    // Hide the checkout and the other lanes: the agent must not read files that were not copied.
    hidden: [top, place.base],
    agentFolder: setting.agentFolder,
  };
}

/** Creates the store of `.ralph/state`, with the transcripts next to the state. */
export async function openHomeStore(files: GenerationFiles, top: string): Promise<StateStore> {
  const [{ createSnapshotStore }, { createDirectorySnapshot }] = await Promise.all([
    import('../../state/snapshot-store.ts'),
    import('../../state/directory-snapshot.ts'),
  ]);
  const { now } = personClock;
  return createSnapshotStore({
    place: createDirectorySnapshot(files, now),
    copies: null,
    conversations: createDirectoryConversations({ ...locateStateFolder(top), maxBytes: MAX_CLOSED_BYTES }),
    now,
    pace: realPace,
  });
}

/** Creates the seal with the person's own key, so that other readers of the checkout cannot read the transcripts. */
export function openHomeSeal(place: RunFolders, top: string): Seal {
  return createSeal({ credential: loadSealingKey(place), repository: top });
}

/**
 * Minimum difference in ms that means the machine slept, during which the steady clock stops; smaller ones are
 * corrections of the wall clock.
 */
const SLEPT_MS = 10_000;

/**
 * Creates the clock of a run on a person's machine, which may sleep while the run waits: time passes during sleep as
 * well. Like the clock of a job, it never goes back, even if the machine's own does. `wall` and `steady` return ms.
 */
export function createPersonClock(wall: () => number, steady: () => number): Clock {
  let base = wall() - steady();
  return {
    now: () => {
      const ahead = wall() - (base + steady());
      if (ahead > SLEPT_MS) base += ahead;
      return Math.round(base + steady());
    },
  };
}

/** Creates the line that counts down a wait; returns null if the output is not a terminal that can redraw a line. */
export function createCountdown(
  terminal: Pick<WriteStream, 'isTTY' | 'columns'>,
  { TERM, CI }: NodeJS.ProcessEnv,
  write: (text: string) => void,
): CountdownLine | null {
  if (!terminal.isTTY || TERM === 'dumb' || (CI ?? '') !== '') return null;
  return createCountdownLine({
    write,
    columns: () => (terminal.columns > 0 ? terminal.columns : 80),
    words: (until) =>
      `${formatDuration(Math.max(1, until - systemClock.now()))} left, waiting until ${formatInstant(until)}`,
  });
}
