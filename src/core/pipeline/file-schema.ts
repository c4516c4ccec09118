import { z } from 'zod';
import { AGENT_NAMES } from '../agent-names.ts';
import { doneSignalsSchema } from '../analysis/done-signals.ts';
import { DAY_MS, HOUR_MS } from '../countdown.ts';
import { parseDuration } from './reading/command-variables.ts';
import { reviewHolds } from './review.ts';
import { MAX_FILE_CHARS, MAX_STEP_NAME_CHARS, MAX_STEPS } from './step-record.ts';

/** Maximum length of a command; a longer one belongs in a script. */
const MAX_COMMAND_CHARS = 10_000;
const MAX_RETRIES = 10;
const MAX_FAILURES = 100;
const MAX_PATTERNS = 100;
/** Maximum durations in words and in ms. */
const MAX_DURATIONS = { timeout: ['24h', DAY_MS], delay: ['1h', HOUR_MS], reset: ['720h', 30 * DAY_MS] } as const;

/** The pattern that editors check: a duration, or a text with variables. */
const DURATION_PATTERN = String.raw`^\s*\+?(?:\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+)\s*$|\$\{`;

function duration([words, maxMs]: readonly [string, number], what: string) {
  return z
    .union([z.string().meta({ pattern: DURATION_PATTERN }), z.number().meta({ minimum: 0, maximum: maxMs / 1000 })], {
      error: ({ input }) => durationProblem(input, words, maxMs) ?? '',
    })
    .superRefine((value, context) => {
      const problem = durationProblem(value, words, maxMs);
      if (problem !== null) context.addIssue(problem);
    })
    .describe(`${what} A number of seconds, or a text such as "90s", "10m" or "1h30m"; at most ${words}.`);
}

function durationProblem(input: unknown, words: string, maxMs: number): string | null {
  const ms = typeof input === 'string' || typeof input === 'number' ? parseDuration(input) : null;
  const shown = JSON.stringify(input);
  if (ms === null)
    return `must be a duration such as "10m" or "90s", or a number of seconds, but is ${shown.slice(0, 60)}`;
  // A value that is rounded to 0 would count as absent.
  if (ms === 0 && /[1-9]/.test(String(input))) return `must be at least 1ms, but is ${shown}`;
  if (ms < 0) return `must not be negative, but is ${shown}`;
  return ms > maxMs ? `must be at most ${words}, but is ${shown}` : null;
}

function whole(min: number, max: number, what: string) {
  return z
    .int({ error: `must be a whole number from ${min} to ${max}` })
    .min(min, `must be a whole number from ${min} to ${max}`)
    .max(max, `must be a whole number from ${min} to ${max}`)
    .describe(what);
}

function choice<const Choice extends string>(choices: readonly Choice[], what: string) {
  return z.enum(choices, { error: `must be one of: ${choices.join(', ')}` }).describe(what);
}

function path(what: string) {
  return z
    .string()
    .min(1, 'is empty: give the path of a file')
    .max(MAX_FILE_CHARS, `must have at most ${MAX_FILE_CHARS} characters`)
    .refine((value) => isInside(value), 'must be the path of one file in the repository, without `..` and wildcards')
    .describe(what);
}

function isInside(value: string): boolean {
  return !/^[/\\~]|[*?\0\n\\]|^[A-Za-z]:/.test(value) && !value.split('/').some((part) => part === '..');
}

const NO_MEANING = 'Accepted for compatibility; has no effect.';
const unused = z.unknown().optional().describe(NO_MEANING);

const breaker = z
  .strictObject({
    threshold: whole(1, MAX_FAILURES, 'Failures in a row after which the step is skipped; default: 5.').optional(),
    reset_after: duration(
      MAX_DURATIONS.reset,
      'Time for which the step is skipped before one more try; default: 30s.',
    ).optional(),
  })
  .describe('Skips a step that keeps failing. The count is kept with the branch from one run to the next.');

const common = {
  name: z
    .string()
    .max(MAX_STEP_NAME_CHARS, `must have at most ${MAX_STEP_NAME_CHARS} characters`)
    .regex(
      /^[\p{L}\p{N}][\p{L}\p{N} ._:/()+-]*$/u,
      'must begin with a letter or digit and contain only letters, digits, spaces and . _ : / ( ) + -',
    )
    .describe('Unique in the file.'),
  enabled: z.boolean().optional().describe('`false` leaves the step out; default: `true`.'),
  timeout: duration(
    MAX_DURATIONS.timeout,
    'The step and every process that it started are ended after this time; default, and for 0: `agent-timeout-minutes`.',
  ).optional(),
  max_retries: whole(
    0,
    MAX_RETRIES,
    'Further attempts within the iteration, each of which is a call for an agent step; default: 0.',
  ).optional(),
  retry_delay: duration(
    MAX_DURATIONS.delay,
    'Delay before the first retry; it doubles with each retry, up to 30 s; default: 1s.',
  ).optional(),
  continue_on_error: z
    .boolean()
    .optional()
    .describe(
      "`true`: a failure is reported, but neither ends the iteration's steps nor overrules a claim to be done.",
    ),
  circuit_breaker: breaker.optional(),
};

const tools = z
  .union([z.string(), z.array(z.string()).max(MAX_PATTERNS)], {
    error: 'must be tool rules: a comma-separated string or a list',
  })
  .describe('Rules for the tools that the agent may use, in place of `allowed-tools`.');

const agentConfig = z.strictObject({
  agent: choice(
    AGENT_NAMES,
    'The agent of the step, with its own key; default: the agent of the iteration.',
  ).optional(),
  role: choice(
    ['review'] as const,
    'The step only reviews, in a conversation of its own: its changes are undone, and it ends with findings.',
  ).optional(),
  hold: choice(
    reviewHolds,
    'The findings of a review that keep the task from being done: those of this severity or a worse one; default: none.',
  ).optional(),
  prompt_file: path("The step's own prompt, read from the base branch; default: the run's prompt.").optional(),
  model: z
    .string()
    .max(100)
    .regex(/^(?!-)[^\s]*$/, 'must be the name of a model')
    .optional()
    .describe('The model, in place of the input `model`.'),
  allowed_tools: tools.optional(),
  allowedTools: tools.optional(),
  timeout: duration(
    MAX_DURATIONS.timeout,
    'The call is ended after this time; the shorter of both timeouts counts.',
  ).optional(),
  marker_file: path(
    'The step runs once on each branch: not again after it has passed, and not at all if the base branch has this file.',
  ).optional(),
  session: choice(
    ['continue', 'fresh'],
    '`continue` (default): the step continues the conversation of the branch; `fresh`: it begins its own.',
  ).optional(),
  prd_file: path('Accepted for compatibility; tasks are found in the same places as without a pipeline.').optional(),
  session_file: unused,
  session_expiry_hours: unused,
  claude_binary: unused,
  output_format: unused,
  append_system_prompt: unused,
  log_dir: unused,
});

const commandConfig = z.strictObject({
  command: z
    .string()
    .refine((text) => text.trim() !== '', 'is empty: give a command')
    .max(MAX_COMMAND_CHARS, `must have at most ${MAX_COMMAND_CHARS} characters: put a longer one into a script`)
    .describe('Command for bash, which expands variables. It sees the same variables as the agent, without keys.'),
  timeout: duration(MAX_DURATIONS.timeout, 'The shorter of both timeouts counts.').optional(),
});

const commitConfig = z.strictObject({
  enabled: z.boolean().optional().describe('`false` leaves the step out.'),
  repo_dir: unused,
  message_template: unused,
  prd_file: unused,
  fix_plan_file: unused,
  commit_message_file: unused,
});

const readmeConfig = z.strictObject({
  readme_path: path('Default: `README.md`.').optional(),
  project_dir: path('Folder of the README.').optional(),
  patterns: z
    .array(z.string().min(1).max(MAX_FILE_CHARS))
    .max(MAX_PATTERNS)
    .optional()
    .describe(
      'Globs of files whose change requires a change of the README; default: `*.go`, `cmd/**/*.go`, `internal/**/*.go` and `configs/*.json`.',
    ),
});

/** Schemas of `config` by the step's type. */
export const configSchemas = {
  agent: agentConfig,
  command: commandConfig,
  'git-commit': commitConfig,
  'readme-check': readmeConfig,
  noop: z.looseObject({}),
};

export const stepSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('agent'), ...common, config: agentConfig.optional() }),
  z.strictObject({ type: z.literal('command'), ...common, config: commandConfig }),
  z.strictObject({ type: z.literal('git-commit'), ...common, config: commitConfig.optional() }),
  z.strictObject({ type: z.literal('readme-check'), ...common, config: readmeConfig.optional() }),
  z.strictObject({ type: z.literal('noop'), ...common, config: configSchemas.noop.optional() }),
]);

/** The schema of a step of unknown type. */
export const untypedStepSchema = z.strictObject({
  type: z.unknown().optional(),
  ...common,
  config: z.unknown().optional(),
});

export type FileStep = z.infer<typeof stepSchema>;

const file = z.strictObject({
  $schema: z.unknown().optional(),
  name: z.string().max(200).optional(),
  description: z.string().max(10_000).optional(),
  max_loops_per_task: whole(
    0,
    1000,
    'Maximum iterations per task; the smaller of this and `max-iterations-per-task` counts; 0 = no limit.',
  ).optional(),
  signals: doneSignalsSchema
    .optional()
    .describe('Further texts and files by which an agent says that everything is done; unrelated to steps.'),
  steps: z
    .array(stepSchema)
    .min(1, 'is empty: give at least one step')
    .max(MAX_STEPS, `has more than ${MAX_STEPS} steps`)
    .describe('The steps of one iteration, in order.'),
});

export const pipelineFileSchema = file;
export type PipelineFile = z.infer<typeof file>;

/** Known keys by position, used to suggest the intended key. */
export const FILE_KEYS = Object.keys(file.shape);
export const STEP_KEYS = ['type', ...Object.keys(common), 'config'];
export const BREAKER_KEYS = Object.keys(breaker.shape);

/** Keys with number or boolean values. If the value is a single variable, its text is converted. */
export const NUMBER_KEYS: readonly string[] = ['max_loops_per_task', 'max_retries', 'threshold'];
export const SWITCH_KEYS: readonly string[] = ['enabled', 'continue_on_error'];

/** Keys of `config` that are accepted for compatibility with other tools. */
export const UNUSED_KEYS: readonly string[] = Object.values(configSchemas).flatMap(({ shape }) =>
  Object.entries(shape).flatMap(([key, schema]) =>
    (schema as z.ZodType).description === NO_MEANING || key === 'prd_file' ? [key] : [],
  ),
);

/** Returns the published JSON Schema of the file. */
export function buildPipelineSchema(): object {
  const schema = z.toJSONSchema(pipelineFileSchema, {
    io: 'input',
    override: ({ jsonSchema }) => withReference(jsonSchema),
  });
  return { title: 'Pipeline of an iteration', ...schema };
}

/** Allows a quoted variable in place of a number or boolean. */
function withReference(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.type !== 'integer' && schema.type !== 'boolean') return;
  const own = Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'description'));
  for (const key of Object.keys(own)) Reflect.deleteProperty(schema, key);
  schema.anyOf = [own, { type: 'string', pattern: REFERENCE_PATTERN }];
}

const REFERENCE_PATTERN = String.raw`^\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}$`;
