import { unsetIn } from './reading/command-variables.ts';
import { parseDuration } from './reading/duration.ts';
import { hasSteps, readFileData } from './reading/file-data.ts';
import { wrongBySchema, type Wrong } from './reading/file-problems.ts';
import { pipelineFileSchema, UNUSED_KEYS, type FileStep, type PipelineFile } from './file-schema.ts';
import { isAnybodys, type Breaker, type Step } from './pipeline.ts';
import { putIn } from './reading/put-in.ts';
import type { Variables } from './reading/variables.ts';
import { nearest } from '../text/nearest.ts';
import { oneLine } from '../text/one-line.ts';

/** A longer file is none that anybody wrote by hand. */
const MAX_CHARS = 256 * 1024;
const MAX_PROBLEMS = 20;

/** A place in a file that it names, for what is wrong there once that is known. */
interface NamedFile {
  readonly path: string;
  readonly problemAt: (message: string) => string;
}

/** A step whose files are still to be read. */
export interface PlannedStep {
  readonly step: Step;
  /** null: the run's prompt. */
  readonly prompt: NamedFile | null;
  readonly marker: NamedFile | null;
}

/** The steps of a file. */
export interface PlannedPipeline {
  readonly kind: 'planned';
  readonly steps: readonly PlannedStep[];
  readonly maxIterationsPerTask: number;
  /** Variables that the agent does not see and that have no default. */
  readonly missing: readonly string[];
  /** The same of each command that names some. */
  readonly missingInCommands: readonly { readonly step: string; readonly names: readonly string[] }[];
  /** Keys that have no meaning here. */
  readonly unused: readonly string[];
}

/** What a file says. `problems`: sentences with file, line and column, all at once. */
export type ParsedPipeline =
  | PlannedPipeline
  | { readonly kind: 'wrong'; readonly problems: readonly string[] }
  /** It has no steps: a file of another tool, or about something else. */
  | { readonly kind: 'no-pipeline' };

interface Reading {
  readonly variables: Variables;
  /** What is wrong with a rule of a tool, as a predicate; null: nothing. */
  readonly ruleProblem: (rule: string) => string | null;
  /** What the file is called where something is wrong with it. */
  readonly called: string;
}

type At = (path: readonly PropertyKey[], of: 'key' | 'value') => { readonly line: number; readonly column: number };

/** Reads one of the files; answers any text. */
export function parsePipeline(file: string, text: string, reading: Reading): ParsedPipeline {
  const problem = (position: { readonly line: number; readonly column: number }, message: string): string =>
    `${reading.called}:${position.line}:${position.column} ${message}`;
  if (text.length > MAX_CHARS)
    return isAnybodys(file)
      ? { kind: 'no-pipeline' }
      : { kind: 'wrong', problems: [`${reading.called} is longer than ${MAX_CHARS / 1024} KiB`] };
  const located = readFileData(file, text);
  if (located.kind === 'malformed')
    return isAnybodys(file)
      ? { kind: 'no-pipeline' }
      : { kind: 'wrong', problems: located.problems.map(({ message, ...position }) => problem(position, message)) };
  const { at } = located;
  if (!hasSteps(file, located.data)) {
    const meant = isAnybodys(file) ? null : meantAsSteps(located.data);
    if (meant === null) return { kind: 'no-pipeline' };
    const message = `\`${oneLine(meant, 60)}\` is not known here: did you mean \`steps\`?`;
    return { kind: 'wrong', problems: [problem(at([meant], 'key'), message)] };
  }
  const missing = new Set<string>();
  const data = putIn(located.data, { variables: reading.variables, missing });
  const parsed = pipelineFileSchema.safeParse(data);
  const repeated = located.repeated.map(({ name, ...position }) => ({
    ...position,
    message: `\`${oneLine(name, 60)}\` is there twice: leave one out`,
  }));
  const wrongs = parsed.success ? rulesBroken(parsed.data, reading) : wrongBySchema(parsed.error.issues, data);
  const found = [...repeated, ...wrongs.map(({ path, of, message }) => ({ ...at(path, of), message }))];
  if (found.length > 0 || !parsed.success) {
    const more = found.length - MAX_PROBLEMS;
    const listed = found
      .sort((a, b) => a.line - b.line || a.column - b.column)
      .slice(0, MAX_PROBLEMS)
      .map(({ message, ...position }) => problem(position, message));
    return {
      kind: 'wrong',
      problems: [...listed, ...(more > 0 ? [`${reading.called} has ${more} more problems`] : [])],
    };
  }
  const steps = parsed.data.steps.flatMap((step, index) =>
    isEnabled(step) ? [planned(step, (key) => namedAt(at, ['steps', index, 'config', key], problem))] : [],
  );
  return {
    kind: 'planned',
    steps,
    maxIterationsPerTask: parsed.data.max_loops_per_task ?? 0,
    missing: [...missing],
    missingInCommands: steps.flatMap(({ step }) => {
      const names = step.kind === 'command' ? unsetIn(step.command, reading.variables) : [];
      return names.length === 0 ? [] : [{ step: step.name, names }];
    }),
    unused: unusedIn(parsed.data),
  };
}

/** Keys without meaning here, and those that have none for a step of their type. */
function unusedIn({ steps }: PipelineFile): readonly string[] {
  const ofOthers = steps.flatMap(({ config }) => Object.keys(config ?? {})).filter((key) => UNUSED_KEYS.includes(key));
  const ofRetries = steps.flatMap((step) =>
    step.type === 'agent' || step.type === 'command'
      ? []
      : RUNNING_KEYS.filter((key) => step[key] !== undefined).map((key) => `${key} of ${step.name}`),
  );
  return [...new Set([...ofOthers, ...ofRetries])];
}

/** Of steps that start something. */
const RUNNING_KEYS = ['timeout', 'max_retries', 'retry_delay'] as const;

/** The key of a list that was meant to be `steps`; null: there is none. */
function meantAsSteps(data: unknown): string | null {
  if (typeof data !== 'object' || data === null) return null;
  const lists = Object.entries(data).filter(([, value]) => Array.isArray(value));
  return lists.map(([key]) => key).find((key) => nearest(key, ['steps']) !== null) ?? null;
}

/** What no schema sees: names, markers, and a pipeline that would call nobody. */
function rulesBroken({ steps }: PipelineFile, { ruleProblem }: Reading): readonly Wrong[] {
  const wrong: Wrong[] = [];
  const note = (path: readonly PropertyKey[], message: string): void => {
    wrong.push({ path: ['steps', ...path], of: 'value', message });
  };
  const enabled = [...steps.entries()].filter(([, step]) => isEnabled(step));
  const agents = enabled.flatMap(([index, step]) =>
    step.type === 'agent' ? [{ index, config: step.config ?? {} }] : [],
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
          `\`marker_file\` is that of the step "${steps[first]?.name ?? ''}" as well, so that this step never runs`,
        );
    }
    for (const rule of toolsOf(config) ?? []) {
      const problem = ruleProblem(rule);
      if (problem !== null)
        note(
          [index, 'config', config.allowed_tools === undefined ? 'allowedTools' : 'allowed_tools'],
          `the list of tools ${problem}`,
        );
    }
  }
  for (const [index, step] of steps.entries())
    if (steps.findIndex(({ name }) => name === step.name) !== index)
      note([index, 'name'], `another step is called "${step.name}" as well`);
  // A marker is a name that the lane keeps, never a file that a step writes.
  for (const { index, config } of agents)
    for (const key of ['prompt_file', 'prd_file'] as const) {
      const owner = config[key] === undefined ? undefined : markers.get(plainPath(config[key]));
      if (owner !== undefined)
        note(
          [index, 'config', key],
          `\`${key}\` is the \`marker_file\` of ${owner === index ? 'the same step' : `the step "${steps[owner]?.name ?? ''}"`}: markers are not written as files, so ${owner === index ? 'it waits for itself' : 'it would wait forever'}`,
        );
    }
  if (agents.length === 0)
    wrong.push({ path: ['steps'], of: 'key', message: '`steps` has no `agent` step that is enabled' });
  else if (agents.every(({ config }) => config.marker_file !== undefined))
    wrong.push({
      path: ['steps'],
      of: 'key',
      message: 'every `agent` step of `steps` has a `marker_file`, so that after the first iteration nobody is called',
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

function namedAt(
  at: At,
  path: readonly PropertyKey[],
  problem: (position: ReturnType<At>, message: string) => string,
): NamedFile['problemAt'] {
  return (message) => problem(at(path, 'value'), message);
}

const DEFAULT_RETRY_MS = 1000;
const DEFAULT_BREAKER: Breaker = { threshold: 5, resetAfterMs: 30_000 };
const DEFAULT_PATTERNS = ['*.go', 'cmd/**/*.go', 'internal/**/*.go', 'configs/*.json'];

function planned(step: FileStep, problemAt: (key: string) => NamedFile['problemAt']): PlannedStep {
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
      const { prompt_file: promptFile, marker_file: markerFile, model, session } = step.config ?? {};
      const named = (key: string, path: string | undefined): NamedFile | null =>
        path === undefined ? null : { path: plainPath(path), problemAt: problemAt(key) };
      return {
        step: {
          ...common,
          kind: 'agent',
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

/** null: none are named. A comma inside brackets belongs to its rule. */
function toolsOf({ allowed_tools: snake, allowedTools: camel }: ToolKeys): readonly string[] | null {
  const given = snake ?? camel;
  if (given === undefined) return null;
  const rules = typeof given === 'string' ? given.split(/[,\n](?![^(]*\))/) : given;
  const named = rules.map((rule) => rule.trim()).filter((rule) => rule !== '');
  return named.length === 0 ? null : named;
}
