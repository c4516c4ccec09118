import type { AgentError } from '../../core/analysis/analysis.ts';
import type { JsonObject } from './json.ts';

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
