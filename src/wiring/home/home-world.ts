import { fileURLToPath } from 'node:url';
import { buildVerifyEnvironment } from '../../config/agent-environment.ts';
import type { Config, RunContext } from '../../config/config.ts';
import type { Log } from '../../ports/machine.ts';
import type { Seal, StateStore } from '../../ports/state.ts';
import { createDirectoryConversations } from '../../home/directory-conversations.ts';
import type { GenerationFiles } from '../../state/generation-files.ts';
import { realPace } from '../state.ts';
import { createSeal, MAX_CLOSED_BYTES } from '../../state/seal.ts';
import { createPersonClock } from './person-clock.ts';
import { locateStateFolder } from './checkout-state.ts';
import type { Secrets, World } from '../world.ts';
import { ALL_PROVIDERS, findProblemsByAgent } from '../agents/providers.ts';
import { loadSealingKey, type RunFolders } from './place.ts';

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
