import { type AgentEvent, type Dialect, type AgentFailure, sessionEvents } from '../../reading/agent-event.ts';
import { asAmount, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/**
 * The dialect of `opencode run --format json`, 1.18. It has no result line: a last step that stopped by itself counts
 * as one, unless an error was reported.
 */
export const opencodeDialect: Dialect = {
  createParser,
  unread:
    /^\{"type":"tool_use","timestamp":\d{1,16},"sessionID":"\w{1,64}","part":\{"type":"tool","tool":"[^"]{1,100}","callID":"[^"]{1,100}","state":\{"status":"completed",/,
  parseText,
  noise: /^! permission requested: /,
  reported: [
    ['auth', /^ProviderAuthError\b/],
    ['prompt-too-long', /^ContextOverflowError\b/],
    ['model', /^ProviderModelNotFoundError\b/],
  ],
  printed: [['unknown-session', /^Error: Session not found$/]],
  questionTool: null,
};

const SESSION = /^ses_[A-Za-z0-9]{26}$/;

function createParser(): (line: JsonObject) => readonly AgentEvent[] | null {
  let session: unknown = null;
  let failure: AgentFailure | null = null;
  return parse;

  function parse(line: JsonObject): readonly AgentEvent[] | null {
    const { type, sessionID } = line;
    if (typeof type !== 'string' || typeof sessionID !== 'string') return null;
    if (type === 'error') failure = parseFailure(line['error']);
    const begun = sessionID === session ? [] : sessionEvents(sessionID, SESSION);
    session = sessionID;
    const events = type === 'error' ? [] : parsePart(type, asObject(line['part']) ?? {});
    // Repeated after every event: after an error, the CLI always exits with 1, and its compaction then ends like an
    // answer.
    return [...begun, ...events, ...(failure === null ? [] : [{ kind: 'end' as const, failure }])];
  }
}

function parseFailure(value: unknown): AgentFailure {
  const error = asObject(value);
  const data = asObject(error?.['data']);
  const name = asString(error?.['name']) ?? 'APIError';
  const message = asString(data?.['message']) ?? '';
  return {
    text: name === 'APIError' ? message : `${name}: ${message}`,
    status: asAmount(data?.['statusCode']),
    at: null,
  };
}

function parsePart(type: string, part: JsonObject): readonly AgentEvent[] {
  switch (type) {
    case 'text': {
      const text = asString(part['text']);
      return text === null || part['synthetic'] === true ? [ACTIVITY] : [{ kind: 'text', text }];
    }
    case 'tool_use':
      return parseTool(asString(part['tool']) ?? 'unknown', asObject(part['state']) ?? {});
    case 'step_finish':
      return [
        { kind: 'turns', more: 1 },
        // OpenCode reports 0 for a model whose price it does not know.
        { kind: 'used', tokens: tokensOf(part['tokens']), costUsd: asAmount(part['cost']) || null },
        ...(part['reason'] === 'stop' ? [{ kind: 'end' as const, failure: null }] : []),
      ];
    default:
      return [ACTIVITY];
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };
const DENIED = /^The user (?:rejected permission|has specified a rule)/;

/** Parses a tool, which is reported once, when it is done. */
function parseTool(tool: string, state: JsonObject): readonly AgentEvent[] {
  const command = asString(asObject(state['input'])?.['command']);
  const failed = state['status'] === 'error';
  return [
    { kind: 'tool-use', id: null, tool, command },
    ...(failed && DENIED.test(asString(state['error']) ?? '')
      ? [{ kind: 'denied' as const, id: null, tool, command }]
      : []),
    { kind: 'tool-result', failed },
  ];
}

/** Returns the tokens; those of the cache are not part of the input. */
function tokensOf(value: unknown): number {
  const tokens = asObject(value);
  const cache = asObject(tokens?.['cache']);
  const parts = [tokens?.['input'], tokens?.['output'], tokens?.['reasoning'], cache?.['read'], cache?.['write']];
  return asAmount(tokens?.['total']) ?? parts.reduce<number>((sum, part) => sum + (asAmount(part) ?? 0), 0);
}

/** Parses a line on stderr: with `--print-logs`, each failed attempt is one; nothing else says why it waits. */
function parseText(line: string): ReturnType<Dialect['parseText']> {
  if (!/^timestamp=\S+ level=ERROR .{0,200}?\bmessage="stream error" /.test(line)) return null;
  const cause = /\berror\.error="((?:[^"\\]|\\.){0,2000})"/.exec(line)?.[1] ?? 'stream error';
  return { kind: 'retry', cause: cause.replace(/\\(.)/g, '$1'), status: null };
}
