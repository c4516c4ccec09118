import type { z } from 'zod';
import { findNearest } from '../text/nearest.ts';
import { toOneLine } from '../text/phrase.ts';
import {
  type FileStep,
  type PipelineFile,
  pipelineFileSchema,
  stepSchema,
  untypedStepSchema,
  UNUSED_KEYS,
} from './file-schema.ts';
import { type StepThresholds, isSharedFileName, type Step } from './pipeline.ts';
import {
  parseDuration,
  type TextPosition,
  type PipelineProblem,
  findUnsetVariables,
  type StepVariables,
} from './reading/command-variables.ts';
import { expandStepTexts } from './reading/expand-steps.ts';
import { areSteps, hasSteps, looksLikeSteps, parseFileData } from './reading/file-data.ts';
import { type FileProblem, describeSchemaIssues } from './reading/file-problems.ts';
import { MAX_STEP_NAME_CHARS, MAX_STEPS } from './step-record.ts';

/** Maximum length of a pipeline file; a person would not write a longer one by hand. */
const MAX_CHARS = 256 * 1024;

/** A file that a pipeline names, with the position of its name. */
interface NamedFile {
  readonly path: string;
  readonly at: TextPosition;
}

/** A step whose files have not been read yet. */
export interface PlannedStep {
  readonly step: Step;
  /** The file with the step's own prompt; null if the step uses the run's prompt. */
  readonly prompt: NamedFile | null;
  readonly marker: NamedFile | null;
}

/** The steps of a file. */
export interface PlannedPipeline {
  readonly kind: 'planned';
  readonly steps: readonly PlannedStep[];
  readonly maxIterationsPerTask: number;
  /** Names of variables that have no default and that the agent's environment lacks. */
  readonly missing: readonly string[];
  /** Missing variables by command; commands without any are left out. */
  readonly missingInCommands: readonly { readonly step: string; readonly names: readonly string[] }[];
  /** Keys that are accepted without effect. */
  readonly unused: readonly string[];
}

export type ParsedPipeline =
  | PlannedPipeline
  /** `steps` lacks the invalid parts, so that the files of the valid parts can still be checked. */
  | { readonly kind: 'wrong'; readonly problems: readonly PipelineProblem[]; readonly steps: readonly PlannedStep[] }
  /** The file has no steps: it belongs to another tool or serves another purpose. */
  | { readonly kind: 'no-pipeline' };

interface ParseContext {
  readonly variables: StepVariables;
  /** Returns what is wrong with a tool rule, as the end of a sentence; null if the rule is valid. */
  readonly ruleProblem: (rule: string) => string | null;
}

/** Parses one of the pipeline files; accepts any text. */
export function parsePipeline(file: string, text: string, reading: ParseContext): ParsedPipeline {
  const unreadable = (problems: readonly PipelineProblem[]): ParsedPipeline =>
    isSharedFileName(file) && !looksLikeSteps(text) ? { kind: 'no-pipeline' } : { kind: 'wrong', problems, steps: [] };
  if (text.length > MAX_CHARS) return unreadable([{ at: null, message: `is longer than ${MAX_CHARS / 1024} KiB` }]);
  const located = parseFileData(file, text);
  if (located.kind === 'malformed')
    return unreadable(located.problems.map(({ message, ...position }) => ({ at: position, message })));
  const { at } = located;
  if (!hasSteps(file, located.data)) {
    if (!isSharedFileName(file) && areSteps(located.data))
      return unreadable([{ at: at([], 'value'), message: 'is a list: put it into an object, `{ "steps": [ … ] }`' }]);
    const meant = isSharedFileName(file) ? null : meantAsSteps(located.data);
    if (meant === null) return { kind: 'no-pipeline' };
    const message = `\`${toOneLine(meant, 60)}\` is not known here: did you mean \`steps\`?`;
    return unreadable([{ at: at([meant], 'key'), message }]);
  }
  const missing = new Set<string>();
  const data = expandStepTexts(located.data, { variables: reading.variables, missing });
  const parsed = pipelineFileSchema.safeParse(data);
  const repeated = located.repeated.map(({ name, ...position }) => ({
    at: position,
    message: `\`${toOneLine(name, 60)}\` occurs twice: remove one`,
  }));
  const readable = readableSteps(data);
  const wrongs = [
    ...(parsed.success ? [] : describeSchemaIssues([...parsed.error.issues, ...issuesOfUntyped(readable)], data)),
    ...brokenRules(readable, reading),
  ];
  const problems = [...repeated, ...wrongs.map(({ path, of, message }) => ({ at: at(path, of), message }))];
  const steps = readable
    .slice(0, MAX_STEPS)
    .flatMap(({ step }, index) =>
      step !== null && isEnabled(step) ? [planStep(step, (key) => at(['steps', index, 'config', key], 'value'))] : [],
    );
  if (problems.length > 0 || !parsed.success) return { kind: 'wrong', problems, steps };
  return {
    kind: 'planned',
    steps,
    maxIterationsPerTask: parsed.data.max_loops_per_task ?? 0,
    missing: [...missing],
    missingInCommands: steps.flatMap(({ step }) => {
      const names = step.kind === 'command' ? findUnsetVariables(step.command, reading.variables) : [];
      return names.length === 0 ? [] : [{ step: step.name, names }];
    }),
    unused: unusedIn(parsed.data),
  };
}

/** Returns the keys that have no effect, whether in general or on steps of their type. */
function unusedIn({ steps }: PipelineFile): readonly string[] {
  const ofOthers = steps.flatMap(({ config }) => Object.keys(config ?? {})).filter((key) => UNUSED_KEYS.includes(key));
  const ofRetries = steps.flatMap((step) =>
    step.type === 'agent' || step.type === 'command'
      ? []
      : RUNNING_KEYS.filter((key) => step[key] !== undefined).map((key) => `${key} of ${step.name}`),
  );
  return [...new Set([...ofOthers, ...ofRetries])];
}

/** Keys of steps that start a program. */
const RUNNING_KEYS = ['timeout', 'max_retries', 'retry_delay'] as const;

/** Returns the key of a list that was probably meant to be `steps`; null if none. */
function meantAsSteps(data: unknown): string | null {
  if (typeof data !== 'object' || data === null) return null;
  const lists = Object.entries(data).filter(([, value]) => Array.isArray(value));
  return lists.map(([key]) => key).find((key) => findNearest(key, ['steps']) !== null) ?? null;
}

/** A step, reduced to its readable parts. */
interface ReadableStep {
  /** The step as it is written in the file. */
  readonly given: unknown;
  /** The step without the parts that the schema refuses; null if too little remains. */
  readonly step: FileStep | null;
}

/** Parses each step on its own, so that a problem in one step does not hide problems in others. */
function readableSteps(data: unknown): readonly ReadableStep[] {
  const given = typeof data === 'object' && data !== null && 'steps' in data ? data.steps : null;
  return (Array.isArray(given) ? given : []).map((step: unknown) => ({ given: step, step: readableStep(step) }));
}

function readableStep(given: unknown): FileStep | null {
  const whole = stepSchema.safeParse(given);
  if (whole.success) return whole.data;
  const refused = whole.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path],
  );
  return stepSchema.safeParse(refused.reduce(withoutValueAt, given)).data ?? null;
}

/** Returns the data without the value at a path; a path into a list removes the whole list. */
function withoutValueAt(data: unknown, [key, ...inner]: readonly PropertyKey[]): unknown {
  if (key === undefined || typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]: [string, unknown]) => {
      if (name !== key) return [[name, value]];
      return inner.length === 0 ? [] : [[name, withoutValueAt(value, inner)]];
    }),
  );
}

/** Returns the issues of steps with an unknown type; for them, the file's schema reports only the type. */
function issuesOfUntyped(steps: readonly ReadableStep[]): readonly z.core.$ZodIssue[] {
  return steps.flatMap(({ given }, index) => {
    const issues = stepSchema.safeParse(given).error?.issues ?? [];
    if (!issues.some(({ path }) => path.length === 1 && path[0] === 'type')) return [];
    const others = untypedStepSchema.safeParse(given).error?.issues ?? [];
    return others.map((issue) => ({ ...issue, path: ['steps', index, ...issue.path] }));
  });
}

/** Checks rules that no schema covers: unique names, markers, and at least one call of an agent. */
function brokenRules(read: readonly ReadableStep[], { ruleProblem }: ParseContext): readonly FileProblem[] {
  const steps = read.map(({ step }) => step);
  const names = read.map(({ given }) =>
    typeof given === 'object' && given !== null && 'name' in given && typeof given.name === 'string'
      ? given.name
      : null,
  );
  const wrong: FileProblem[] = [];
  const note = (path: readonly PropertyKey[], message: string): void => {
    wrong.push({ path: ['steps', ...path], of: 'value', message });
  };
  const agents = [...steps.entries()].flatMap(([index, step]) =>
    step?.type === 'agent' && isEnabled(step) ? [{ index, config: step.config ?? {} }] : [],
  );
  const markers = new Map<string, number>();
  for (const { index, config } of agents) {
    const marker = config.marker_file;
    if (marker !== undefined) {
      const first = markers.get(plainPath(marker));
      if (first === undefined) markers.set(plainPath(marker), index);
      else
        note(
          [index, 'config', 'marker_file'],
          `the step "${steps[first]?.name ?? ''}" has the same \`marker_file\`, so this step would never run`,
        );
    }
    if (config.hold !== undefined && config.role === undefined)
      note([index, 'config', 'hold'], 'only a step with `role: review` has findings that hold');
    if (marker !== undefined && config.role !== undefined)
      note([index, 'config', 'marker_file'], 'a review runs in every iteration, so it has no `marker_file`');
    for (const rule of toolsOf(config) ?? []) {
      const problem = ruleProblem(rule);
      if (problem !== null)
        note(
          [index, 'config', config.allowed_tools === undefined ? 'allowedTools' : 'allowed_tools'],
          `the list of tool rules ${problem}`,
        );
    }
  }
  const taken = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (name !== null && taken.has(name))
      note([index, 'name'], `another step is also called "${toOneLine(name, MAX_STEP_NAME_CHARS)}"`);
    if (name !== null) taken.add(name);
  }
  // A marker is a name that the lane remembers, never a file that a step writes.
  for (const { index, config } of agents)
    for (const key of ['prompt_file', 'prd_file'] as const) {
      const owner = config[key] === undefined ? undefined : markers.get(plainPath(config[key]));
      if (owner !== undefined)
        note(
          [index, 'config', key],
          `\`${key}\` is the \`marker_file\` of ${owner === index ? 'the same step' : `the step "${steps[owner]?.name ?? ''}"`}: markers are not written as files, so ${owner === index ? 'it waits for itself' : 'it would wait forever'}`,
        );
    }
  // An unreadable step may be an agent step, so the rules about all agent steps cannot be checked.
  if (steps.length === 0 || steps.includes(null)) return wrong;
  if (agents.length === 0)
    wrong.push({ path: ['steps'], of: 'key', message: '`steps` has no `agent` step that is enabled' });
  else if (agents.every(({ config }) => config.role !== undefined))
    wrong.push({ path: ['steps'], of: 'key', message: 'every `agent` step is a review, so nobody would do the task' });
  else if (agents.every(({ config }) => config.marker_file !== undefined))
    wrong.push({
      path: ['steps'],
      of: 'key',
      message: 'every `agent` step has a `marker_file`, so no agent would be called after the first iteration',
    });
  return wrong;
}

function isEnabled(step: FileStep): boolean {
  return step.enabled !== false && !(step.type === 'git-commit' && step.config?.enabled === false);
}

function plainPath(path: string): string {
  return path
    .split('/')
    .filter((part) => part !== '.' && part !== '')
    .join('/');
}

const DEFAULT_RETRY_MS = 1000;

const DEFAULT_BREAKER: StepThresholds = { threshold: 5, resetAfterMs: 30_000 };

const DEFAULT_PATTERNS = ['*.go', 'cmd/**/*.go', 'internal/**/*.go', 'configs/*.json'];

function planStep(step: FileStep, placeOf: (key: string) => TextPosition): PlannedStep {
  const timeouts = [step.timeout, step.type === 'agent' || step.type === 'command' ? step.config?.timeout : undefined];
  const given = timeouts.map((value) => msOf(value, 0)).filter((ms) => ms > 0);
  const common = {
    name: step.name,
    timeoutMs: given.length === 0 ? null : Math.min(...given),
    maxRetries: step.max_retries ?? 0,
    retryDelayMs: msOf(step.retry_delay, DEFAULT_RETRY_MS),
    continueOnError: step.continue_on_error ?? false,
    breaker:
      step.circuit_breaker === undefined
        ? null
        : {
            threshold: step.circuit_breaker.threshold ?? DEFAULT_BREAKER.threshold,
            resetAfterMs: msOf(step.circuit_breaker.reset_after, DEFAULT_BREAKER.resetAfterMs),
          },
  };
  const plain = (made: Step): PlannedStep => ({ step: made, prompt: null, marker: null });
  switch (step.type) {
    case 'agent': {
      const { prompt_file: promptFile, marker_file: markerFile, model, session, ...who } = step.config ?? {};
      const named = (key: string, path: string | undefined): NamedFile | null =>
        path === undefined ? null : { path: plainPath(path), at: placeOf(key) };
      return {
        step: {
          ...common,
          kind: 'agent',
          agent: who.agent ?? null,
          review: who.role === undefined ? null : { hold: who.hold ?? 'none' },
          prompt: null,
          model: model === undefined || model === '' ? null : model,
          allowedTools: toolsOf(step.config ?? {}),
          session: session ?? 'continue',
          marker: markerFile === undefined ? null : { file: plainPath(markerFile), isOnBase: false },
        },
        prompt: named('prompt_file', promptFile),
        marker: named('marker_file', markerFile),
      };
    }
    case 'command':
      return plain({ ...common, kind: 'command', command: step.config.command });
    case 'readme-check': {
      const {
        project_dir: folder = '.',
        readme_path: path = 'README.md',
        patterns = DEFAULT_PATTERNS,
      } = step.config ?? {};
      return plain({ ...common, kind: 'readme-check', path: plainPath(`${folder}/${path}`), patterns });
    }
    case 'git-commit':
    case 'noop':
      return plain({ ...common, kind: step.type });
  }
}

function msOf(value: string | number | undefined, fallback: number): number {
  return value === undefined ? fallback : (parseDuration(value) ?? fallback);
}

type ToolKeys = Pick<NonNullable<Extract<FileStep, { type: 'agent' }>['config']>, 'allowed_tools' | 'allowedTools'>;

/** Returns the tool rules; null if none are given. A comma inside brackets belongs to its rule. */
function toolsOf({ allowed_tools: snake, allowedTools: camel }: ToolKeys): readonly string[] | null {
  const given = snake ?? camel;
  if (given === undefined) return null;
  const rules = typeof given === 'string' ? given.split(/[,\n](?![^(]*\))/) : given;
  const named = rules.map((rule) => rule.trim()).filter((rule) => rule !== '');
  return named.length === 0 ? null : named;
}
