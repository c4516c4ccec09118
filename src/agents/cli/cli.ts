import type { Readable } from 'node:stream';
import type { AgentManifest } from '../../core/agents/manifest.ts';
import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import type { Transcript } from '../../core/analysis/analysis.ts';
import type { KindOfDenial } from '../../core/lane/denials.ts';
import type { McpServer } from '../../core/mcp/values.ts';
import type { Prices } from '../../core/spending/prices.ts';
import type { CollectedOutput } from '../../processes/collect-output.ts';
import type { tryKey } from '../claude/try-key.ts';
import type { InstantSource } from '../reading/capped-bytes.ts';
import type { AccessOf } from './access.ts';
import type { TranscriptRedaction } from './signed-texts.ts';
import type { CallEvent, RetryingCall } from './stall-watch.ts';

/** A coding agent's CLI, with everything that differs between CLIs. */
export interface AgentCli extends Pick<AgentManifest, 'title' | 'source' | 'coAuthor'> {
  /** True if `prepare`, or `complete` of its result, reads or writes the CLI's config folder. */
  readonly usesConfigFolder: boolean;
  readonly accessOf: AccessOf;
  /**
   * Matches the output of `--version`: the version, and the program's name unless it is the title. Any other output
   * comes from another program.
   */
  readonly printedVersion: RegExp;
  /** True if the CLI prints its retries. Silent retries show only in its requests to the provider. */
  readonly printsRetries: boolean;
  readonly kindOfDenial: KindOfDenial;
  readonly sessions: CliSessions;
  /** The free trial of an API key, if there is one. */
  readonly keyTrial?: KeyTrialOf;
  /** Returns the differences between the CLI's own rules and the user's rules. */
  readonly rulesGap: (allowedTools: readonly string[]) => RulesGap;
  /** Returns sentences about servers that are withheld from the CLI because it cannot run them as intended. */
  readonly unmappedServers: (servers: readonly McpServer[]) => readonly string[];
  readonly prepare: (call: CliCall, place: CliPlace) => Promise<PreparedCall>;
  /** Classifies a stalled call as if the CLI had given up by itself with the error `text`. */
  readonly judgeStall: (
    stall: RetryingCall & { readonly text: string; readonly now: number },
  ) => Pick<Transcript, 'agentError' | 'usageLimit'>;
}

/** A free request that tries a key, with the names of the variables for the key and the provider's address. */
interface KeyTrialOf {
  readonly variable: string;
  readonly address: string;
  readonly urlAt: (address: string) => string;
  readonly tryAt: typeof tryKey;
}

/** Folder below the config folder and created with it, for temporary files if the machine's own cannot be used. */
export const TEMPORARY_FOLDER = 'tmp';

/** Export and import of the CLI's sessions. */
export interface CliSessions {
  readonly export: (
    place: SessionPlace,
    session: { readonly id: string } & TranscriptRedaction,
  ) => Promise<ExportedSession>;
  /** Stores a transcript where the CLI finds it; returns false if it is not valid. */
  readonly import: (
    place: SessionPlace,
    session: { readonly id: string; readonly content: Uint8Array },
  ) => Promise<boolean>;
}

/**
 * An exported session. `isCut` means that the oldest prompts and their results were left out. `why` completes "The
 * transcript is not kept: …".
 */
export type ExportedSession =
  | { readonly kind: 'exported'; readonly isCut: boolean; readonly content: Uint8Array }
  | { readonly kind: 'left-behind'; readonly why: string };

/** `configFolder` is the CLI's own folder for settings and sessions; the CLI starts in `workFolder`. */
export interface SessionPlace {
  readonly configFolder: string;
  readonly workFolder: string;
}

/** The folders and the surroundings of one call. */
export interface CliPlace extends SessionPlace {
  /** Another folder in which the CLI may edit files, because `workFolder` is only a part of it; otherwise null. */
  readonly alsoFolder: string | null;
  /** The tree that the CLI works in, at its own path on this machine. */
  readonly tree: string;
  /** Folder of files for the CLI that it can read but not change. */
  readonly inbox: string;
  /** True if the CLI runs in the agent's sandbox, which limits its commands. */
  readonly isolated: boolean;
  /** The prices of models, for a CLI whose requests the broker does not count. */
  readonly prices: Prices;
  /** Runs the CLI outside the call, in the same folder and with the same environment. */
  readonly run: (args: readonly string[], environment: Readonly<Record<string, string>>) => Promise<CollectedOutput>;
}

/** The content of one call. */
export interface CliCall {
  /** The model; null leaves the choice to the CLI. */
  readonly model: string | null;
  readonly allowedTools: readonly string[];
  /** MCP servers whose tools the call may use. */
  readonly servers: readonly McpServer[];
  /** The user's own arguments, which come last and so override Ralph's arguments. */
  readonly extraArgs: readonly string[];
  readonly resume: string | null;
  /** Maximum cost in US dollars; null means no limit. */
  readonly budgetUsd: number | null;
  /** Additional environment: the allow-list of config/, and the access to its model. */
  readonly environment: Readonly<Record<string, string>>;
}

/** One call, ready to start; the prompt goes to its stdin. */
export interface PreparedCall {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Text of each file by its path below the inbox. */
  readonly files: Readonly<Record<string, string>>;
  readonly openReader: (listener: CallListener) => CallReader;
  /** Time in ms for the CLI to exit after its result, if it differs from the usual one. */
  readonly lingerMs?: number;
  /** Adds data to the transcript that is known only when the process has ended. */
  readonly complete: (transcript: Transcript) => Promise<Transcript>;
}

/**
 * Gets a call's output as it comes. `prompt` is the prompt for a CLI that gets it in a conversation. `now` is the
 * reference time for relative reset times.
 */
export interface CallListener {
  readonly prompt: string;
  readonly now: InstantSource;
  readonly hear: (event: CallEvent) => void;
}

/** Turns the output of one process into a transcript; never throws for its content. */
export interface CallReader {
  push(chunk: Uint8Array): void;
  /** Reads a piece of output on stderr. */
  pushError(chunk: Uint8Array): void;
  /** Ends the output. `succeeded` means exit code 0; `hasExited` is false if the process was ended from outside. */
  end(exit: { readonly succeeded: boolean; readonly hasExited: boolean }): Transcript | Promise<Transcript>;
  /** Messages to a CLI while it runs; null if it gets only the prompt. */
  readonly conversation: CallConversation | null;
}

/** Messages to a CLI while it runs. */
export interface CallConversation {
  /** Becomes the CLI's stdin. */
  readonly input: Readable;
  /** Asks the CLI to end its turn; settles when the turn has ended, or after the time allowed for that. */
  readonly cancel: () => Promise<unknown>;
}
