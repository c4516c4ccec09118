import { PassThrough } from 'node:stream';
import { setImmediate as turnOfLoop, setTimeout as sleep } from 'node:timers/promises';
import {
  type AnyMessage,
  client,
  type ClientContext,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type McpServer as ProtocolServer,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import type { McpServer } from '../../core/mcp/values.ts';
import { type Prices, findModelPrice } from '../../core/spending/prices.ts';
import { getErrorMessage } from '../../errors.ts';
import type { CallConversation } from '../cli/cli.ts';
import { realPathOfFolder } from '../cli/jsonl-session.ts';
import type { AgentEvent, AgentFailure } from '../reading/agent-event.ts';
import { classifyFailure, findFailureInAnswer } from '../reading/failure.ts';
import { asObject, asString, type JsonObject } from '../reading/json-value.ts';
import { resolveAbsolutePath, type AskedPlace, isPermitted } from '../rules/permission.ts';
import type { ToolCall } from './events/tool-calls.ts';
import {
  acpErrors,
  createUpdateConverter,
  describeCallTarget,
  createPlainFailure,
  parseProtocolFailure,
  parseStopFailure,
  nameTool,
} from './events/updates.ts';
import { chooseModel, findSessionOption, buildProtocolServer } from './session.ts';

/** One call in the protocol: the prompt, and the limits of the agent. */
export interface AcpCall {
  readonly prompt: string;
  readonly resume: string | null;
  readonly model: string | null;
  /** The prices of models, for an agent that reports tokens and no cost. */
  readonly prices: Prices;
  /** The model's effort, for an agent that offers a choice; null leaves the choice to the agent. */
  readonly effort: string | null;
  /** Maximum number of the model's answers, enforced by this client; null means no limit here. */
  readonly turnLimit: number | null;
  readonly allowedTools: readonly string[];
  /** The tool that asks a person, which is always refused; null if the agent has no such tool. */
  readonly questionTool: string | null;
  readonly servers: readonly McpServer[];
  /** Variables that the servers' values may name. */
  readonly environment: Readonly<Record<string, string>>;
  readonly place: AskedPlace;
  /** True if a sandbox also limits the agent. Otherwise a call that the agent makes without asking ends the turn. */
  readonly isolated: boolean;
  /** Returns the command of a call without raw input, for an agent that names it in a field of its own. */
  readonly commandOf: (call: JsonObject) => string | null;
  /** Costs in dollars so far by session id. The conversation stores its session's new total here. */
  readonly costs: Map<string, number>;
}

/** A conversation in the Agent Client Protocol. */
export interface AcpConversation extends CallConversation {
  /** Handles a message from the agent. */
  readonly receive: (message: JsonObject) => void;
  /**
   * Ends the conversation after the agent's last message; returns a call that the agent made without asking, or null.
   */
  readonly end: () => Promise<ToolCall | null>;
}

/** Time in ms for an agent to answer before its first prompt. A cold start with MCP servers takes up to 20 s. */
const START_MS = 90_000;

/** Maximum number of bytes that the agent has not read; beyond it, its requests are dropped. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** Maximum number of prompts that continue a turn that ended with a refused call. */
const MAX_REFUSED_TURNS = 20;

/** Maximum number of decisions that are remembered until the agent makes the call. */
const MAX_DECIDED = 1_000;

/** Matches the last message of an agent that ends its turn after every refusal. */
const REFUSAL_MESSAGE = /^(?:Info: )?Operation cancelled by user\.?$/;

/** Fields in which a call must equal the call that was allowed. */
const COMPARED_FIELDS = ['kind', 'command', 'url', 'setsVariables'] as const;

/** The prompt that continues a turn after a refused call. */
const CONTINUE_PROMPT =
  'The last tool call was refused: the rules of this run do not allow it, and nobody can be asked. Continue without it, as far as the rules allow.';

/** Matches session ids that may be stored in the state. */
const SESSION_ID = /^[\w.:@-]{1,200}$/;

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

/**
 * Talks to an agent: starts or loads its session, gives it the prompt, and answers its requests for permission by
 * `allowed-tools`. It offers neither files nor terminals, so that the agent does everything in its own process.
 */
export function startAcpConversation(talk: AcpCall, take: (event: AgentEvent) => void): AcpConversation {
  const { place, allowedTools, isolated } = talk;
  const input = new PassThrough();
  let { model } = talk;
  const updates = createUpdateConverter({
    costBefore: talk.costs.get(talk.resume ?? '') ?? 0,
    price: () => (model === null ? null : findModelPrice(talk.prices, model)),
    commandOf: talk.commandOf,
  });
  /** Ids of this client's requests that the agent has not answered. */
  const asked = new Set<unknown>();
  /** The decided calls by id: the call as it was allowed, or `false` if it was refused. */
  const decided = new Map<string, ToolCall | false>();
  let session: string | null = null;
  let hasPrompt = false;
  let isCancelled = false;
  let isOver = false;
  let turn = 0;
  /**
   * The turn in which the newest decision refused a call; -1 if it allowed one, or if the agent has continued since.
   */
  let refusedTurn = -1;
  let answers = 0;
  /** True if the agent needs one more answer of the model than the limit allows. */
  let isSpent = false;
  let unasked: ToolCall | null = null;
  let incoming: ReadableStreamDefaultController<AnyMessage> | null = null;
  const connection = client()
    .onRequest(methods.client.session.requestPermission, ({ params }) => permission(params))
    .connect({
      readable: new ReadableStream({
        start: (controller) => {
          incoming = controller;
        },
      }),
      writable: new WritableStream({
        write: (message) => {
          if ('method' in message && 'id' in message) asked.add(message.id);
          // Drop answers after the end of the input: the agent may still send a request while its last turn ends.
          if (!input.writableEnded) input.write(`${JSON.stringify(message)}\n`);
        },
      }),
    });
  const done = converse(connection.agent)
    .catch((error: unknown) => (isOver ? undefined : requestFailure(error)))
    .then((failure) => {
      if (failure !== undefined) finish(failure);
    });
  return { input, receive, cancel, end };

  function receive(message: JsonObject): void {
    if (isOver) return;
    // Handle updates here: the library delivers them after later answers, and prints malformed ones.
    if (message['method'] === methods.client.session.update) update(asObject(message['params']));
    else if (isAwaited(message)) incoming?.enqueue(message as AnyMessage);
  }

  /** Returns true for a request and for an expected answer: the library would print the id of any other answer. */
  function isAwaited(message: JsonObject): boolean {
    if (!('method' in message)) return asked.delete(message['id']);
    return 'id' in message && input.readableLength <= MAX_UNREAD;
  }

  async function cancel(): Promise<void> {
    isCancelled = true;
    if (session === null || !hasPrompt || isOver) return;
    await connection.agent.notify(methods.agent.session.cancel, { sessionId: session }).catch(() => undefined);
    await done;
  }

  async function end(): Promise<ToolCall | null> {
    await turnOfLoop();
    if (!isOver) [...updates.flush(), ...updates.used({})].forEach(take);
    isOver = true;
    connection.close();
    input.end();
    await done;
    if (session !== null) talk.costs.set(session, updates.cost());
    return unasked;
  }

  function finish(failure: AgentFailure | null): void {
    [...updates.flush(), ...updates.used({})].forEach(take);
    take({ kind: 'end', failure });
    isOver = true;
    input.end();
  }

  async function converse(agent: ClientContext): Promise<AgentFailure | null> {
    const waiting = new AbortController();
    const late = sleep(START_MS, LATE, { signal: waiting.signal, ref: false });
    try {
      const opened = await Promise.race([open(agent), late]);
      if (opened !== null) return opened;
    } finally {
      waiting.abort();
      void late.catch(() => undefined);
    }
    // Drop the messages so far, which replay the conversation of an earlier process.
    updates.flush();
    updates.used({});
    hasPrompt = true;
    let text = talk.prompt;
    for (; ; turn += 1) {
      const request = { sessionId: session ?? '', prompt: [{ type: 'text' as const, text }] };
      const response: unknown = await agent.request(methods.agent.session.prompt, request);
      const said = updates.flush();
      [...said, ...updates.used(asObject(response) ?? {})].forEach(take);
      const isSilent = said.every((event) => event.kind === 'text' && REFUSAL_MESSAGE.test(event.text.trim()));
      const continues = isSilent && refusedTurn === turn && !isCancelled && turn < MAX_REFUSED_TURNS;
      if (isSpent || (continues && hasUsedTurns())) return parseStopFailure('max_turn_requests');
      if (!continues) return parseStopFailure(asObject(response)?.['stopReason']) ?? findSpokenFailure(said);
      text = CONTINUE_PROMPT;
    }
  }

  /** Opens the session. Returns the failure, or null. */
  async function open(agent: ClientContext): Promise<AgentFailure | null> {
    const hello: unknown = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'ralph-action', version: '1' },
    });
    const version = asObject(hello)?.['protocolVersion'];
    if (version !== PROTOCOL_VERSION)
      return createPlainFailure(
        `The agent speaks version ${JSON.stringify(version)} of the Agent Client Protocol, not ${String(PROTOCOL_VERSION)}.`,
      );
    const abilities = asObject(asObject(hello)?.['agentCapabilities']) ?? {};
    const canResume = asObject(asObject(abilities['sessionCapabilities'])?.['resume']) !== null;
    const canLoad = abilities['loadSession'] === true;
    const setting = { cwd: place.folder, mcpServers: serversFor(asObject(abilities['mcpCapabilities']) ?? {}) };
    let answer: unknown;
    if (talk.resume === null) answer = await agent.request(methods.agent.session.new, setting);
    else if (!canResume && !canLoad)
      return createPlainFailure('The session cannot be continued: the agent does not keep sessions.');
    else {
      const known = { ...setting, sessionId: talk.resume };
      const request = canResume
        ? agent.request(methods.agent.session.resume, known)
        : agent.request(methods.agent.session.load, known);
      session = talk.resume;
      try {
        answer = await request;
      } catch (error) {
        const failure = requestFailure(error);
        return failure.status === null && !isOver
          ? createPlainFailure(`The session cannot be continued: ${failure.text}`)
          : failure;
      }
    }
    const id = talk.resume ?? asString(asObject(answer)?.['sessionId']);
    if (id === null) return createPlainFailure('The agent did not start a session.');
    session = id;
    if ((canResume || canLoad) && SESSION_ID.test(id)) take({ kind: 'session', id });
    const offered = findSessionOption(asObject(answer), 'model');
    model ??= asString(offered?.['currentValue']);
    const failed = talk.model === null ? null : await chooseModel(agent, { id, offered }, talk.model);
    const configId = asString(findSessionOption(asObject(answer), 'thought_level')?.['id']);
    if (configId !== null && talk.effort !== null)
      await agent.request(methods.agent.session.setConfigOption, { sessionId: id, configId, value: talk.effort });
    return failed;
  }

  function serversFor(abilities: JsonObject): ProtocolServer[] {
    const failed = talk.servers.filter((server) => server.kind === 'remote' && abilities[server.transport] !== true);
    if (failed.length > 0)
      take({
        kind: 'servers',
        failed: failed.map(({ name }) => `${name} (the agent reaches no server at an address)`),
      });
    return talk.servers
      .filter((server) => !failed.includes(server))
      .map((server) => buildProtocolServer(server, talk.environment));
  }

  function update(params: JsonObject | null): void {
    if (params?.['sessionId'] !== session || session === null) return;
    const { events, call } = updates.take(asObject(params['update']) ?? {});
    if (!hasPrompt) return;
    events.forEach(take);
    const isOfRefused = call !== null && decided.get(call.id) === false;
    if (!isOfRefused && events.some(({ kind }) => kind === 'text' || kind === 'tool-use')) refusedTurn = -1;
    if (call !== null && hasRunUnasked(call)) report(call);
    for (const event of events) if (event.kind === 'turns') answers += event.more;
    // End the turn at a tool result, after which the model must answer again, beyond the limit.
    if (!isSpent && hasUsedTurns() && events.some(({ kind }) => kind === 'tool-result')) {
      isSpent = true;
      void cancel();
    }
  }

  function hasUsedTurns(): boolean {
    return talk.turnLimit !== null && answers >= talk.turnLimit;
  }

  async function permission({
    sessionId,
    toolCall,
    options,
  }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    if (sessionId !== session || !hasPrompt || isCancelled) {
      decided.set(toolCall.toolCallId, false);
      return CANCELLED;
    }
    const { events, call } = updates.take({ ...toolCall, sessionUpdate: 'tool_call_update' });
    events.forEach(take);
    if (call === null) return CANCELLED;
    const isAllowed =
      (call.tool === null || call.tool !== talk.questionTool) &&
      isPermitted({ ...call, paths: await realPaths(call.paths) }, allowedTools, place);
    const once = options.find(({ kind }) => kind === (isAllowed ? 'allow_once' : 'reject_once'));
    const isRefused = !isAllowed || once === undefined;
    // A call whose decision is dropped here is judged by the rules when it runs.
    if (decided.size >= MAX_DECIDED) decided.clear();
    decided.set(call.id, isRefused ? false : call);
    if (isRefused) take({ kind: 'denied', id: null, tool: nameTool(call), command: call.command });
    refusedTurn = isRefused ? turn : -1;
    return once === undefined ? CANCELLED : { outcome: { outcome: 'selected', optionId: once.optionId } };
  }

  /** Returns true if the agent made the call without permission: unasked, refused, or changed after the decision. */
  function hasRunUnasked(call: ToolCall): boolean {
    const answer = decided.get(call.id);
    if (call.status === 'completed') decided.delete(call.id);
    // `failed` covers a command that ran and exited with an error, and a call that was refused or never began.
    else if (call.status !== 'failed' || answer === false || !call.hasBegun) return false;
    if (answer !== undefined && answer !== false && isAsAllowed(answer, call)) return false;
    const isOpen = call.tool?.startsWith('mcp__') !== true && (call.kind === 'think' || call.kind === 'other');
    const isVague =
      ((call.kind === 'read' || call.kind === 'search') && call.paths.length === 0) ||
      (call.kind === 'fetch' && call.url === null && allowedTools.includes('WebFetch'));
    return !isOpen && !isVague && !isPermitted(call, allowedTools, place);
  }

  /** Returns true if a call matches the one that was allowed and adds no path that the rules forbid. */
  function isAsAllowed(asked: ToolCall, call: ToolCall): boolean {
    if (COMPARED_FIELDS.some((field) => asked[field] !== call[field])) return false;
    const more = call.paths.filter((path) => !asked.paths.includes(path));
    return more.length === 0 || isPermitted({ ...call, paths: more }, allowedTools, place);
  }

  function report(call: ToolCall): void {
    take({ kind: 'tool-use', id: null, tool: `without asking: ${nameTool(call)}`, command: describeCallTarget(call) });
    if (isolated || unasked !== null) return;
    unasked = call;
    void cancel();
  }

  /** Resolves links in the paths; inside a sandbox this is neither possible nor necessary. */
  async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
    if (isolated) return paths;
    return Promise.all(paths.map((path) => realPathOfFolder(resolveAbsolutePath(path, place))));
  }
}

/** Returns the failure that the agent's last message reports instead of an answer, or null. */
function findSpokenFailure(said: readonly AgentEvent[]): AgentFailure | null {
  const last = said.at(-1);
  const words = last?.kind === 'text' ? findFailureInAnswer(last.text) : null;
  const failure = words === null ? null : parseProtocolFailure(0, words, null);
  return failure === null || classifyFailure(failure, acpErrors).kind === 'other' ? null : failure;
}

const LATE = createPlainFailure(
  `The agent did not answer in the Agent Client Protocol within ${String(START_MS / 1000)} seconds.`,
);

function requestFailure(error: unknown): AgentFailure {
  return error instanceof RequestError
    ? parseProtocolFailure(error.code, error.message, error.data)
    : createPlainFailure(`The conversation with the agent failed: ${getErrorMessage(error)}`);
}
