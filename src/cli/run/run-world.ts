import type { Terminal } from '../command.ts';

/** What a person asks of a run at home. */
export interface AskedRun {
  readonly folder: string;
  /** Inputs of the action that were given, by name. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The one task, by its id or by the name under which it is shown; null: all tasks. */
  readonly task: string | null;
  readonly dryRun: boolean;
  /** Whether the branch goes to the remote `origin` at the end. */
  readonly push: boolean;
  readonly json: boolean;
}

/** How a run ended, as it is printed with `--json`. */
export interface EndedRun {
  readonly outcome: string;
  readonly reason: string;
  readonly iterations: number;
  readonly tasksDone: number;
  readonly tasks: number;
  readonly branch: string | null;
  readonly head: string | null;
  /** null: the cost is not known. */
  readonly costUsd: number | null;
  readonly tokens: number;
  /** An ISO instant; null: nothing is waited for. */
  readonly resumeAt: string | null;
  /** Whether the branch was pushed; null: nobody asked for it. */
  readonly pushed: boolean | null;
}

/** `failed`: the outcome is one of `fail-on`, or the branch could not be pushed. */
export interface RunAnswer {
  readonly ended: EndedRun;
  readonly failed: boolean;
}

/** Runs the loop on this machine. Throws a UsageError for what can be seen to make no sense before anything begins. */
export type RunHere = (asked: AskedRun, terminal: Terminal) => Promise<RunAnswer>;
