import type { AgentError, Denial } from '../../core/analysis/analysis.ts';
import { capped } from '../../core/text/phrase.ts';

const PREFIX = 'data:';

/** Parsed JSON of unknown shape. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What an agent's CLI prints, in the words that all of them share. */
export type AgentEvent =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'turns'; readonly more: number }
  /** Something whole that the agent said; a `piece` goes on from the piece before it. */
  | { readonly kind: 'text' | 'piece'; readonly text: string }
  | { readonly kind: 'tool-use'; readonly id: string | null; readonly tool: string; readonly command: string | null }
  | { readonly kind: 'tool-result'; readonly failed: boolean }
  /** `tool` is null where only the id of its call is given. */
  | {
      readonly kind: 'denied';
      readonly id: string | null;
      readonly tool: string | null;
      readonly command: string | null;
    }
  /** The CLI tries again on its own. Until another kind of event comes, it only waits for its provider. */
  | { readonly kind: 'retry'; readonly cause: string; readonly status: number | null }
  /** What was used since the last such event. */
  | { readonly kind: 'used'; readonly tokens: number; readonly costUsd: number | null }
  /** What the session has used in all, in earlier processes too. */
  | { readonly kind: 'session-used'; readonly tokens: number }
  /** MCP servers that it cannot use. */
  | { readonly kind: 'servers'; readonly failed: readonly string[] }
  /** The agent works, and nothing else is to be known. */
  | { readonly kind: 'activity' }
  /** The CLI's own account of how the call ended; null: well. */
  | { readonly kind: 'end'; readonly failure: Failure | null };

/** An error in the words of the CLI or its provider. */
export interface Failure {
  readonly text: string;
  /** HTTP status of the provider's answer; null: unknown. */
  readonly status: number | null;
  /** When it was said (ms); null: unknown. */
  readonly at: number | null;
}

/** How one CLI prints what happens. */
export interface Dialect {
  /** Follows one output. The function gives the events of a line; null: the line is none of the CLI's. */
  createParser(): (line: JsonObject) => readonly AgentEvent[] | null;
  /** How a long line begins of which only is used that it came. */
  readonly unread: RegExp;
  /** The retry that a line without JSON reports; null: another line. */
  parseText(line: string): Extract<AgentEvent, { kind: 'retry' }> | null;
  /** Lines that the CLI prints before an error of its own, without colours. */
  readonly noise: RegExp | null;
  /** Texts of its own in the error that ends a call; the first that fits counts. */
  readonly reported: readonly ErrorForm[];
  /** Errors that it prints as a line of text when it has not even started. */
  readonly printed: readonly ErrorForm[];
  /** The tool that asks a person; null: none does. */
  readonly questionTool: string | null;
}

/** A kind of error, and the texts that say it. */
export type ErrorForm = readonly [kind: AgentError['kind'], form: RegExp];

export const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Ids go back to the CLI as an argument, so only what can be one is taken. */
export function sessionEvents(value: unknown, form: RegExp): readonly AgentEvent[] {
  return typeof value === 'string' && form.test(value) ? [{ kind: 'session', id: value }] : [];
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asString(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A finite number that is not negative; null otherwise. */
export function asAmount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Bounds of what one output may bring into the journal. */
const MAX_DENIALS = 200;

const MAX_COMMAND_CHARS = 2_000;

/** The refused calls in the CLI's field `permission_denials`, in order. */
export function parseDenials(value: unknown): readonly Denial[] {
  return asArray(value)
    .slice(0, MAX_DENIALS)
    .flatMap((item) => {
      const tool = asString(asObject(item)?.['tool_name']);
      return tool === null ? [] : [createDenial(tool, asString(asObject(asObject(item)?.['tool_input'])?.['command']))];
    });
}

/** `command` is null for a tool that takes none. */
export function createDenial(tool: string, command: string | null): Denial {
  return { tool: capped(tool, 200), command: command === null ? null : capped(command, MAX_COMMAND_CHARS) };
}

/** States of an MCP server in which an agent has none of its tools. */
const FAILED = /^(?:failed|error|needs[-_]auth|not[-_]connected|disconnected)$/i;

const MAX_SERVERS = 20;

/** `docs (failed)`: the servers of a list that the agent cannot use, each `{ name, status }`. */
export function failedServers(value: unknown): readonly string[] {
  return asArray(value)
    .flatMap((item) => {
      const server = asObject(item);
      const [name, status] = [asString(server?.['name']), asString(server?.['status'])];
      return name !== null && status !== null && FAILED.test(status) ? [`${name.slice(0, 80)} (${status})`] : [];
    })
    .slice(0, MAX_SERVERS);
}

/** Takes the text of an event stream as it comes and gives the data of each event; a line of more than `maxChars` is left out. */
export function createEventData(maxChars: number, take: (data: string) => void): (text: string) => void {
  let line = '';
  let isTooLong = false;
  const add = (more: string): void => {
    isTooLong ||= line.length + more.length > maxChars;
    line = isTooLong ? '' : line + more;
  };
  return (text) => {
    const [first = '', ...rest] = text.split('\n');
    add(first);
    for (const next of rest) {
      if (!isTooLong && line.startsWith(PREFIX)) take(line.slice(PREFIX.length));
      [line, isTooLong] = ['', false];
      add(next);
    }
  };
}
