import {
  type AgentEvent,
  type Dialect,
  failedServers,
  type AgentFailure,
  parseDenials,
  sessionEvents,
  UUID,
} from '../../reading/agent-event.ts';
import { asAmount, asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/**
 * The dialect of `qwen --output-format stream-json`, 0.24: the event format of another CLI, with sums of the session,
 * its errors in `error.message`, and no cost.
 */
export const qwenDialect: Dialect = {
  createParser,
  unread: /^\{"type":"(?:user|stream_event)","uuid":"[^"]{1,64}","session_id":"[^"]{1,64}","parent_tool_use_id":/,
  parseText: () => null,
  noise: null,
  reported: [
    ['max-turns', /^error_max_turns\b|^Reached max session turns\b/],
    ['auth', /\bAPI_KEY_INVALID\b|\bAPI key not valid\b/],
    ['server', /^\[API Error: (?:Connection error|.{0,40}\bfetch failed\b|terminated\b)/],
  ],
  printed: [['unknown-session', /^No saved session found with ID \S+/]],
  questionTool: 'ask_user_question',
};

function createParser(): (line: JsonObject) => readonly AgentEvent[] | null {
  let session: unknown = null;
  const texts = { last: '', before: '' };
  return parse;

  function parse(line: JsonObject): readonly AgentEvent[] | null {
    const events = parseEvent(line);
    if (events === null) return null;
    const said = events.find(({ kind }) => kind === 'text');
    if (said?.kind === 'text') [texts.before, texts.last] = [texts.last, said.text];
    const end = events.find(({ kind }) => kind === 'end');
    // Qwen Code first shows its own error as a message of the agent.
    const isOwn = end?.kind === 'end' && end.failure?.text === texts.last;
    const begun = line['session_id'] === session ? [] : sessionEvents(line['session_id'], UUID);
    session = line['session_id'];
    return [...begun, ...(isOwn ? [{ kind: 'text' as const, text: texts.before }] : []), ...events];
  }
}

function parseEvent(line: JsonObject): readonly AgentEvent[] | null {
  const message = asObject(line['message']);
  switch (line['type']) {
    case 'system': {
      const failed = failedServers(line['mcp_servers']);
      return failed.length === 0 ? [ACTIVITY] : [ACTIVITY, { kind: 'servers', failed }];
    }
    case 'stream_event':
      return [ACTIVITY];
    case 'assistant':
      return message && [ACTIVITY, ...parseMessage(message, typeof line['parent_tool_use_id'] === 'string')];
    case 'user':
      return message && [ACTIVITY, ...toolResults(message)];
    case 'result':
      return parseResult(line);
    default:
      return null;
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };

function parseMessage(message: JsonObject, nested: boolean): readonly AgentEvent[] {
  const blocks = asArray(message['content']).map(asObject);
  const text = blocks.map((block) => (block?.['type'] === 'text' ? asString(block['text']) : null)).findLast(Boolean);
  const tools = blocks.filter((block) => block?.['type'] === 'tool_use');
  return [
    ...(text && !nested ? [{ kind: 'text' as const, text }] : []),
    ...tools.map((tool) => ({
      kind: 'tool-use' as const,
      id: asString(tool?.['id']),
      tool: asString(tool?.['name']) ?? 'unknown',
      command: asString(asObject(tool?.['input'])?.['command']),
    })),
  ];
}

function toolResults(message: JsonObject): readonly AgentEvent[] {
  return asArray(message['content'])
    .map(asObject)
    .filter((block) => block?.['type'] === 'tool_result')
    .map((block) => ({ kind: 'tool-result', failed: block?.['is_error'] === true }));
}

/** Parses a result. Tokens of the cache are part of the input. */
function parseResult(line: JsonObject): readonly AgentEvent[] | null {
  if (typeof line['is_error'] !== 'boolean') return null;
  const text = asString(line['result']);
  const usage = asObject(line['usage']);
  const parts = (asAmount(usage?.['input_tokens']) ?? 0) + (asAmount(usage?.['output_tokens']) ?? 0);
  const turns = asAmount(line['num_turns']);
  const denials = parseDenials(line['permission_denials']);
  const failed = line['is_error'] || line['subtype'] !== 'success';
  return [
    ...denials.map((denial) => ({ kind: 'denied' as const, id: null, ...denial })),
    ...(turns === null ? [] : [{ kind: 'turns' as const, more: turns }]),
    ...(text && !failed ? [{ kind: 'text' as const, text }] : []),
    ...(usage === null ? [] : [{ kind: 'session-used' as const, tokens: asAmount(usage['total_tokens']) ?? parts }]),
    { kind: 'end', failure: failed ? parseFailure(line, text) : null },
  ];
}

function parseFailure(line: JsonObject, result: string | null): AgentFailure {
  const subtype = asString(line['subtype']) ?? '';
  // The agent's last message may be in `result`, and may mention errors from elsewhere.
  const unnamed = subtype === '' || subtype === 'success' ? result : subtype;
  const text = asString(asObject(line['error'])?.['message']) ?? unnamed ?? '';
  const status = /^\[API Error: (\d{3})\b|"code":\s?(\d{3})\b/.exec(text)?.slice(1).find(Boolean);
  return { text, status: status === undefined ? null : Number(status), at: null };
}
