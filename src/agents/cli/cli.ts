import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import type { Transcript } from '../../core/analysis/analysis.ts';
import type { KindOfDenial } from '../../core/lane/denials.ts';
import type { McpServer } from '../../core/mcp/values.ts';
import type { CollectedOutput } from '../../processes/collect-output.ts';
import type { Clock } from '../reading/capped-bytes.ts';
import type { AccessOf } from './access.ts';
import type { Hiding } from './signed-texts.ts';
import type { CallEvent, Retrying } from './stall-watch.ts';

/** A coding agent's CLI, as far as running it differs from running another. */
export interface AgentCli {
  /** As people know it: `Claude Code`. */
  readonly title: string;
  /** null: it is a program of the user's, which is never installed, and is run for calls alone. */
  readonly source: CliPackage | null;
  /** Whether `prepare` and what it returns read or write the CLI's own folder. */
  readonly looksIntoFolder: boolean;
  readonly accessOf: AccessOf;
  /** What `--version` prints: the version, and the program's name where it is not the title. Anything else is printed by another program. */
  readonly printedVersion: RegExp;
  /** Whether it prints that it tries its provider again. What does it without a word is seen between it and its provider. */
  readonly tellsRetries: boolean;
  readonly kindOfDenial: KindOfDenial;
  /** See Agent. */
  readonly coAuthor: string | null;
  readonly sessions: CliSessions;
  /** How its own rules differ from the user's. */
  readonly rulesGap: (allowedTools: readonly string[]) => RulesGap;
  /** Which servers it does not get, since it cannot take them as they are meant, as sentences. */
  readonly unmappedServers: (servers: readonly McpServer[]) => readonly string[];
  readonly prepare: (call: CliCall, place: CliPlace) => Promise<PreparedCall>;
  /** What a call that only retried amounts to, as if the CLI had given up by itself; `text` says so. */
  readonly judgeStall: (
    stall: Retrying & { readonly text: string; readonly now: number },
  ) => Pick<Transcript, 'agentError' | 'usageLimit'>;
}

/** Below the config folder, and made with it: for temporary files where those of the machine cannot be used. */
export const TEMPORARY_FOLDER = 'tmp';

/** Where npm has the CLI. */
export interface CliPackage {
  readonly name: string;
  /** Paths below `node_modules` of what can be started, the best first. */
  readonly programs: (platform: { readonly os: string; readonly cpu: string }) => readonly string[];
}

/** How conversations leave the CLI's folder and come back. */
export interface CliSessions {
  readonly export: (place: SessionPlace, session: { readonly id: string } & Hiding) => Promise<ExportedSession>;
  /** Puts a transcript where the CLI finds it; false when it cannot be one. */
  readonly import: (
    place: SessionPlace,
    session: { readonly id: string; readonly content: Uint8Array },
  ) => Promise<boolean>;
}

/** `isCut`: the oldest prompts and what came of them were left out. `why` completes "The transcript is not kept: …". */
export type ExportedSession =
  | { readonly kind: 'exported'; readonly isCut: boolean; readonly content: Uint8Array }
  | { readonly kind: 'left-behind'; readonly why: string };

/** `configFolder`: the CLI's own, for settings and conversations; `workFolder`: where it is started. */
export interface SessionPlace {
  readonly configFolder: string;
  readonly workFolder: string;
}

/** Where one call runs. */
export interface CliPlace extends SessionPlace {
  /** Where it may edit files as well, since `workFolder` is a part of it; null: nowhere. */
  readonly alsoFolder: string | null;
  /** The tree that it works in, at its own path on this machine. */
  readonly tree: string;
  /** Files for the CLI which it cannot change: ours, readable for it. */
  readonly inbox: string;
  /** Whether it runs in a room, which bounds what its commands can do. */
  readonly isolated: boolean;
  /** Runs the CLI beside the call, where the call runs and with the same environment. */
  readonly run: (args: readonly string[], environment: Readonly<Record<string, string>>) => Promise<CollectedOutput>;
}

/** What is asked of one call. */
export interface CliCall {
  /** null = the CLI's choice. */
  readonly model: string | null;
  readonly allowedTools: readonly string[];
  /** Of its tools. */
  readonly servers: readonly McpServer[];
  /** The user's own; they come last and so win over ours. */
  readonly extraArgs: readonly string[];
  readonly resume: string | null;
  /** null = no limit. */
  readonly budgetUsd: number | null;
  /** What it gets beside its own: the allow-list of config/, and the way to its model. */
  readonly environment: Readonly<Record<string, string>>;
}

/** One call, ready to be started; the prompt goes to its stdin. */
export interface PreparedCall {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Path below the inbox → text. */
  readonly files: Readonly<Record<string, string>>;
  readonly openReader: (listener: CallListener) => CallReader;
  /** What is only known when the process has ended, put into the transcript. */
  readonly complete: (transcript: Transcript) => Promise<Transcript>;
}

/** Hears what a call prints as it comes. `now`: from when reset times are understood. */
export interface CallListener {
  readonly now: Clock;
  readonly hear: (event: CallEvent) => void;
}

/** Turns what one process prints into a transcript; never throws for what that is. */
export interface CallReader {
  push(chunk: Uint8Array): void;
  /** What comes on stderr. */
  pushError(chunk: Uint8Array): void;
  /** `succeeded`: exit code 0. */
  end(exit: { readonly succeeded: boolean }): Transcript;
}
