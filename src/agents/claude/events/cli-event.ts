import type { Denial } from '../../../core/analysis/analysis.ts';
import { listFailedServers, parseDenials } from '../../reading/agent-event.ts';
import { asAmount, asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/** One event of the CLI's stream-json, reduced to the fields in use. `session` is null if the event names none. */
export type CliEvent =
  | {
      readonly kind: 'assistant';
      readonly session: string | null;
      readonly nested: boolean;
      readonly text: string | null;
      readonly tools: readonly ToolUse[];
      readonly failure: ClaudeFailure | null;
    }
  | { readonly kind: 'tool-results'; readonly session: string | null; readonly failed: readonly boolean[] }
  | {
      readonly kind: 'denied';
      readonly session: string | null;
      readonly tool: string;
      readonly toolUseId: string | null;
    }
  | { readonly kind: 'rate-limit'; readonly session: string | null; readonly limit: RateLimit }
  | {
      readonly kind: 'retry';
      readonly session: string | null;
      readonly attempt: number;
      readonly maxRetries: number;
      /** Time in ms that the CLI waits before it tries again. */
      readonly delayMs: number;
      readonly status: number | null;
      /** Name of the error, for example `rate_limit`. */
      readonly error: string | null;
    }
  | { readonly kind: 'result'; readonly session: string | null; readonly result: ResultLine }
  /** MCP servers that the CLI cannot use. */
  | { readonly kind: 'servers'; readonly session: string | null; readonly failed: readonly string[] }
  /** Background tasks: `running` is their number; if it is null, `more` is the change of that number. */
  | { readonly kind: 'tasks'; readonly session: string | null; readonly running: number | null; readonly more: number }
  | { readonly kind: 'other'; readonly session: string | null };

export interface ToolUse {
  readonly id: string | null;
  readonly name: string;
  readonly input: JsonObject;
}

/** The CLI's report of its own failure; a field is null if it is not reported. */
export interface ClaudeFailure {
  readonly text: string;
  /** Subtype of the result line, for example `error_max_turns`. */
  readonly subtype: string | null;
  /** Error of the synthetic assistant message, for example `authentication_failed`. */
  readonly error: string | null;
  /** Name of the API error, for example `connection_failed`. */
  readonly apiError: string | null;
  /** Reason of the end, for example `prompt_too_long`. */
  readonly terminalReason: string | null;
  /** HTTP status of the provider's answer. */
  readonly status: number | null;
}

export interface RateLimit {
  /** True if the provider refuses calls now. */
  readonly rejected: boolean;
  /** Type of the limit, for example `five_hour`. */
  readonly type: string | null;
  /** Instant in seconds since the epoch. */
  readonly resetsAt: number | null;
}

/** A result line. `text` is null if it has none. */
export interface ResultLine {
  readonly text: string | null;
  readonly failure: ClaudeFailure | null;
  readonly denials: readonly Denial[];
  readonly turns: number | null;
  readonly tokens: number | null;
  /** The output tokens, which are a part of `tokens`. */
  readonly outputTokens: number | null;
  readonly costSinceLastResultUsd: number | null;
  readonly totalCostUsd: number | null;
}

/** Parses an event from a JSON value, or returns null for anything else. */
export function parseCliEvent(value: unknown): CliEvent | null {
  const event = asObject(value);
  if (event === null) return null;
  const session = sessionId(event);
  switch (event['type']) {
    case 'assistant': {
      const message = asObject(event['message']);
      return message === null ? null : parseAssistant(event, message, session);
    }
    case 'user': {
      const message = asObject(event['message']);
      return message === null ? null : { kind: 'tool-results', session, failed: toolResults(message) };
    }
    case 'system':
      return typeof event['subtype'] === 'string' ? parseSystem(event, session) : null;
    case 'rate_limit_event': {
      const limit = parseRateLimit(event['rate_limit_info']);
      return limit === null ? null : { kind: 'rate-limit', session, limit };
    }
    case 'result': {
      const looksReal =
        typeof event['is_error'] === 'boolean' ||
        typeof event['subtype'] === 'string' ||
        typeof event['result'] === 'string';
      return looksReal ? { kind: 'result', session, result: parseResult(event) } : null;
    }
    default:
      return typeof event['type'] === 'string' && session !== null ? { kind: 'other', session } : null;
  }
}

function parseAssistant(event: JsonObject, message: JsonObject, session: string | null): CliEvent {
  let text: string | null = null;
  const tools: ToolUse[] = [];
  for (const item of asArray(message['content'])) {
    const block = asObject(item);
    if (block?.['type'] === 'text') text = asString(block['text']) ?? text;
    if (block?.['type'] === 'tool_use')
      tools.push({
        id: asString(block['id']),
        name: asString(block['name']) ?? 'unknown',
        input: asObject(block['input']) ?? {},
      });
  }
  const synthetic =
    message['model'] === '<synthetic>' || typeof event['error'] === 'string' || event['is_api_error_message'] === true;
  const failure = synthetic ? parseFailure(event, text ?? '') : null;
  return {
    kind: 'assistant',
    session,
    nested: typeof event['parent_tool_use_id'] === 'string',
    text: synthetic ? null : text,
    tools,
    failure,
  };
}

function parseSystem(event: JsonObject, session: string | null): CliEvent {
  switch (event['subtype']) {
    case 'permission_denied':
      return {
        kind: 'denied',
        session,
        tool: asString(event['tool_name']) ?? 'unknown',
        toolUseId: asString(event['tool_use_id']),
      };
    case 'api_retry':
      return {
        kind: 'retry',
        session,
        attempt: asAmount(event['attempt']) ?? 0,
        maxRetries: asAmount(event['max_retries']) ?? 0,
        delayMs: asAmount(event['retry_delay_ms']) ?? 0,
        status: asAmount(event['error_status']),
        error: asString(event['error']),
      };
    case 'init': {
      const failed = listFailedServers(event['mcp_servers']);
      return failed.length === 0 ? { kind: 'other', session } : { kind: 'servers', session, failed };
    }
    case 'task_started':
      return { kind: 'tasks', session, running: null, more: 1 };
    case 'task_notification':
      return { kind: 'tasks', session, running: null, more: -1 };
    case 'background_tasks_changed': {
      const tasks = event['tasks'] ?? event['background_tasks'];
      return Array.isArray(tasks)
        ? { kind: 'tasks', session, running: tasks.length, more: 0 }
        : { kind: 'other', session };
    }
    default:
      return { kind: 'other', session };
  }
}

function parseResult(event: JsonObject): ResultLine {
  const text = asString(event['result']);
  const subtype = asString(event['subtype']);
  const failed = event['is_error'] === true || (subtype?.startsWith('error') ?? false);
  const errors = asArray(event['errors'])
    .filter((error) => typeof error === 'string')
    .join('\n');
  return {
    text,
    failure: failed ? parseFailure(event, text || errors || (subtype ?? '')) : null,
    denials: parseDenials(event['permission_denials']),
    turns: asAmount(event['num_turns']),
    tokens: tokensOf(event['usage']),
    outputTokens: asAmount(asObject(event['usage'])?.['output_tokens']),
    costSinceLastResultUsd: modelsCost(event['model_usage_since_last_result']),
    totalCostUsd: asAmount(event['total_cost_usd']),
  };
}

function parseFailure(event: JsonObject, text: string): ClaudeFailure {
  return {
    text,
    subtype: event['type'] === 'result' ? asString(event['subtype']) : null,
    error: asString(event['error']),
    apiError: asString(event['api_error']),
    terminalReason: asString(event['terminal_reason']),
    status: asAmount(event['api_error_status']),
  };
}

function parseRateLimit(value: unknown): RateLimit | null {
  const info = asObject(value);
  return (
    info && {
      rejected: info['status'] === 'rejected' && info['isUsingOverage'] !== true,
      type: asString(info['rateLimitType']),
      resetsAt: asAmount(info['resetsAt']),
    }
  );
}

function toolResults(message: JsonObject): boolean[] {
  return asArray(message['content'])
    .map(asObject)
    .filter((block) => block?.['type'] === 'tool_result')
    .map((block) => block?.['is_error'] === true);
}

/** Returns the number of tokens, including those of the cache, which cost money and use up the provider's limits. */
function tokensOf(value: unknown): number | null {
  const usage = asObject(value);
  if (usage === null) return null;
  const parts = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
  return parts.reduce((sum, part) => sum + (asAmount(usage[part]) ?? 0), 0);
}

function modelsCost(modelUsage: unknown): number | null {
  const models = asObject(modelUsage);
  return (
    models &&
    Object.values(models).reduce<number>((sum, model) => sum + (asAmount(asObject(model)?.['costUSD']) ?? 0), 0)
  );
}

/** Returns a valid session id: ids go back to the CLI as an argument. */
function sessionId(event: JsonObject): string | null {
  const id = asString(event['session_id']);
  return id !== null && /^[A-Za-z0-9][\w.:-]{0,127}$/.test(id) ? id : null;
}
