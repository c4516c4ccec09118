import type { RunningMain } from '../runner.ts';

/** An event that happens in the repository of a sandbox, and the workflow file that stands there. */
export interface Performance {
  /** Text of the workflow file. */
  readonly workflow: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  readonly secrets: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  /** Inputs and environment of the action's step beside those of the workflow: what puts a stand-in in the place of the agent. */
  readonly standIn: {
    readonly inputs: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  };
  /** Whether scripts of the workflow run, as they do unless `leave` says that they are not played. */
  readonly commands?: 'run' | 'leave';
  readonly onOutput?: (text: string) => void;
  readonly onStart?: (main: RunningMain) => void;
}
