import { type AgentEvent, type Dialect, buildSessionEvents, UUID } from '../../reading/agent-event.ts';
import { asAmount, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/** The dialect of `codex exec --json`, 0.169. It reports no denials, and its number of requests is unknown. */
export const codexDialect: Dialect = {
  createParser: () => parseLine,
  unread:
    /^\{"type":"item\.(?:started|updated|completed)","item":\{"id":"[^"]{1,64}","type":"(?!agent_message|error)\w+"/,
  parseText: () => null,
  noise: /^(?:Reading (?:prompt|additional input) from stdin\.\.\.$|WARNING: |\d{4}-\d\d-\d\dT\S+ +[A-Z]{4,5} )/,
  reported: [
    ['billing', /^To use Codex with your ChatGPT plan, upgrade\b/],
    ['budget', /^budget reached\b/],
    ['auth', /^Missing environment variable: /],
    ['server', /experiencing high demand|^stream disconnected before completion\b|^Connection failed\b/],
  ],
  printed: [
    ['unknown-session', /^Error: thread\/resume: thread\/resume failed: no rollout found for thread id \S+/],
    ['prompt-too-long', /^(?:Error: )?Input exceeds the maximum length of \d+ characters\.?$/],
    ['auth', /^(?:Error: )?Missing environment variable: `[^`]{1,200}`\.?$/],
  ],
  questionTool: null,
};

function parseLine(line: JsonObject): readonly AgentEvent[] | null {
  switch (line['type']) {
    case 'thread.started':
      return [...buildSessionEvents(line['thread_id'], UUID), ACTIVITY];
    case 'item.started':
      return parseItem(line['item'], parseStarted);
    case 'item.completed':
      return parseItem(line['item'], parseCompleted);
    case 'error':
      return parseError(asString(line['message']) ?? '');
    case 'turn.completed':
      return [...usageEvents(line['usage']), { kind: 'end', failure: null }];
    case 'turn.failed': {
      const text = asString(asObject(line['error'])?.['message']) ?? '';
      return [{ kind: 'end', failure: { text, status: statusInText(text), at: null } }];
    }
    default:
      return isOfCodex(line['type']) ? [ACTIVITY] : null;
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };

function isOfCodex(type: unknown): boolean {
  return typeof type === 'string' && /^(?:thread|turn|item)\./.test(type);
}

/** Parses a retry message; ignores other errors, because a final one is repeated as `turn.failed`. */
function parseError(message: string): readonly AgentEvent[] {
  const cause = /^Reconnecting\.\.\. (?:\d+\/\d+|waiting for network) \((.*)\)$/s.exec(message)?.[1];
  if (cause !== undefined) return [{ kind: 'retry', cause, status: statusInText(cause) }];
  return /^Reconnecting\b/.test(message) ? [{ kind: 'retry', cause: message, status: statusInText(message) }] : [];
}

function parseItem(value: unknown, parse: (item: JsonObject) => readonly AgentEvent[]): readonly AgentEvent[] | null {
  const item = asObject(value);
  return item && parse(item);
}

function parseStarted(item: JsonObject): readonly AgentEvent[] {
  const tool = asString(item['type']) ?? 'unknown';
  return [{ kind: 'tool-use', id: asString(item['id']), tool, command: asString(item['command']) }];
}

/** Parses a completed item. An item of type `error` is a warning, and not a sign of work. */
function parseCompleted(item: JsonObject): readonly AgentEvent[] {
  const type = item['type'];
  if (type === 'error') return [];
  if (type === 'agent_message') return [{ kind: 'text', text: asString(item['text']) ?? '' }];
  if (type === 'reasoning') return [ACTIVITY];
  const code = item['exit_code'];
  return [{ kind: 'tool-result', failed: item['status'] === 'failed' || (typeof code === 'number' && code !== 0) }];
}

/** Parses usage. Cached tokens are part of the input, and reasoning tokens part of the output. */
function usageEvents(value: unknown): readonly AgentEvent[] {
  const usage = asObject(value);
  const input = asAmount(usage?.['input_tokens']);
  const output = asAmount(usage?.['output_tokens']);
  return input === null && output === null ? [] : [{ kind: 'session-used', tokens: (input ?? 0) + (output ?? 0) }];
}

function statusInText(text: string): number | null {
  const status = /\bstatus:? (\d{3})\b/.exec(text)?.[1];
  return status === undefined ? null : Number(status);
}
