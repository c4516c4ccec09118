import type { AgentName } from '../agent-names.ts';
import type { Policy } from '../policy.ts';
import type { CallAim } from '../prompt/hints.ts';
import { type ReviewHold, REVIEW_PROMPT } from './review.ts';

/** The fields that every step of a pipeline has. */
interface Common {
  /** Name, unique within the pipeline. */
  readonly name: string;
  /** Time limit of the step in ms; null for the timeout of an agent call. */
  readonly timeoutMs: number | null;
  readonly maxRetries: number;
  /** Delay in ms before the first retry; it doubles with each retry. */
  readonly retryDelayMs: number;
  /** True if a failure of the step neither ends the iteration nor keeps its tasks from being done. */
  readonly continueOnError: boolean;
  /** Thresholds of the step's circuit; null if the step is tried in every iteration. */
  readonly breaker: StepThresholds | null;
}

/** The thresholds of a step's circuit. */
export interface StepThresholds {
  /** Number of failures in a row that open the circuit. */
  readonly threshold: number;
  readonly resetAfterMs: number;
}

/** A file that marks a step as already run. The lane remembers only its name. */
interface Marker {
  readonly file: string;
  /** True if the base branch has the file. */
  readonly isOnBase: boolean;
}

export interface AgentStep extends Common {
  readonly kind: 'agent';
  /** The step's own agent; null for the agent of the iteration. */
  readonly agent: AgentName | null;
  /** Set if the step only reviews; `hold` says which of its findings keep the task from being done. */
  readonly review: { readonly hold: ReviewHold } | null;
  /** The step's own prompt from the base branch; null for the run's prompt. */
  readonly prompt: { readonly path: string; readonly text: string } | null;
  /** The step's own model; null for the run's model. */
  readonly model: string | null;
  /** The step's own tool rules; null for the run's rules. */
  readonly allowedTools: readonly string[] | null;
  /** `continue`: the step continues the lane's conversation; `fresh`: each call begins a new one. */
  readonly session: 'continue' | 'fresh';
  /** The marker of a step that runs once; null if the step runs in every iteration. */
  readonly marker: Marker | null;
}

export interface CommandStep extends Common {
  readonly kind: 'command';
  /** Command for bash, written by a person on the base branch. */
  readonly command: string;
}

export interface ReadmeStep extends Common {
  readonly kind: 'readme-check';
  readonly path: string;
  /** Globs of files whose change requires a look at the README. */
  readonly patterns: readonly string[];
}

interface PlainStep extends Common {
  readonly kind: 'git-commit' | 'noop';
}

export type Step = AgentStep | CommandStep | ReadmeStep | PlainStep;

/**
 * The steps of an iteration in order, without disabled steps. At least one of them calls the agent in every iteration.
 */
export interface Pipeline {
  /** Path of the file that the pipeline was read from. */
  readonly file: string;
  readonly steps: readonly Step[];
  /** Maximum number of iterations on a task; 0 if the file sets no limit. */
  readonly maxIterationsPerTask: number;
}

/** The files that may contain a pipeline; the first one with steps is used. */
export const PIPELINE_FILES = [
  '.ralph/config.json',
  '.ralph/configs/default.json',
  '.ralph/config.yaml',
  'config.yaml',
] as const;

/** Returns true if other tools use a file of this name as well, so that its content must show that it is a pipeline. */
export function isSharedFileName(file: string): boolean {
  return file === 'config.yaml';
}

/** Maximum number of agent calls of any valid pipeline: every step calls the agent, with all its retries. */
export const MAX_CALLS_PER_ITERATION = 220;

/** The kinds of steps, by their names in a file. */
export const stepKinds = ['agent', 'command', 'git-commit', 'readme-check', 'noop'] as const;

/**
 * Returns the aim of an agent step's calls: a review, the task, or the step's own prompt, which may run once before all
 * tasks.
 */
export function aimOfStep({ prompt, marker, review }: Pick<AgentStep, 'prompt' | 'marker' | 'review'>): CallAim {
  if (review !== null) return 'review';
  if (prompt === null) return 'task';
  return marker === null ? 'step' : 'once';
}

/**
 * Returns the agent steps that the base branch does not mark as done, with the facts that decide whether an iteration
 * would be useful.
 */
export function listAgentSteps({ steps }: Pick<Pipeline, 'steps'>): Policy['agentSteps'] {
  return steps.flatMap((step) =>
    step.kind !== 'agent' || step.marker?.isOnBase === true
      ? []
      : [
          {
            name: step.name,
            marker: step.marker?.file ?? null,
            resetAfterMs: step.breaker?.resetAfterMs ?? null,
            required: !step.continueOnError || (step.review?.hold ?? 'none') !== 'none',
            agent: step.agent,
          },
        ],
  );
}

/** Returns the required steps that call no agent and have a circuit of their own. */
export function listOtherSteps({ steps }: Pick<Pipeline, 'steps'>): Policy['otherSteps'] {
  return steps.flatMap(({ kind, name, breaker, continueOnError }) =>
    kind === 'agent' || breaker === null || continueOnError ? [] : [{ name, resetAfterMs: breaker.resetAfterMs }],
  );
}

/** Returns the prompt of an agent step: its own, else that of the run, or the built-in one for a review. */
export function promptOfStep(
  { prompt, review }: Pick<AgentStep, 'prompt' | 'review'>,
  run: { readonly path: string | null; readonly text: string },
): typeof run {
  return prompt ?? (review === null ? run : { path: null, text: REVIEW_PROMPT });
}

/** Returns the agents that steps name, each once, with the first step that names it. */
export function agentsOfSteps(
  pipeline: Pick<Pipeline, 'steps'> | null,
): readonly { readonly name: AgentName; readonly step: string }[] {
  const named = (pipeline?.steps ?? []).flatMap((step) =>
    step.kind === 'agent' && step.agent !== null ? [[step.agent, step.name] as const] : [],
  );
  return [...new Map(named.toReversed())].map(([name, step]) => ({ name, step }));
}

/** Returns the maximum number of agent calls of one iteration, including retries. */
export function countCallsPerIteration({ steps }: Pick<Pipeline, 'steps'>): number {
  return steps.reduce((sum, step) => sum + (step.kind === 'agent' ? 1 + step.maxRetries : 0), 0);
}
