import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import { UserError } from '../../errors.ts';
import { toLogLine } from '../../processes/output-tail.ts';
import type { AgentCli, CallListener, CallReader, CliCall, CliPlace, PreparedCall } from '../cli/cli.ts';
import { judgeStallIn, openDialectReader } from '../cli/dialect-reader.ts';
import { realPathOfFolder } from '../cli/jsonl-session.ts';
import type { Dialect } from '../reading/agent-event.ts';
import { kindOfDenialBy } from '../rules/shell-rules.ts';
import { acpAgent } from './agent.ts';
import { startAcpConversation, type AcpCall } from './conversation.ts';
import { acpErrors, describeCallTarget, nameTool } from './events/updates.ts';
import type { ToolCall } from './events/tool-calls.ts';

/** Time in ms for an agent to exit after the end of its input. Its session is complete by then. */
const EXIT_MS = 5_000;

/** The part of an adapter that all agents with this protocol share. */
interface AcpBase extends Pick<
  AgentCli,
  'printsRetries' | 'kindOfDenial' | 'rulesGap' | 'unmappedServers' | 'judgeStall'
> {
  readonly prepare: (call: AcpBaseCall, place: CliPlace) => Promise<PreparedCall>;
}

/** The parts in which one agent differs from the others. */
interface AgentSpecifics extends Pick<Dialect, 'parseText' | 'reported'> {
  /** Returns the command of an `execute` call without raw input, or null if no field names it. */
  readonly commandOf: AcpCall['commandOf'];
}

type AcpBaseCall = CliCall & Pick<AcpCall, 'turnLimit'> & Partial<Pick<AcpCall, 'effort'>>;

/** Creates the adapter of any program that speaks the Agent Client Protocol on its standard input and output. */
export function createAcpCli(): AgentCli {
  const base = createAcpBase('acp');
  return {
    ...acpAgent,
    ...base,
    usesConfigFolder: false,
    // `agent-env` supplies the variables with which the agent reaches a model.
    accessOf: (environment) => ({ kind: 'direct', environment }),
    printedVersion: /^(?!)/,
    sessions: {
      export: () => Promise.resolve({ kind: 'left-behind', why: 'only the agent knows its files' }),
      // The agent finds the session by itself as long as its files are there.
      import: () => Promise.resolve(true),
    },
    prepare: (call, place) => base.prepare({ ...call, turnLimit: null }, place),
  };
}

/** Creates the part of an adapter that all agents with this protocol share. */
export function createAcpBase(
  name: AgentName,
  { commandOf = () => null, reported = [], parseText = () => null }: Partial<AgentSpecifics> = {},
): AcpBase {
  // Cost by session, to subtract from totals. The totals of earlier runs are not needed: a session that a later run can
  // continue belongs to an agent that reports no total, or whose answers are added up.
  const costs = new Map<string, number>();
  const questionTool = AGENTS[name].tools.question;
  const dialect = {
    ...{ ...acpErrors, unread: /^(?!)/, parseText, questionTool },
    reported: [...acpErrors.reported, ...reported],
  };
  return {
    printsRetries: false,
    kindOfDenial: kindOfDenialBy(name),
    // This client applies the rules itself, so none need mapping.
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
  { resume, model, allowedTools, servers, environment, turnLimit, effort = null }: AcpBaseCall,
  { workFolder, alsoFolder, isolated, prices }: CliPlace,
): Promise<Omit<AcpCall, 'prompt' | 'questionTool' | 'costs' | 'commandOf'>> {
  const real = (path: string): Promise<string> => (isolated ? Promise.resolve(path) : realPathOfFolder(path));
  const folder = await real(workFolder);
  const place = { folder, tree: alsoFolder === null ? folder : await real(alsoFolder) };
  return { resume, model, allowedTools, servers, environment, prices, turnLimit, effort, place, isolated };
}

/**
 * Opens a reader that talks to the agent. At the end, `report` gets a call that the agent made without asking, or null.
 */
function openAcpReader(
  { talk, dialect }: { readonly talk: Omit<AcpCall, 'prompt'>; readonly dialect: Omit<Dialect, 'createParser'> },
  listener: CallListener,
  report: (unasked: ToolCall | null) => void,
): CallReader {
  const createParser = (): ReturnType<Dialect['createParser']> => (line) => {
    if (line['jsonrpc'] !== '2.0') return null;
    talking.receive(line);
    return [];
  };
  const { take, ...reader } = openDialectReader({ ...dialect, createParser }, listener, null);
  const talking = startAcpConversation({ ...talk, prompt: listener.prompt }, take);
  return {
    ...reader,
    end: async (exit) => {
      report(await talking.end());
      return reader.end(exit);
    },
    conversation: talking,
  };
}

function unaskedError(call: ToolCall): UserError {
  const what = toLogLine(`${nameTool(call)} ${describeCallTarget(call) ?? ''}`.trim(), 200);
  return new UserError(
    'configuration',
    `The agent made a call without asking that \`allowed-tools\` does not allow: ${what}. Start the agent in a mode that asks, allow the call, or set \`isolation: user\` or \`isolation: namespace\`.`,
  );
}
