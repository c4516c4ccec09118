import { z } from 'zod';
import { KEY_INPUTS } from '../../core/agent-names.ts';
import { wantedIsolations } from '../../core/isolation/probe.ts';
import { outcomeKinds, outcomeKindsByTrouble, type OutcomeKind } from '../../core/outcome.ts';
import { MAX_TASK_NAME_CHARS } from '../../core/people/named-task.ts';
import { limitModes } from '../../core/policy.ts';
import { cutText } from '../../core/text/phrase.ts';
import { parseArguments, type ParsedArguments } from '../arguments.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';
import { formatCost, formatCount } from '../../report/format.ts';

const count = z.number().int().nonnegative();

const laneSchema = z.object({
  outcome: z.enum(outcomeKinds as readonly [string, ...string[]]).describe('Why the run ended.'),
  reason: z.string().describe('The outcome in detail, as in the output `reason` of the action.'),
  iterations: count.describe('Iterations of this run.'),
  tasksDone: count.describe('Done tasks of the branch.'),
  tasks: count.describe('Tasks of the branch.'),
  branch: z
    .string()
    .nullable()
    .describe('The branch in this checkout; null when the run did not get so far, or worked on several.'),
  head: z.string().nullable().describe('Its newest commit; null without one.'),
  costUsd: z.number().nonnegative().nullable().describe('Cost of this run in US dollars; null: not known.'),
  tokens: count.describe('Tokens of this run.'),
  resumeAt: z.iso
    .datetime()
    .nullable()
    .describe('The instant from which parked work can continue; null: nothing is parked.'),
  pushed: z.boolean().nullable().describe('Whether the branch was pushed; null without --push.'),
});

/** The output of `ralph run --json`. A change that breaks readers needs a new major version. */
export const runSchema = laneSchema.extend({
  branches: z
    .array(laneSchema)
    .describe(
      'The same for each branch that the run worked on at once, trouble first. The other fields are their sums, and the worst outcome.',
    ),
});

export type EndedLane = Readonly<z.infer<typeof laneSchema>>;

export type EndedRun = EndedLane & { readonly branches: readonly EndedLane[] };

/** The options of a local run. */
export interface AskedRun {
  readonly folder: string;
  /** The inputs of the action that were given, by name. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The only task to work on, by its id or displayed name; null means all tasks. */
  readonly task: string | null;
  readonly dryRun: boolean;
  /** True if the run pushes the branch to the remote `origin` at its end. */
  readonly push: boolean;
  readonly json: boolean;
}

/**
 * The result of a local run; `failed` means that the outcome is in `fail-on`, or that the branch could not be pushed.
 */
export interface LocalRunResult {
  readonly ended: EndedRun;
  readonly failed: boolean;
}

/** Runs the loop on this machine. Throws a UsageError for problems that can be found before the run begins. */
export type RunHere = (asked: AskedRun, terminal: Terminal) => Promise<LocalRunResult>;

const HELP = `Usage: ralph run [--once] [--max-iterations N] [--task TASK] [--model MODEL]
                 [--parallel N] [--json] [OPTIONS]

Works on the tasks of this checkout on this machine: the loop of the action,
with the same gate, isolation, evidence and limits. It works in a copy of the
current branch, outside of your checkout: your files, your index and your
branches stay as they are. After each iteration, finished work is on the branch
ralph/queue in your repository: look at it with "git log ralph/queue", and merge
it when you are satisfied. Nothing is pushed. Uncommitted changes are not part
of the run.

  --once              the same as --max-iterations 1
  --max-iterations N  iterations of this run: one agent call each, or with a
                      pipeline each of its steps once
  --task TASK         this task alone, by its id or its name in "ralph tasks"
                      (US-003, .ralph/fix_plan.md:4, "#12")
  --parallel N        works on up to N branches at once, with an agent each: on
                      labelled issues that do not depend on each other and
                      probably touch different files; the limits of the run are
                      divided among them
  --model MODEL       the model that the agent uses
  --dry-run           shows the task, the prompt and the command line; makes no
                      call and changes nothing
  --on-limit WORD     park or wait: at an hourly, daily or provider's limit it
                      ends, or waits until the limit is over, with a countdown;
                      waiting does not count against max-minutes
  --isolation LEVEL   auto, namespace, user or none (default: auto, the
                      strongest that needs no password here)
  --agent-path PATH   the agent's CLI (default: claude on the PATH, or else the
                      version of the action, installed)
  --input NAME=VALUE  any other input or setting, such as --input verify="npm
                      test"; can be repeated (verify and allowed-tools are
                      otherwise those of the checkout's workflow, if it has
                      them)
  --push              pushes the branch to origin at the end, with your own
                      credentials; opens no pull request
  --dir FOLDER        any folder of the checkout (default: the current one); the
                      tasks are those of the repository's root, or of the folder
                      that --input working-directory=FOLDER names
  --json              prints one JSON object at the end, described by
                      schemas/ralph-run.schema.json; the log goes to standard
                      error

Tasks are those of the plan and of prd.json; with GITHUB_TOKEN (or GH_TOKEN)
labelled issues as well, which are only read. The agent logs in as it does for
you: with ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, or with the login of
"claude" itself, which an isolated agent cannot use.

The state is in .ralph/state at the top of the repository. The files for other
tools, .ralph/status.json and .ralph/progress.json, and the logs in .ralph/logs
are in the folder that the input working-directory names. Ctrl-C ends the run
after its iteration, a second Ctrl-C at once.

Exit codes: 0 done, 1 the run was halted or failed (input fail-on), 2 wrong
arguments.
`;

/** Creates `ralph run`, which runs the loop locally. */
export function createRunCommand(run: RunHere): CliCommand {
  return { ...COMMAND_LIST.run, help: HELP, run: (args, terminal) => runLocally(run, args, terminal) };
}

/** Options that have the names of inputs of the action. */
const INPUT_OPTIONS = ['max-iterations', 'parallel', 'model', 'on-limit', 'isolation', 'agent-path'] as const;

async function runLocally(run: RunHere, args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const asked = readAsked(
    parseArguments(
      args,
      {
        once: 'flag',
        'max-iterations': 'value',
        task: 'value',
        parallel: 'value',
        model: 'value',
        'dry-run': 'flag',
        'on-limit': 'value',
        isolation: 'value',
        'agent-path': 'value',
        input: 'values',
        push: 'flag',
        dir: 'value',
        json: 'flag',
      },
      { name: 'ARGUMENT', min: 0, max: 0 },
    ),
  );
  const { ended, failed } = await run(asked, terminal);
  if (asked.json) terminal.out(`${JSON.stringify(ended, null, 2)}\n`);
  return failed ? 'failed' : 'done';
}

function readAsked(given: ParsedArguments): AskedRun {
  const problems = [...given.problems];
  const one = (option: string): string | null => given.values(option)[0] ?? null;
  const inputs: Record<string, string> = {};
  for (const text of given.values('input')) {
    const at = text.indexOf('=');
    const name = text.slice(0, at).trim();
    if (at < 1) problems.push(`--input ${JSON.stringify(text)}: expected NAME=VALUE, for example verify="npm test".`);
    else if (Object.hasOwn(inputs, name)) problems.push(`--input ${name}: is given twice.`);
    else if (NOT_HERE.has(name)) problems.push(`--input ${name}: does not apply to local runs.`);
    else inputs[name] = text.slice(at + 1);
  }
  for (const name of INPUT_OPTIONS) {
    const value = one(name);
    if (value === null) continue;
    if (Object.hasOwn(inputs, name)) problems.push(`--${name}: is given as --input as well.`);
    inputs[name] = value;
  }
  if (given.has('once')) {
    if (Object.hasOwn(inputs, 'max-iterations')) problems.push('--once and --max-iterations contradict each other.');
    inputs['max-iterations'] = '1';
  }
  problems.push(
    ...notAmong('on-limit', inputs['on-limit'], limitModes),
    ...notAmong('isolation', inputs.isolation, wantedIsolations),
  );
  const task = one('task');
  if (task !== null && (task.trim() === '' || task.length > MAX_TASK_NAME_CHARS))
    problems.push(`--task ${JSON.stringify(cutText(task, 80))}: is not the name of a task. "ralph tasks" lists them.`);
  if (task !== null && Object.hasOwn(inputs, 'parallel'))
    problems.push('--task works on one branch: leave out --parallel.');
  if (given.has('dry-run') && given.has('push')) problems.push('--dry-run pushes nothing: leave out --push.');
  if (given.has('dry-run') && given.has('json')) problems.push('--dry-run prints text: leave out --json.');
  if (problems.length > 0) throw new UsageError(problems);
  return {
    ...{ folder: one('dir') ?? '.', inputs, task },
    ...{ dryRun: given.has('dry-run'), push: given.has('push'), json: given.has('json') },
  };
}

/** Inputs that only make sense in a job on GitHub. */
const NOT_HERE: ReadonlySet<string> = new Set([
  'github-token',
  'phase',
  'handoff-path',
  'handoff-digest',
  'handoff-branch',
  'loop-result',
  'command',
  'state-store',
  ...KEY_INPUTS,
]);

function notAmong(name: string, value: string | undefined, words: readonly string[]): readonly string[] {
  return value === undefined || words.includes(value)
    ? []
    : [`--${name} ${JSON.stringify(value)}: must be one of ${words.join(', ')}.`];
}

/** Returns the end of a run on these lanes: the worst outcome, and the sums. The list must not be empty. */
export function combineLanes(ended: readonly [EndedLane, ...(readonly EndedLane[])]): EndedRun {
  const lanes = ended.toSorted((one, other) => rankOf(one) - rankOf(other));
  const [worst = ended[0], ...others] = lanes;
  if (others.length === 0) return { ...worst, branches: lanes };
  const sum = (of: (lane: EndedLane) => number): number => lanes.reduce((total, lane) => total + of(lane), 0);
  const resumptions = lanes.flatMap(({ resumeAt }) => resumeAt ?? []).sort();
  const pushes = lanes.flatMap(({ pushed }) => pushed ?? []);
  return {
    ...{ outcome: worst.outcome, reason: worst.reason, branch: null, head: null },
    iterations: sum(({ iterations }) => iterations),
    tasksDone: sum(({ tasksDone }) => tasksDone),
    tasks: sum(({ tasks }) => tasks),
    costUsd: lanes.some(({ costUsd }) => costUsd === null) ? null : sum(({ costUsd }) => costUsd ?? 0),
    tokens: sum(({ tokens }) => tokens),
    resumeAt: resumptions[0] ?? null,
    pushed: pushes.length === 0 ? null : !pushes.includes(false),
    branches: lanes,
  };
}

/** Renders a line for each lane, those with problems first. */
export function renderLanes({ branches: lanes }: Pick<EndedRun, 'branches'>): string {
  return lanes
    .map(({ branch, outcome, reason, iterations, tasksDone, tasks, costUsd }) =>
      [
        `${branch ?? 'no branch'}: ${outcome} (${reason})`,
        formatCount(iterations, 'iteration'),
        `${String(tasksDone)} of ${formatCount(tasks, 'task')} done`,
        costUsd === null ? 'cost not known' : formatCost(costUsd),
      ].join(' · '),
    )
    .join('\n');
}

function rankOf({ outcome }: EndedLane): number {
  return outcomeKindsByTrouble.indexOf(outcome as OutcomeKind);
}
