import type { Analysis } from '../core/analysis/analysis.ts';
import type { Folder } from '../core/folder.ts';
import type { Spent } from '../core/spending/meter.ts';
import type { KindOfDenial } from '../core/lane/denials.ts';
import type { AgentEnd, Verification } from '../core/evidence.ts';

/** One agent call. `signal` aborts it: the whole process tree is ended before `call` settles. */
export interface AgentCall {
  readonly prompt: string;
  readonly resume: string | null;
  readonly timeoutMs: number;
  /** Which clock `timeoutMs` was cut from. */
  readonly timeoutOf: Extract<AgentEnd, { kind: 'timeout' }>['of'];
  /** What the run may still spend in US dollars; null = no limit. */
  readonly budgetUsd: number | null;
  /** Tokens that are left in this hour; null = no limit. */
  readonly tokensLeft: number | null;
  /** What in its final message says, by agreement, that everything is done. */
  readonly doneTexts: readonly string[];
  /** null = the one that the agent was set up with. */
  readonly model: string | null;
  /** null = those that the agent was set up with. */
  readonly allowedTools: readonly string[] | null;
  readonly signal: AbortSignal;
  /** Hears what the call has spent by now, where its requests are counted; a process that is killed in it leaves that on record. */
  readonly spending?: (spent: Spent) => void;
}

/** What came of a call. A call that was made always comes back with what it used; it throws only where it could not begin. */
export interface AgentRun {
  /** What failed behind the call, so that the run must end. The caller throws it once the call is booked. */
  readonly broken?: Error;
  readonly analysis: Analysis;
  readonly end: AgentEnd;
  readonly outputChars: number;
  /** Whether the final message ends in a status block that a code fence makes void. */
  readonly fencedBlock: boolean;
  readonly durationMs: number;
  /** MCP servers that it was given and could not use, each with how it stands: `docs (failed)`. */
  readonly failedServers: readonly string[];
}

/** What an agent's CLI calls itself; a version that it does not give is empty. */
export interface AgentName {
  readonly name: string;
  readonly version: string;
}

/** A coding agent's CLI. */
export interface Agent {
  /** Installs the CLI when it is absent and returns what it calls itself; throws UserError when it cannot. */
  prepare(): Promise<AgentName>;
  call(call: AgentCall): Promise<AgentRun>;
  readonly kindOfDenial: KindOfDenial;
  /** Name and address by which commits name it: `Name <address>`; null: they do not. */
  readonly coAuthor: string | null;
  /** The session's transcript, without secrets; null when there is none that can be kept. */
  exportSession(sessionId: string): Promise<Uint8Array | null>;
  /** Puts a transcript where the CLI finds it; false when it cannot be one. */
  importSession(sessionId: string, transcript: Uint8Array): Promise<boolean>;
  /** Ends every process that any call started and left behind. */
  sweep(): Promise<void>;
}

/** Runs the user's verify commands, one after another, until one fails. */
export interface Verifier {
  verify(call: VerifyCall): Promise<Verification>;
}

/** `folder`: where they run; null: in the work tree. */
export interface VerifyCall {
  readonly folder: string | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs commands of a pipeline, and tools that make lock files, in the work tree: where, and with what, the verify commands run. */
export interface Commands {
  /** Its whole process tree is ended before it settles. Throws a UserError where no command can be run at all. */
  run(call: CommandCall): Promise<CommandRun>;
}

/** `command`: for bash; `folder`: of the repository, where it runs; null: the working directory. */
export interface CommandCall {
  readonly command: string;
  readonly folder: Folder | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** How a command ended; `tail`: end of its output. */
export interface CommandRun {
  readonly end:
    | { readonly kind: 'exited'; readonly code: number }
    | { readonly kind: 'signalled'; readonly signal: string }
    | { readonly kind: 'timeout' | 'cancelled' };
  readonly tail: string;
}
