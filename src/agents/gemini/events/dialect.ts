import { type AgentEvent, type Dialect, type AgentFailure, sessionEvents, UUID } from '../../reading/agent-event.ts';
import { asAmount, asObject, asString, type JsonObject } from '../../reading/json-value.ts';

/**
 * The dialect of `gemini -o stream-json`, 0.61. Tokens are those of the process; retries are on stderr, in many forms.
 */
export const geminiDialect: Dialect = {
  createParser,
  unread: /^\{"type":"tool_result","timestamp":"[^"]{1,40}","tool_id":"[^"]{1,200}","status":"success",/,
  parseText: () => null,
  noise: /^(?:YOLO mode is enabled\b|Approval mode overridden\b|Warning: )/,
  reported: [
    ['max-turns', /^FatalTurnLimitedError\b/],
    ['auth', /\bAPI_KEY_INVALID\b|\bAPI key not valid\b/],
    [
      'rate-limit',
      /^\[API Error: Resource has been exhausted\b|\]\nPlease wait and try again later\. To increase your limits\b/,
    ],
    ['server', /^\[API Error: (?:exception TypeError: fetch failed\b|terminated\b)/],
  ],
  printed: [
    ['unknown-session', /^Error resuming session: (?:Invalid session identifier|No previous sessions found)\b/],
    ['auth', /^When using Gemini API, you must specify the GEMINI_API_KEY\b|^Invalid auth method selected\b/],
    ['other', /^Gemini CLI is not running in a trusted directory\b/],
  ],
  questionTool: 'ask_user',
};

function createParser(): (line: JsonObject) => readonly AgentEvent[] | null {
  /** The message of the last `error` event, which explains a failed result that names no error itself. */
  let lastError = '';
  return parse;

  function parse(line: JsonObject): readonly AgentEvent[] | null {
    switch (line['type']) {
      case 'init':
        return [...sessionEvents(line['session_id'], UUID), ACTIVITY];
      case 'message':
        return line['role'] === 'assistant' ? [{ kind: 'piece', text: asString(line['content']) ?? '' }] : [];
      case 'tool_use':
        return [
          {
            kind: 'tool-use',
            id: asString(line['tool_id']),
            tool: asString(line['tool_name']) ?? 'unknown',
            command: asString(asObject(line['parameters'])?.['command']),
          },
        ];
      case 'tool_result':
        return parseToolResult(line);
      case 'error':
        lastError = asString(line['message']) ?? lastError;
        return [];
      case 'result':
        return parseResult(line, lastError);
      default:
        return null;
    }
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };

function parseToolResult(line: JsonObject): readonly AgentEvent[] {
  const isDenied = asObject(line['error'])?.['type'] === 'policy_violation';
  return [
    ...(isDenied ? [{ kind: 'denied' as const, id: asString(line['tool_id']), tool: null, command: null }] : []),
    { kind: 'tool-result', failed: line['status'] === 'error' },
  ];
}

/** Parses a result. `total_tokens` includes the thoughts; cached tokens are part of the input. */
function parseResult(line: JsonObject, lastError: string): readonly AgentEvent[] | null {
  const { status } = line;
  if (status !== 'success' && status !== 'error') return null;
  const stats = asObject(line['stats']);
  const tokens = asAmount(stats?.['total_tokens']);
  return [
    ...(tokens === null ? [] : [{ kind: 'used' as const, tokens, costUsd: null }]),
    { kind: 'end', failure: status === 'success' ? null : parseFailure(line, lastError) },
  ];
}

function parseFailure(line: JsonObject, lastError: string): AgentFailure {
  const error = asObject(line['error']);
  const type = asString(error?.['type']) ?? 'unknown';
  const message = asString(error?.['message']) ?? lastError;
  const at = Date.parse(asString(line['timestamp']) ?? '');
  return {
    text: type === 'unknown' ? message : `${type}: ${message}`,
    status: statusInText(message),
    at: Number.isNaN(at) ? null : at,
  };
}

/** Returns the status in an error of the provider, which is printed unchanged, as JSON. */
function statusInText(text: string): number | null {
  const status = /"code":\s?(\d{3})\b/.exec(text)?.[1];
  return status === undefined ? null : Number(status);
}
