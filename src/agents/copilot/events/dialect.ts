import { tryJson } from '../../../core/text/try-json.ts';
import {
  type AgentEvent,
  type Dialect,
  listFailedServers,
  type AgentFailure,
  buildSessionEvents,
  UUID,
} from '../../reading/agent-event.ts';
import { asAmount, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/**
 * The dialect of `copilot --output-format json`, 1.0. Tokens are only in the file of `--usage-output-file`; its content
 * is read as one more line after the output.
 */
export const copilotDialect: Dialect = {
  createParser,
  unread: /^\{"type":"tool\.execution_complete","data":\{.{0,400}[,{]"success":true,/,
  parseText: () => null,
  noise: null,
  reported: [['server', /^Could not connect to (?:local )?model provider\b/]],
  printed: [
    ['unknown-session', /^Error: No session, task, or name matched /],
    ['auth', /^Error: (?:No authentication information found|Authentication token found but could not be validated)\./],
  ],
  questionTool: 'ask_user',
};

function createParser(): (line: JsonObject) => readonly AgentEvent[] | null {
  let failure: AgentFailure | null = null;
  return parse;

  function parse(line: JsonObject): readonly AgentEvent[] | null {
    const { type } = line;
    if (typeof type !== 'string') return parseUsage(line['modelMetrics']);
    if (type === 'result') return parseResult(line, failure);
    const data = asObject(line['data']);
    if (data === null) return null;
    if (type === 'session.error') failure = parseFailure(data);
    // A signal aborts the CLI's work, and its result then contains no error.
    if (type === 'assistant.idle' && data['aborted'] === true) failure ??= ABORTED;
    const events = parseEvent(type, data, typeof line['agentId'] === 'string');
    if (events.some(({ kind }) => kind === 'text' || kind === 'tool-use')) failure = null;
    return events;
  }
}

const ABORTED: AgentFailure = { text: 'Operation cancelled', status: null, at: null };

/** Parses an event. `nested` is true for an event of a subagent. */
function parseEvent(type: string, data: JsonObject, nested: boolean): readonly AgentEvent[] {
  switch (type) {
    case 'assistant.turn_start':
      return [nested ? ACTIVITY : { kind: 'turns', more: 1 }];
    case 'assistant.message': {
      const text = asString(data['content']) ?? '';
      return [nested || text === '' ? ACTIVITY : { kind: 'text', text }];
    }
    case 'tool.execution_start':
      return [
        {
          kind: 'tool-use',
          id: asString(data['toolCallId']),
          tool: asString(data['toolName']) ?? 'unknown',
          command: asString(asObject(data['arguments'])?.['command']),
        },
      ];
    case 'tool.execution_complete': {
      const isDenied = asObject(data['error'])?.['code'] === 'denied';
      return [
        ...(isDenied ? [{ kind: 'denied' as const, id: asString(data['toolCallId']), tool: null, command: null }] : []),
        { kind: 'tool-result', failed: data['success'] === false },
      ];
    }
    case 'model.call_failure':
      return [{ kind: 'retry', cause: causeOf(data), status: asAmount(data['statusCode']) }];
    case 'assistant.turn_retry':
      return [{ kind: 'retry', cause: asString(data['reason']) ?? 'unknown', status: null }];
    case 'session.mcp_servers_loaded': {
      const failed = listFailedServers(data['servers']);
      return failed.length === 0 ? [] : [{ kind: 'servers', failed }];
    }
    case 'session.mcp_server_status_changed': {
      const failed = listFailedServers([{ name: data['serverName'], status: data['status'] }]);
      return failed.length === 0 ? [] : [{ kind: 'servers', failed }];
    }
    case 'session.error':
      return [{ kind: 'end', failure: parseFailure(data) }];
    default:
      return [];
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };

/** Returns the provider's own words if it answered, otherwise the kind of failure. */
function causeOf(data: JsonObject): string {
  const words = asString(data['errorMessage']) ?? '';
  return (
    asString(asObject(tryJson(words))?.['message']) ?? (words || `${asString(data['failureKind']) ?? 'unknown'} error`)
  );
}

function parseFailure(data: JsonObject): AgentFailure {
  const text = asString(data['message']) ?? asString(data['errorType']) ?? '';
  return { text, status: asAmount(data['statusCode']) ?? statusInText(text), at: null };
}

function statusInText(text: string): number | null {
  const status = /^(\d{3}) |\(HTTP (\d{3})\)|\bLast error: (\d{3}) /
    .exec(text)
    ?.slice(1)
    .find((found) => found);
  return status === undefined ? null : Number(status);
}

function parseResult(line: JsonObject, failure: AgentFailure | null): readonly AgentEvent[] | null {
  const code = line['exitCode'];
  if (typeof code !== 'number') return null;
  const unnamed = code === 0 ? null : { text: `The CLI exited with code ${code}`, status: null, at: null };
  return [...buildSessionEvents(line['sessionId'], UUID), { kind: 'end', failure: failure ?? unnamed }];
}

/** Parses usage. Tokens of the cache are part of the input. */
function parseUsage(value: unknown): readonly AgentEvent[] | null {
  const models = asObject(value);
  if (models === null) return null;
  const tokens = Object.values(models).reduce<number>((sum, model) => {
    const usage = asObject(asObject(model)?.['usage']);
    return sum + (asAmount(usage?.['inputTokens']) ?? 0) + (asAmount(usage?.['outputTokens']) ?? 0);
  }, 0);
  return [{ kind: 'session-used', tokens }];
}
