import { isAbsolute, relative } from 'node:path';
import { completeSentence } from '../core/text/phrase.ts';
import { asError, getErrorMessage, UserError } from '../errors.ts';
import type { Agent, CommandRunner, Verifier } from '../ports/agent.ts';
import type { AgentConnection, Connections } from '../run/deps.ts';
import { rememberActionFiles, type ActionFiles } from '../runner/action-files.ts';
import type { RunnerFiles } from '../runner/workspace-files.ts';
import { MINUTE_MS } from '../core/countdown.ts';
import type { World } from './world.ts';

/** Time in ms beyond `max-minutes` for a last verification and for publishing; the lease on the lane lasts longer. */
const GRACE_MS = 5 * MINUTE_MS;

/** Protects the action's own process and files from the agent and the verify commands, which run as the same user. */
export interface Guard {
  /** Must be called before the first program of the agent. */
  readonly begin: () => Promise<void>;
  /** Must be called after each program of the agent; throws a UserError if the action's own files were changed. */
  readonly check: () => void;
}

/** Creates the guard of this process, of the runner's files and of the action's files. */
export function createGuard(
  { actionFolder, config, context, environment, log }: World,
  runnerFiles: RunnerFiles,
): Guard {
  let watching: Promise<void> | null = null;
  let actionFiles: ActionFiles | null = null;

  function check(): void {
    runnerFiles.putBack();
    const changed = actionFiles === null ? [] : putBack(actionFiles);
    if (changed.length > 0) throw changedFiles(changed);
  }

  async function watch(): Promise<void> {
    const { startWatchdog } = await import('../processes/run-program.ts');
    startWatchdog(environment, { afterMs: config.policy.maxRunMs + config.policy.maxWaitMs + GRACE_MS });
  }

  return {
    begin: async () => {
      // A second program that begins at the same time waits as well.
      await (watching ??= watch());
      // With `uses: ./`, the action is the project itself, which the agent may change, so do not guard it.
      if (!isInside(actionFolder, context.workspace)) actionFiles ??= rememberActionFiles(actionFolder);
      else log.info('The action is inside the work tree, so its own files are not checked after each call.');
    },
    check,
  };
}

/** Returns the connections with a check after each operation that ran code of the agent. */
export function guardConnections(connections: Connections, guard: Guard): Connections {
  const checked = async <T>(run: Promise<T>): Promise<T> => {
    try {
      return await run;
    } finally {
      guard.check();
    }
  };
  const guardAgent = (agent: Agent): Agent => ({
    ...agent,
    prepare: async () => {
      await guard.begin();
      return agent.prepare();
    },
    call: async (call) => {
      const run = await agent.call(call).catch((error: unknown) => {
        guard.check();
        throw error;
      });
      try {
        guard.check();
      } catch (error) {
        // Return the run with the error, because the call was made and must be charged.
        return { ...run, broken: asError(error) };
      }
      return run;
    },
  });
  const guardCommands = (commands: CommandRunner): CommandRunner => ({
    run: async (...request) => {
      await guard.begin();
      return checked(commands.run(...request));
    },
  });
  const guardVerifier = (verifier: Verifier): Verifier => ({
    ...verifier,
    verify: async (...request) => {
      await guard.begin();
      return checked(verifier.verify(...request));
    },
  });
  const [first, ...others] = connections.agents;
  const guarded = ({ name, connect }: AgentConnection): AgentConnection => ({
    name,
    connect: async (needs) => guardAgent(await connect(needs)),
  });
  return {
    ...connections,
    agent: async (needs) => guardAgent(await connections.agent(needs)),
    agents: [guarded(first), ...others.map(guarded)],
    verifier: async () => guardVerifier(await connections.verifier()),
    commands: async () => guardCommands(await connections.commands()),
  };
}

function putBack(actionFiles: ActionFiles): readonly string[] {
  try {
    return actionFiles.putBack();
  } catch (error) {
    // The agent may have forged the rest of this program, so load nothing more of it.
    process.stdout.write(
      `::error::The action's own files were changed while the agent worked, and cannot be put back: ${completeSentence(getErrorMessage(error).replaceAll('\n', ' '))} The run ends here.\n`,
    );
    process.exit(1);
  }
}

function changedFiles(names: readonly string[]): UserError {
  const named = names.slice(0, 5).join(', ');
  return new UserError(
    'infrastructure',
    `The action's own files were changed while the agent worked (${named}${names.length > 5 ? ', …' : ''}). They were put back, and the run ends here; what was finished before is published. Check what the agent did before you run it again.`,
  );
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !way.startsWith('..') && !isAbsolute(way);
}
