import type { Policy } from '../policy.ts';
import type { Aim } from '../prompt/hints.ts';

/** What every step of a pipeline has. */
interface Common {
  /** Unique within its pipeline. */
  readonly name: string;
  /** null = as long as an agent's call. */
  readonly timeoutMs: number | null;
  readonly maxRetries: number;
  /** Before the first retry; it doubles with each. */
  readonly retryDelayMs: number;
  /** A failure neither ends the iteration's steps nor overrules a claim to be done. */
  readonly continueOnError: boolean;
  /** null: it is tried in every iteration. */
  readonly breaker: Breaker | null;
}

/** When a step's circuit opens, and for how long it is skipped then. */
export interface Breaker {
  /** Failures in a row. */
  readonly threshold: number;
  readonly resetAfterMs: number;
}

/** A file that stands for "this step ran": only its name counts, and whether the base branch has it. */
interface Marker {
  readonly file: string;
  readonly isOnBase: boolean;
}

export interface AgentStep extends Common {
  readonly kind: 'agent';
  /** Its own prompt, from the base branch; null = the run's prompt. */
  readonly prompt: { readonly path: string; readonly text: string } | null;
  /** null = as the run is set. */
  readonly model: string | null;
  /** null = as the run is set. */
  readonly allowedTools: readonly string[] | null;
  /** `continue`: it continues the lane's conversation; `fresh`: each call begins one of its own. */
  readonly session: 'continue' | 'fresh';
  /** null: it runs in every iteration. */
  readonly marker: Marker | null;
}

export interface CommandStep extends Common {
  readonly kind: 'command';
  /** For bash; a person's own words, from the base branch. */
  readonly command: string;
}

export interface ReadmeStep extends Common {
  readonly kind: 'readme-check';
  readonly path: string;
  /** Globs of files whose change asks for a look at the README. */
  readonly patterns: readonly string[];
}

interface PlainStep extends Common {
  readonly kind: 'git-commit' | 'noop';
}

/** One step of an iteration. */
export type Step = AgentStep | CommandStep | ReadmeStep | PlainStep;

/** What one iteration does, in this order; it has a call of the agent in every iteration. Steps that are switched off are not in it. */
export interface Pipeline {
  /** Where it was read. */
  readonly file: string;
  readonly steps: readonly Step[];
  /** 0 = its file sets none. */
  readonly maxIterationsPerTask: number;
}

/** Where a pipeline may stand; the first file that has steps counts. */
export const PIPELINE_FILES = [
  '.ralph/config.json',
  '.ralph/configs/default.json',
  '.ralph/config.yaml',
  'config.yaml',
] as const;

/** Whether the file may be that of any tool: then it is a pipeline only by what it says. */
export function isAnybodys(file: string): boolean {
  return file === 'config.yaml';
}

/** More than any pipeline makes that is in order: every step an agent's, with all its retries. */
export const MAX_CALLS_PER_ITERATION = 220;

/** Kinds of steps, by the names that they have in a file. */
export const stepKinds = ['agent', 'command', 'git-commit', 'readme-check', 'noop'] as const;

/** What the calls of an agent step are for: the task, or what its own prompt says, which may be to come before every task. */
export function aimOf({ prompt, marker }: Pick<AgentStep, 'prompt' | 'marker'>): Aim {
  if (prompt === null) return 'task';
  return marker === null ? 'step' : 'once';
}

/** What decides whether an iteration is worth its calls: the agent steps that the base branch does not mark as done. */
export function agentStepsOf({ steps }: Pick<Pipeline, 'steps'>): Policy['agentSteps'] {
  return steps.flatMap((step) =>
    step.kind !== 'agent' || step.marker?.isOnBase === true
      ? []
      : [
          {
            name: step.name,
            marker: step.marker?.file ?? null,
            resetAfterMs: step.breaker?.resetAfterMs ?? null,
            required: !step.continueOnError,
          },
        ],
  );
}

/** The required steps that call no agent and have a circuit of their own. */
export function otherStepsOf({ steps }: Pick<Pipeline, 'steps'>): Policy['otherSteps'] {
  return steps.flatMap(({ kind, name, breaker, continueOnError }) =>
    kind === 'agent' || breaker === null || continueOnError ? [] : [{ name, resetAfterMs: breaker.resetAfterMs }],
  );
}

/** The most agent calls that one iteration can make, retries included. */
export function callsPerIteration({ steps }: Pick<Pipeline, 'steps'>): number {
  return steps.reduce((sum, step) => sum + (step.kind === 'agent' ? 1 + step.maxRetries : 0), 0);
}
