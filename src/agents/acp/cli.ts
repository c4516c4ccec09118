import { UserError } from '../../errors.ts';
import { logLine } from '../../processes/log-line.ts';
import type { AgentCli, CallListener, CallReader, CliCall, CliPlace } from '../cli/cli.ts';
import { describeCallEvent, judgeStallIn } from '../cli/dialect-reader.ts';
import { realPathOfFolder } from '../cli/jsonl-session.ts';
import type { Dialect } from '../reading/agent-event.ts';
import { createAgentReader } from '../reading/reader.ts';
import { kindOfDenialBy } from '../rules/shell-rules.ts';
import { acpAgent } from './agent.ts';
import { startTalking, type Talk } from './conversation.ts';
import { acpErrors, detailOf, toolName } from './events/updates.ts';
import type { ToolCall } from './events/tool-calls.ts';

const dialect: Omit<Dialect, 'createParser'> = { ...acpErrors, unread: /^(?!)/, parseText: () => null };

/** Time in ms for an agent to exit whose input has ended. Its session is complete by then. */
const EXIT_MS = 5_000;

/** The costs of sessions, whose sum is all that agents report; one of an earlier run counts again as a whole. */
const costs = new Map<string, number>();

/** Any program that speaks the Agent Client Protocol on its standard input and output. */
export const acpCli: AgentCli = {
  ...acpAgent,
  usesConfigFolder: false,
  // The user passes what it needs to reach a model by `agent-env`.
  accessOf: (environment) => ({ kind: 'direct', environment }),
  printedVersion: /^(?!)/,
  printsRetries: false,
  kindOfDenial: kindOfDenialBy('acp'),
  sessions: {
    export: () => Promise.resolve({ kind: 'left-behind', why: 'only the agent knows its files' }),
    // The agent finds the session by itself as long as its files are there.
    import: () => Promise.resolve(true),
  },
  // Each call that it asks for is decided by the rules themselves.
  rulesGap: () => ({ unmapped: [], allowsMore: null }),
  unmappedServers: () => [],
  prepare: async (call, place) => {
    const talk = await talkOf(call, place);
    let unasked: ToolCall | null = null;
    return {
      args: call.extraArgs,
      environment: call.environment,
      files: {},
      lingerMs: EXIT_MS,
      openReader: (listener) =>
        openAcpReader(talk, listener, (made) => {
          unasked = made;
        }),
      complete: (transcript) =>
        unasked === null ? Promise.resolve(transcript) : Promise.reject(unaskedError(unasked)),
    };
  },
  judgeStall: judgeStallIn({ ...dialect, createParser: () => () => null }),
};

async function talkOf(
  { resume, model, allowedTools, servers, environment }: CliCall,
  { workFolder, alsoFolder, isolated }: CliPlace,
): Promise<Omit<Talk, 'prompt'>> {
  const real = (path: string): Promise<string> => (isolated ? Promise.resolve(path) : realPathOfFolder(path));
  const folder = await real(workFolder);
  const place = { folder, tree: alsoFolder === null ? folder : await real(alsoFolder) };
  return { resume, model, allowedTools, servers, environment, place, isolated, costs };
}

/** Opens a reader that talks to the agent. `tell` gets a call that the agent made without asking. */
function openAcpReader(
  talk: Omit<Talk, 'prompt'>,
  { prompt, now, hear }: CallListener,
  tell: (unasked: ToolCall | null) => void,
): CallReader {
  const reader = createAgentReader({
    dialect: {
      ...dialect,
      createParser: () => (line) => {
        if (line['jsonrpc'] !== '2.0') return null;
        talking.receive(line);
        return [];
      },
    },
    now,
    tokensBefore: null,
    onEvent: (event) => {
      hear(describeCallEvent(event));
    },
  });
  const talking = startTalking({ ...talk, prompt }, reader.take);
  return {
    push: reader.push,
    pushError: () => undefined,
    end: async () => {
      tell(await talking.end());
      return reader.end();
    },
    conversation: talking,
  };
}

function unaskedError(call: ToolCall): UserError {
  const what = logLine(`${toolName(call)} ${detailOf(call) ?? ''}`.trim(), 200);
  return new UserError(
    'configuration',
    `The agent made a call without asking that \`allowed-tools\` does not allow: ${what}. Start it in a mode in which it asks, allow the call, or set \`isolation: user\` or \`isolation: namespace\`.`,
  );
}
