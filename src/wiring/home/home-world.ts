import { ALL_PROVIDERS } from '../agents/providers.ts';
import { fileURLToPath } from 'node:url';
import { verifyEnvironment } from '../../config/agent-environment.ts';
import type { Config, RunContext } from '../../config/config.ts';
import type { Log } from '../../ports/machine.ts';
import type { Seal, StateStore } from '../../ports/state.ts';
import { createDirectoryConversations } from '../../home/directory-conversations.ts';
import type { GenerationFiles } from '../../state/generation-files.ts';
import { realPace } from '../state.ts';
import { createSeal, MAX_CLOSED_BYTES } from '../../state/seal.ts';
import { createPersonClock } from './person-clock.ts';
import { stateFolder } from './checkout-state.ts';
import type { Secrets, World } from '../world.ts';
import { sealingKey, type Place } from './place.ts';

const personClock = createPersonClock(Date.now, () => performance.now());

/** What a run at home is made of. */
export interface HomeSetting {
  readonly config: Config;
  readonly packageRoot: URL;
  readonly environment: NodeJS.ProcessEnv;
  /** Top folder of the person's checkout. */
  readonly top: string;
  readonly place: Place;
  readonly runTag: string;
  readonly runFolder: string;
  /** Counts the runs of this checkout. */
  readonly number: number;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly repository: RunContext['repository'];
  readonly agentFolder: string | null;
  readonly loginProblems: readonly string[];
  readonly verifyProblems: readonly string[];
}

/** Leases and reservations of this machine are all of one kind: a later run ends those of one that was killed. */
const RUN_ID = 'local';

/** The world of a run at home: the one of a job, over the person's own repository in place of a server's. */
export function homeWorld(setting: HomeSetting): World {
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
      // What a person starts by hand.
      event: { name: 'workflow_dispatch', payload: {} },
      loginProblems: setting.loginProblems,
      verifyProblems: setting.verifyProblems,
    },
    environment: { ...environment, RUNNER_TOOL_CACHE: environment.RUNNER_TOOL_CACHE ?? place.tools },
    actionFolder: fileURLToPath(packageRoot),
    secrets,
    redact: secrets.redact,
    clock: personClock,
    log,
    debug: () => undefined,
    variables: verifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS),
    runFolder: setting.runFolder,
    runKey: Buffer.from(sealingKey(place), 'hex'),
    runTag: setting.runTag,
    remoteUrl: top,
    // What was not copied from there is not to be read there either.
    hidden: [top],
    agentFolder: setting.agentFolder,
  };
}

/** The state in `.ralph/state`, transcripts beside it. */
export async function homeStore(files: GenerationFiles, top: string): Promise<StateStore> {
  const [{ createSnapshotStore }, { createDirectorySnapshot }] = await Promise.all([
    import('../../state/snapshot-store.ts'),
    import('../../state/directory-snapshot.ts'),
  ]);
  const { now } = personClock;
  return createSnapshotStore({
    place: createDirectorySnapshot(files, now),
    copies: null,
    conversations: createDirectoryConversations({ ...stateFolder(top), maxBytes: MAX_CLOSED_BYTES }),
    now,
    pace: realPace,
  });
}

/** The person's own key closes transcripts: whoever may read the checkout may not read them. */
export function homeSeal(place: Place, top: string): Seal {
  return createSeal({ credential: sealingKey(place), repository: top });
}
