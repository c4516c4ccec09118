import type { RunningMain } from '../runner.ts';

/** An event in the repository of the testbed, and the workflow file there. */
export interface Performance {
  /** The text of the workflow file. */
  readonly workflow: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  readonly secrets: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  /**
   * Inputs and environment of the action's step, in addition to those of the workflow, that replace the agent by a
   * stand-in.
   */
  readonly standIn: {
    readonly inputs: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  };
  /** `run` (the default) runs the workflow's scripts; `leave` reports them as not played. */
  readonly commands?: 'run' | 'leave';
  readonly onOutput?: (text: string) => void;
  readonly onStart?: (main: RunningMain) => void;
}
