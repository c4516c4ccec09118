import { type JsonObject, asObject, asArray, asString } from './json-value.ts';
import type { AgentError, Denial } from '../../core/analysis/analysis.ts';
import { capText } from '../../core/text/phrase.ts';

const PREFIX = 'data:';

/** An event of an agent's CLI, in terms that are common to all CLIs. */
export type AgentEvent =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'turns'; readonly more: number }
  /** A complete message of the agent; a `piece` continues the piece before it. */
  | { readonly kind: 'text' | 'piece'; readonly text: string }
  | { readonly kind: 'tool-use'; readonly id: string | null; readonly tool: string; readonly command: string | null }
  | { readonly kind: 'tool-result'; readonly failed: boolean }
  /** `tool` is null if only the id of its call is given. */
  | {
      readonly kind: 'denied';
      readonly id: string | null;
      readonly tool: string | null;
      readonly command: string | null;
    }
  /** The CLI retries by itself. Until another kind of event comes, it only waits for its provider. */
  | { readonly kind: 'retry'; readonly cause: string; readonly status: number | null }
  /** The usage since the last such event; null if it is unknown. */
  | { readonly kind: 'used'; readonly tokens: number | null; readonly costUsd: number | null }
  /** The total usage of the session, including earlier processes. */
  | { readonly kind: 'session-used'; readonly tokens: number }
  /** MCP servers that the agent cannot use. */
  | { readonly kind: 'servers'; readonly failed: readonly string[] }
  /** The agent works; no details are known. */
  | { readonly kind: 'activity' }
  /** The CLI's own report of how the call ended; null means success. */
  | { readonly kind: 'end'; readonly failure: AgentFailure | null };

/** An error in the words of the CLI or its provider. */
export interface AgentFailure {
  readonly text: string;
  /** HTTP status of the provider's answer; null if it is unknown. */
  readonly status: number | null;
  /** The instant of the error in ms; null if it is unknown. */
  readonly at: number | null;
}

/** The output format of one CLI. */
export interface Dialect {
  /**
   * Creates a parser for one output. It returns the events of a line, or null if the CLI did not print the line as an
   * event.
   */
  createParser(): (line: JsonObject) => readonly AgentEvent[] | null;
  /** The beginning of long lines that need not be parsed, since only their arrival matters. */
  readonly unread: RegExp;
  /** Returns the retry that a line without JSON reports, or null. */
  parseText(line: string): Extract<AgentEvent, { kind: 'retry' }> | null;
  /** Matches lines, without colours, that the CLI prints before an error of its own. */
  readonly noise: RegExp | null;
  /** The CLI's own texts in the error that ends a call; the first match decides. */
  readonly reported: readonly ErrorForm[];
  /** Errors that the CLI prints as a line of text before it has started. */
  readonly printed: readonly ErrorForm[];
  /** The tool that asks a person; null if the agent has no such tool. */
  readonly questionTool: string | null;
}

/** A kind of error, and the texts that express it. */
export type ErrorForm = readonly [kind: AgentError['kind'], form: RegExp];

export const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Returns the session event if the id is valid: ids go back to the CLI as an argument. */
export function buildSessionEvents(value: unknown, form: RegExp): readonly AgentEvent[] {
  return typeof value === 'string' && form.test(value) ? [{ kind: 'session', id: value }] : [];
}

/** Maximum number of denials that one output may add to the journal. */
const MAX_DENIALS = 200;

const MAX_COMMAND_CHARS = 2_000;

/** Parses the refused calls in the CLI's field `permission_denials`, in order. */
export function parseDenials(value: unknown): readonly Denial[] {
  return asArray(value)
    .slice(0, MAX_DENIALS)
    .flatMap((item) => {
      const tool = asString(asObject(item)?.['tool_name']);
      return tool === null ? [] : [createDenial(tool, asString(asObject(asObject(item)?.['tool_input'])?.['command']))];
    });
}

/** Creates a denial. `command` is null for a tool without one. */
export function createDenial(tool: string, command: string | null): Denial {
  return { tool: capText(tool, 200), command: command === null ? null : capText(command, MAX_COMMAND_CHARS) };
}

/** States of an MCP server in which an agent has none of its tools. */
const FAILED = /^(?:failed|error|needs[-_]auth|not[-_]connected|disconnected)$/i;

const MAX_SERVERS = 20;

/** Returns the servers of a list of `{ name, status }` that the agent cannot use: `docs (failed)`. */
export function listFailedServers(value: unknown): readonly string[] {
  return asArray(value)
    .flatMap((item) => {
      const server = asObject(item);
      const [name, status] = [asString(server?.['name']), asString(server?.['status'])];
      return name !== null && status !== null && FAILED.test(status) ? [`${name.slice(0, 80)} (${status})`] : [];
    })
    .slice(0, MAX_SERVERS);
}

/**
 * Returns a function that takes the text of an event stream as it comes and passes on the data of each event; a line of
 * more than `maxChars` is left out.
 */
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
