import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import { UserError } from '../../errors.ts';
import { toLogLine } from '../../processes/log-line.ts';
import type { AgentCli, CallListener, CallReader, CliCall, CliPlace, PreparedCall } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { realPathOfFolder } from '../cli/jsonl-session.ts';
import type { Dialect } from '../reading/agent-event.ts';
import { kindOfDenialBy } from '../rules/shell-rules.ts';
import { acpAgent } from './agent.ts';
import { startTalking, type Talk } from './conversation.ts';
import { acpErrors, detailOf, nameTool } from './events/updates.ts';
import type { ToolCall } from './events/tool-calls.ts';

/** Time in ms for an agent to exit whose input has ended. Its session is complete by then. */
const EXIT_MS = 5_000;

/** The part of an adapter that is the same for all agents that speak the protocol. */
interface Conversing extends Pick<
  AgentCli,
  'printsRetries' | 'kindOfDenial' | 'rulesGap' | 'unmappedServers' | 'judgeStall'
> {
  readonly prepare: (call: ConversingCall, place: CliPlace) => Promise<PreparedCall>;
}

/** The differences of one agent from the others. */
interface OwnWords extends Pick<Dialect, 'parseText' | 'reported'> {
  /** Returns the command of a call of the kind `execute` that has no raw input; null if nothing names it. */
  readonly commandOf: Talk['commandOf'];
}

type ConversingCall = CliCall & Pick<Talk, 'turnLimit'> & Partial<Pick<Talk, 'effort'>>;

/** Creates the adapter of any program that speaks the Agent Client Protocol on its standard input and output. */
export function createAcpCli(): AgentCli {
  const conversing = createConversing('acp');
  return {
    ...acpAgent,
    ...conversing,
    usesConfigFolder: false,
    // The user passes what it needs to reach a model by `agent-env`.
    accessOf: (environment) => ({ kind: 'direct', environment }),
    printedVersion: /^(?!)/,
    sessions: {
      export: () => Promise.resolve({ kind: 'left-behind', why: 'only the agent knows its files' }),
      // The agent finds the session by itself as long as its files are there.
      import: () => Promise.resolve(true),
    },
    prepare: (call, place) => conversing.prepare({ ...call, turnLimit: null }, place),
  };
}

/** Creates what all agents that are talked to have in common. */
export function createConversing(
  name: AgentName,
  { commandOf = () => null, reported = [], parseText = () => null }: Partial<OwnWords> = {},
): Conversing {
  // Agents report only the sum of a session; that of an earlier run counts again as a whole.
  const costs = new Map<string, number>();
  const questionTool = AGENTS[name].tools.question;
  const dialect = {
    ...{ ...acpErrors, unread: /^(?!)/, parseText, questionTool },
    reported: [...acpErrors.reported, ...reported],
  };
  return {
    printsRetries: false,
    kindOfDenial: kindOfDenialBy(name),
    // Each call that it asks for is decided by the rules themselves.
    rulesGap: () => ({ unmapped: [], allowsMore: null }),
    unmappedServers: () => [],
    prepare: async (call, place) => {
      const talk = { ...(await talkOf(call, place)), questionTool, costs, commandOf };
      let unasked: ToolCall | null = null;
      return {
        args: call.extraArgs,
        environment: call.environment,
        files: {},
        lingerMs: EXIT_MS,
        openReader: (listener) =>
          openAcpReader({ talk, dialect }, listener, (made) => {
            unasked = made;
          }),
        complete: (transcript) =>
          unasked === null ? Promise.resolve(transcript) : Promise.reject(unaskedError(unasked)),
      };
    },
    judgeStall: judgeStallIn({ ...dialect, createParser: () => () => null }),
  };
}

async function talkOf(
  { resume, model, allowedTools, servers, environment, turnLimit, effort = null }: ConversingCall,
  { workFolder, alsoFolder, isolated, prices }: CliPlace,
): Promise<Omit<Talk, 'prompt' | 'questionTool' | 'costs' | 'commandOf'>> {
  const real = (path: string): Promise<string> => (isolated ? Promise.resolve(path) : realPathOfFolder(path));
  const folder = await real(workFolder);
  const place = { folder, tree: alsoFolder === null ? folder : await real(alsoFolder) };
  return { resume, model, allowedTools, servers, environment, prices, turnLimit, effort, place, isolated };
}

/** Opens a reader that talks to the agent. `tell` gets a call that the agent made without asking. */
function openAcpReader(
  { talk, dialect }: { readonly talk: Omit<Talk, 'prompt'>; readonly dialect: Omit<Dialect, 'createParser'> },
  listener: CallListener,
  tell: (unasked: ToolCall | null) => void,
): CallReader {
  const createParser = (): ReturnType<Dialect['createParser']> => (line) => {
    if (line['jsonrpc'] !== '2.0') return null;
    talking.receive(line);
    return [];
  };
  const { take, ...reader } = openDialectReader({ ...dialect, createParser }, listener, null);
  const talking = startTalking({ ...talk, prompt: listener.prompt }, take);
  return {
    ...reader,
    end: async (exit) => {
      tell(await talking.end());
      return reader.end(exit);
    },
    conversation: talking,
  };
}

function unaskedError(call: ToolCall): UserError {
  const what = toLogLine(`${nameTool(call)} ${detailOf(call) ?? ''}`.trim(), 200);
  return new UserError(
    'configuration',
    `The agent made a call without asking that \`allowed-tools\` does not allow: ${what}. Start it in a mode in which it asks, allow the call, or set \`isolation: user\` or \`isolation: namespace\`.`,
  );
}
