import { createPendingCalls } from '../../reading/capped-bytes.ts';
import { asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';
import type { AskedCall } from '../../rules/permission.ts';

/** A tool call as the newest messages describe it. */
export interface ToolCall extends AskedCall {
  readonly id: string;
  readonly status: string | null;
}

/** The tool calls of one session; the oldest ones are forgotten. */
export interface ToolCalls {
  /** Adds a message about a call to what is known of it; returns null if the message names no call. */
  take(message: JsonObject): ToolCall | null;
}

/** Names of fields in a tool's input that hold a path. */
const PATHS = /path$|^(?:file|file_?name|cwd|workdir|directory|working_?dir(?:ectory)?|source|destination)$/i;

/** Maximum number of fields of one tool's input that are put together from several messages. */
const MAX_FIELDS = 100;

const VARIABLES = ['env', 'environment', 'envs'];

/** Shells whose argument after the options is the command line. */
const SHELL = /^(?:\/\S*\/)?(?:ba|da|z|k)?sh$/;

/** Creates an empty list of calls. */
export function createToolCalls(): ToolCalls {
  const messages = createPendingCalls<JsonObject>();
  return {
    take: (message) => {
      const id = asString(message['toolCallId']);
      if (id === null) return null;
      const before = messages.of(id);
      const given = Object.entries(message).filter(([, value]) => value !== null && value !== undefined);
      // Some agents leave out of a request what they said of the call before, such as the folder of a command.
      const input = { ...asObject(before?.['rawInput']), ...asObject(message['rawInput']) };
      const rawInput = Object.keys(input).length > MAX_FIELDS ? message['rawInput'] : input;
      const known: JsonObject = { ...before, ...Object.fromEntries(given), rawInput };
      messages.add(id, known);
      return { id, status: asString(known['status']), ...askedCall(known) };
    },
  };
}

/** Returns what a tool call asks for. Its title is not read, because it may be the model's own words. */
export function askedCall(call: JsonObject): AskedCall {
  const input = asObject(call['rawInput']) ?? {};
  const meta = asObject(call['_meta']);
  const tool =
    asString(call['name']) ?? asString(meta?.['toolName']) ?? asString(asObject(meta?.['claudeCode'])?.['toolName']);
  const command = commandLine(input['command'] ?? input['cmd']);
  const url = asString(input['url']) ?? asString(input['uri']);
  return {
    kind: kindOf(call['kind'], { command, url, query: asString(input['query']) }),
    tool,
    command,
    paths: pathsIn(call, input),
    url,
    setsVariables: VARIABLES.some((name) => Object.keys(asObject(input[name]) ?? {}).length > 0),
  };
}

function kindOf(
  kind: unknown,
  { command, url, query }: Pick<AskedCall, 'command' | 'url'> & { readonly query: string | null },
): AskedCall['kind'] {
  // Some agents call a command by what it does, such as reading a file.
  if (kind === 'execute' || command !== null) return 'command';
  switch (kind) {
    case 'edit':
    case 'delete':
    case 'move':
      return 'edit';
    case 'read':
    case 'search':
    case 'think':
      return kind;
    case 'fetch':
      return url === null && query !== null ? 'web-search' : 'fetch';
    default:
      return 'other';
  }
}

/** Returns the line that a shell would run; a list of words is one only if no word has a meaning for a shell. */
function commandLine(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const words = asArray(value);
  if (words.length === 0 || !words.every((word) => typeof word === 'string')) return null;
  const [shell, option, script] = words;
  if (words.length === 3 && SHELL.test(shell ?? '') && /^-l?c$/.test(option ?? '')) return script ?? null;
  return words.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(' ');
}

function pathsIn(call: JsonObject, input: JsonObject): readonly string[] {
  const located = [...asArray(call['locations']), ...asArray(call['content'])].map((one) => asObject(one)?.['path']);
  const named = Object.entries(input).flatMap(([name, value]) => (PATHS.test(name) ? [value] : []));
  const listed = asArray(input['paths']);
  return [...new Set([...located, ...named, ...listed].filter((path) => typeof path === 'string'))];
}
