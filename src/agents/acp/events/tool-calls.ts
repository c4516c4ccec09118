import { createPendingCalls } from '../../reading/capped-bytes.ts';
import { asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';
import type { AskedCall } from '../../rules/permission.ts';

/** A tool call as the newest messages describe it. */
export interface ToolCall extends AskedCall {
  readonly id: string;
  readonly status: string | null;
  /** True if it was reported as in progress at any time. */
  readonly hasBegun: boolean;
}

/** The tool calls of one session; the oldest ones are forgotten. */
export interface ToolCalls {
  /** Adds a message about a call to the earlier ones; returns null if the message names no call. */
  take(message: JsonObject): ToolCall | null;
}

/** Names of fields in a tool's input that hold a path, or a list of them. */
const PATHS =
  /paths?$|^(?:files?|file_?names?|cwd|workdir|dir(?:ector(?:y|ies))?|folder|root|working_?dir(?:ectory)?|source|from|dest(?:ination)?|to)$/i;

/** Maximum depth of fields in a tool's input that are searched for paths, such as in a list of edits. */
const MAX_DEPTH = 4;

/** Names of fields in a tool's input that hold a command line. */
const COMMANDS = /^(?:command|cmd|script|argv|(?:shell|bash)_?command|command_?line)$/i;

/** Maximum number of fields of one tool's input that are put together from several messages. */
const MAX_FIELDS = 100;

const VARIABLES = ['env', 'environment', 'envs'];

/** Names of fields with the words after the command, and of fields that name the shell itself. */
const WORDS = /^(?:args|arguments|parameters)$/i;

const SHELLS = ['shell', 'interpreter', 'executable'];

/** The machine's shells, whose argument after the options is the command line. */
const SHELL = /^(?:(?:\/usr(?:\/local)?)?\/bin\/)?(?:ba|da|z|k)?sh$/;

/** Creates an empty list of calls. For `commandOf`, see AcpCall. */
export function createToolCalls(commandOf: (call: JsonObject) => string | null): ToolCalls {
  const pending = createPendingCalls<{ readonly known: JsonObject; readonly hasBegun: boolean }>();
  return {
    take: (message) => {
      const id = asString(message['toolCallId']);
      if (id === null) return null;
      const { known: before, hasBegun: hadBegun = false } = pending.of(id) ?? {};
      const given = Object.entries(message).filter(([, value]) => value !== null && value !== undefined);
      // Merge the messages about a call, because the requests of some agents omit parts such as the folder of a
      // command.
      const input = { ...asObject(before?.['rawInput']), ...asObject(message['rawInput']) };
      const rawInput = Object.keys(input).length > MAX_FIELDS ? message['rawInput'] : input;
      const known: JsonObject = { ...before, ...Object.fromEntries(given), rawInput };
      const status = asString(known['status']);
      const hasBegun = hadBegun || status === 'in_progress';
      pending.add(id, { known, hasBegun });
      const command = known['kind'] === 'execute' && Object.keys(input).length === 0 ? commandOf(known) : null;
      return {
        id,
        status,
        hasBegun,
        ...parseAskedCall(command === null ? known : { ...known, rawInput: { command } }),
      };
    },
  };
}

/** Parses the request of a tool call. The title is ignored, because the model may have written it. */
export function parseAskedCall(call: JsonObject): AskedCall {
  const input = asObject(call['rawInput']) ?? {};
  const meta = asObject(call['_meta']);
  const tool =
    asString(call['name']) ?? asString(meta?.['toolName']) ?? asString(asObject(meta?.['claudeCode'])?.['toolName']);
  const [line, ...others] = Object.keys(input).filter((name) => COMMANDS.test(name));
  const words = Object.keys(input).flatMap((name) => (WORDS.test(name) ? [input[name]] : []));
  const isPlain = SHELLS.every((name) => typeof input[name] !== 'string' || SHELL.test(input[name]));
  const isWhole = others.length === 0 && isPlain && words.every(Array.isArray);
  const command =
    line === undefined || !isWhole
      ? null
      : commandLine(words.length === 0 ? input[line] : [input[line], ...words].flat());
  const url = asString(input['url']) ?? asString(input['uri']);
  const paths = pathsIn(call, input);
  return {
    // Do not trust the kind: some agents give a command the kind of its purpose, such as reading a file.
    kind: line === undefined ? kindOf(call['kind'], { url, paths, input }) : 'command',
    tool,
    command,
    paths,
    url,
    setsVariables: VARIABLES.some((name) => Object.keys(input[name] ?? {}).length > 0),
  };
}

function kindOf(
  kind: unknown,
  { url, paths, input }: Pick<AskedCall, 'url' | 'paths'> & { readonly input: JsonObject },
): AskedCall['kind'] {
  const isQuery =
    url === null && paths.length === 0 && typeof input['query'] === 'string' && input['pattern'] === undefined;
  switch (kind) {
    case 'execute':
      return 'command';
    case 'edit':
    case 'delete':
    case 'move':
      return 'edit';
    case 'read':
    case 'search':
    case 'think':
      if (isQuery && kind === 'search') return 'web-search';
      return /^https?:/i.test(url ?? '') ? 'fetch' : kind;
    case 'fetch':
      return isQuery ? 'web-search' : 'fetch';
    default:
      return 'other';
  }
}

/** Returns the line that a shell would run; a list of words becomes a line only if no word is special to a shell. */
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
  return [...new Set([...located, ...pathsBelow(input, MAX_DEPTH)].filter((path) => typeof path === 'string'))];
}

/** Returns the values of all fields that may hold a path. */
function pathsBelow(input: JsonObject, depth: number): readonly unknown[] {
  if (depth === 0) return [];
  return Object.entries(input).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? asArray(value) : [value];
    const below = values.flatMap((inner) => pathsBelow(asObject(inner) ?? {}, depth - 1));
    return PATHS.test(name) ? [...values, ...below] : below;
  });
}
