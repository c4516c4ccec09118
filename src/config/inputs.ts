import { z } from 'zod';
import type { OutcomeKind } from '../core/outcome.ts';
import { UserError } from '../user-error.ts';
import type { Config } from './config.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A job on GitHub ends after five days at the latest, so no duration beyond that can mean anything. */
const MAX_MINUTES = 5 * 24 * 60;

const OUTCOME_KINDS = ['cancelled', 'complete', 'halted', 'blocked', 'parked', 'limit', 'idle', 'paused', 'refused', 'failed'] as const satisfies readonly OutcomeKind[];

/** Every input of action.yml and what its text may be. Defaults are in action.yml alone. */
const inputs = z.object({
  'github-token': filled('a token, for example ${{ github.token }}'),
  'task-label': filled('a label name').refine((label) => label.length <= 50, 'is longer than the 50 characters that GitHub allows').refine((label) => !label.includes(','), 'has a comma, which GitHub reads as two labels'),
  'agent-version': z.string().regex(/^\d+\.\d+\.\d+$/, 'is not an exact version such as 2.1.330'),
  'agent-path': optional(),
  'agent-args': lines(),
  'agent-env': lines().refine((names) => names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)), 'must be names of environment variables, one a line').refine((names) => !names.some(isJobSecret), 'names a variable that carries the job\'s own tokens (GITHUB_TOKEN, GH_TOKEN, ACTIONS_*, INPUT_*, STATE_*): the agent must never see those'),
  model: optional(),
  'allowed-tools': z.string().transform(splitRules).refine((rules) => rules.length > 0, 'is empty: name at least one tool, for example Read,Edit,Write'),
  'prompt-file': filled('a path').refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), 'must be a path inside the workspace'),
  session: choice('resume', 'task', 'fresh'),
  'session-expiry-hours': number({ min: 1, max: 720 }),
  'max-iterations': whole({ min: 1, max: 1000 }),
  'max-minutes': number({ min: 1, max: MAX_MINUTES }),
  'max-iterations-per-task': whole({ min: 0, max: 1000 }),
  'agent-timeout-minutes': number({ min: 0.1, max: MAX_MINUTES }),
  'max-calls-per-hour': whole({ min: 1, max: 10_000 }),
  'max-tokens-per-hour': whole({ min: 0, max: 1_000_000_000_000 }),
  'max-cost-usd': number({ min: 0, max: 100_000 }),
  'max-cost-usd-per-day': number({ min: 0, max: 100_000 }),
  'on-permission-denied': choice('count', 'halt', 'continue'),
  'cb-no-progress': whole({ min: 1, max: 100 }),
  'cb-same-error': whole({ min: 1, max: 100 }),
  'cb-permission-denials': whole({ min: 1, max: 100 }),
  'cb-output-decline': whole({ min: 1, max: 100 }),
  'cb-cooldown-minutes': number({ min: 0, max: MAX_MINUTES }),
  'cb-auto-reset': flag(),
  'completion-signals': whole({ min: 1, max: 100 }),
  'test-only-iterations': whole({ min: 1, max: 100 }),
  verify: lines(),
  'branch-prefix': z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*\/$/, 'must be one path segment and end in a slash, for example ralph/'),
  'base-branch': optional().refine((branch) => branch === null || /^[A-Za-z0-9_][A-Za-z0-9._/-]*$/.test(branch), 'is not a branch name'),
  draft: flag(),
  'allow-protected-paths': lines(),
  'max-patch-files': whole({ min: 1, max: 100_000 }),
  'max-patch-kib': whole({ min: 1, max: 1_048_576 }),
  'state-store': choice('auto', 'cache', 'none'),
  'fail-on': z.string().transform((text) => text.split(',').map((part) => part.trim()).filter(Boolean)).pipe(z.array(z.enum(OUTCOME_KINDS, { error: `must be a list of: ${OUTCOME_KINDS.join(', ')}` }))),
});

/** Names of all inputs, as action.yml must list them. */
export const INPUT_NAMES = Object.keys(inputs.shape);

/** Parses the inputs' texts into a Config; throws one UserError that lists every problem. */
export function parseInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  const trimmed = Object.fromEntries(INPUT_NAMES.map((name) => [name, texts[name]?.trim()]));
  const parsed = inputs.safeParse(trimmed);
  if (!parsed.success) {
    const names = parsed.error.issues.map((issue) => String(issue.path[0]));
    const problems = parsed.error.issues.map((issue, index) => describeProblem(names[index] ?? '', trimmed[names[index] ?? ''], issue.message));
    const count = new Set(names).size;
    throw new UserError('configuration', `${count === 1 ? 'An input is' : `${String(count)} inputs are`} not usable:\n${[...new Set(problems)].join('\n')}`);
  }
  const input = parsed.data;
  return {
    githubToken: input['github-token'],
    taskLabel: input['task-label'],
    agent: { version: input['agent-version'], path: input['agent-path'], args: input['agent-args'], envNames: input['agent-env'], model: input.model },
    promptFile: input['prompt-file'],
    policy: {
      maxIterations: input['max-iterations'],
      maxRunMs: input['max-minutes'] * MINUTE_MS,
      maxIterationsPerTask: input['max-iterations-per-task'],
      agentTimeoutMs: input['agent-timeout-minutes'] * MINUTE_MS,
      maxCallsPerHour: input['max-calls-per-hour'],
      maxTokensPerHour: input['max-tokens-per-hour'],
      maxCostUsd: input['max-cost-usd'],
      maxCostUsdPerDay: input['max-cost-usd-per-day'],
      onPermissionDenied: input['on-permission-denied'],
      circuit: {
        noProgress: input['cb-no-progress'],
        sameError: input['cb-same-error'],
        permissionDenials: input['cb-permission-denials'],
        outputDeclinePercent: input['cb-output-decline'],
        cooldownMs: input['cb-cooldown-minutes'] * MINUTE_MS,
        autoReset: input['cb-auto-reset'],
      },
      completionSignals: input['completion-signals'],
      testOnlyIterations: input['test-only-iterations'],
      session: input.session,
      sessionExpiryMs: input['session-expiry-hours'] * HOUR_MS,
      verifies: input.verify.length > 0,
      allowedTools: input['allowed-tools'],
    },
    verify: input.verify,
    branchPrefix: input['branch-prefix'],
    baseBranch: input['base-branch'],
    draft: input.draft,
    allowProtectedPaths: input['allow-protected-paths'],
    maxPatchFiles: input['max-patch-files'],
    maxPatchKib: input['max-patch-kib'],
    stateStore: input['state-store'],
    failOn: input['fail-on'],
  };
}

function describeProblem(name: string, value: string | undefined, message: string): string {
  if (value === undefined) return `- ${name}: is missing. The runner sets it from action.yml; outside a runner set INPUT_${name.toUpperCase()}.`;
  const shown = name === 'github-token' ? '' : ` ${JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)}`;
  return `- ${name}:${shown} ${message}.`;
}

/** Whether a variable of this name may carry the job's own credentials. */
export function isJobSecret(name: string): boolean {
  return /^(GITHUB_TOKEN|GH_TOKEN|GITHUB_ENV|GITHUB_PATH|GITHUB_OUTPUT|GITHUB_STATE|GITHUB_STEP_SUMMARY)$|^(ACTIONS|INPUT|STATE)_/i.test(name);
}

function filled(example: string) {
  return z.string().min(1, `is empty: give ${example}`);
}

function optional() {
  return z.string().transform((text) => (text === '' ? null : text));
}

function lines() {
  return z.string().transform((text) => text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean));
}

function choice<const T extends readonly [string, ...string[]]>(...values: T) {
  return z.enum(values, { error: `is none of: ${values.join(', ')}` });
}

function flag() {
  return choice('true', 'false').transform((text) => text === 'true');
}

function whole(range: { readonly min: number; readonly max: number }) {
  return decimal({ ...range, pattern: /^\d+$/, what: 'a whole number' });
}

function number(range: { readonly min: number; readonly max: number }) {
  return decimal({ ...range, pattern: /^\d+(\.\d+)?$/, what: 'a number' });
}

function decimal({ min, max, pattern, what }: { readonly min: number; readonly max: number; readonly pattern: RegExp; readonly what: string }) {
  const expected = `is not ${what} from ${String(min)} to ${String(max)}`;
  return z.string().regex(pattern, expected).transform(Number).pipe(z.number().min(min, expected).max(max, expected));
}

/** Splits at commas outside parentheses, so that `Bash(git log -1, x)` stays one rule. */
function splitRules(text: string): string[] {
  const rules: string[] = [];
  let depth = 0;
  let rule = '';
  for (const character of text) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) {
      rules.push(rule);
      rule = '';
    } else {
      rule += character;
    }
  }
  return [...rules, rule].map((part) => part.trim()).filter(Boolean);
}
