import type { Analysis } from '../core/analysis/analysis.ts';
import type { Folder } from '../core/folder.ts';
import type { Spent } from '../core/spending/meter.ts';
import type { KindOfDenial } from '../core/lane/denials.ts';
import type { AgentEnd, Verification } from '../core/evidence.ts';

/** One agent call. `signal` aborts it; the whole process tree is ended before `call` settles. */
export interface AgentCall {
  readonly prompt: string;
  /** The conversation that the call continues; null means that it begins one. */
  readonly resume: string | null;
  readonly timeoutMs: number;
  /** The limit that decides `timeoutMs`. */
  readonly timeoutOf: Extract<AgentEnd, { kind: 'timeout' }>['of'];
  /** Amount that the run may still spend, in US dollars; null means no limit. */
  readonly budgetUsd: number | null;
  /** Tokens that are left in this hour; null means no limit. */
  readonly tokensLeft: number | null;
  /** Texts that, by agreement, say in the final message that everything is done. */
  readonly doneTexts: readonly string[];
  /** Model of the call; null means the one with which the agent was set up. */
  readonly model: string | null;
  /** Allowed tools of the call; null means those with which the agent was set up. */
  readonly allowedTools: readonly string[] | null;
  readonly signal: AbortSignal;
  /** Receives the call's usage so far, if requests are counted, so that it is on record after a kill. */
  readonly spending?: (spent: Spent) => void;
}

/** The result of a call. A call that was made always returns its usage; it throws only if it could not begin. */
export interface AgentRun {
  /** An error behind the call that must end the run. The caller throws it once the call is booked. */
  readonly broken?: Error;
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  /** The agent's last message, unchanged: untrusted data. */
  readonly finalMessage: string;
  readonly outputChars: number;
  /** True if the final message ends in a status block that is ignored because it is in a code fence. */
  readonly fencedBlock: boolean;
  readonly durationMs: number;
  /** MCP servers that the agent was given and could not use, each with its state: `docs (failed)`. */
  readonly failedServers: readonly string[];
}

/** The name and version that an agent's CLI reports; the version is empty if it reports none. */
export interface AgentIdentity {
  readonly name: string;
  readonly version: string;
}

/** A coding agent's CLI. */
export interface Agent {
  /** Installs the CLI if it is absent and returns its name and version; throws UserError if that fails. */
  prepare(): Promise<AgentIdentity>;
  call(call: AgentCall): Promise<AgentRun>;
  readonly kindOfDenial: KindOfDenial;
  /** Name and address for the co-author line of commits, `Name <address>`, or null if commits do not name the agent. */
  readonly coAuthor: string | null;
  /** Returns the session's transcript without secrets, or null if no transcript can be kept. */
  exportSession(sessionId: string): Promise<Uint8Array | null>;
  /** Puts a transcript where the CLI finds it; returns false if the data cannot be a transcript. */
  importSession(sessionId: string, transcript: Uint8Array): Promise<boolean>;
  /** Ends every process that a call has left running. */
  sweep(): Promise<void>;
}

/** Runs the user's verify commands, one after another, until one fails. */
export interface Verifier {
  verify(call: VerifyCall): Promise<Verification>;
}

/** A verification. `folder` is the folder in which the commands run; null means the work tree. */
export interface VerifyCall {
  readonly folder: string | null;
  /** Index of the first command that runs; earlier ones are left out. */
  readonly from: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /**
   * Receives the end of the commands' output and the JUnit files that they wrote; `isWhole` is false if there was more.
   * Not called if the commands were cut off. Null if the caller needs no report.
   */
  readonly onReport: ((report: string, isWhole: boolean) => void) | null;
}

/** Runs commands of a pipeline, and tools that make lock files, in the work tree, with the environment of `verify`. */
export interface CommandRunner {
  /** Runs a command and ends its process tree before it settles. Throws a UserError if no command can run at all. */
  run(call: CommandCall): Promise<CommandRun>;
}

/** A command for bash. `folder` is the folder of the repository in which it runs; null means the working directory. */
export interface CommandCall {
  readonly command: string;
  readonly folder: Folder | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The end of a command; `tail` is the end of its output. */
export interface CommandRun {
  readonly end:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signalled'; readonly signal: string }
    | { readonly kind: 'timeout' | 'cancelled' };
  readonly tail: string;
}
