import { limitModes } from '../../core/policy.ts';
import { wantedIsolations } from '../../core/isolation/level.ts';
import { MAX_NAME_CHARS } from '../../core/people/named-task.ts';
import { cut } from '../../core/text/cut.ts';
import { parseArguments, type ParsedArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { LISTED } from '../listing.ts';
import type { AskedRun, RunHere } from './run-world.ts';

const HELP = `Usage: ralph run [--once] [--max-iterations N] [--task TASK] [--model MODEL] [--json] [OPTIONS]

Works the tasks of this checkout on this machine: the loop of the action, with the same gate, isolation, evidence and
bounds. It works in a copy of the current branch, outside of your checkout: your files, your index and your branches stay
as they are. What is done is on the branch ralph/queue in your repository after each iteration: look at it with
"git log ralph/queue", and merge it when you like it. Nothing is pushed. What is not committed is not part of the run.

  --once                the same as --max-iterations 1
  --max-iterations N    agent calls of this run
  --task TASK           this task alone, by its id or its name in "ralph tasks" (US-003, .ralph/fix_plan.md:4, "#12")
  --model MODEL         the model that the agent uses
  --dry-run             shows the task, the prompt and the command line; calls nobody and changes nothing
  --on-limit park|wait  at an hourly, daily or provider's limit: ends, or waits until it is over, with a countdown;
                        waiting does not count against max-minutes
  --isolation LEVEL     auto, namespace, user or none (default: auto: the strongest that needs no password here)
  --agent-path PATH     the agent's CLI (default: claude on the PATH, or else the version of the action, installed)
  --input NAME=VALUE    any other input of the action, such as --input verify="npm test"; can be repeated
  --push                pushes the branch to origin at the end, with your own credentials; opens no pull request
  --dir FOLDER          any folder of the checkout (default: the current one); the tasks are those of the repository's
                        root, or of the folder that --input working-directory=FOLDER names
  --json                prints one JSON object at the end, described by schemas/ralph-run.schema.json; the log goes to
                        standard error

Tasks are those of the plan and of prd.json; with GITHUB_TOKEN (or GH_TOKEN) labelled issues as well, which are only read.
The agent logs in as it does for you: with ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, or the login of "claude" itself,
which an isolated agent does not reach. The state is in .ralph/state at the top of the repository; what other tools watch
is in .ralph/status.json and .ralph/progress.json, and logs are in .ralph/logs, of the input working-directory if that is
given. Ctrl-C ends the run after its iteration, a second Ctrl-C at once.

Exit codes: 0 done, 1 the run was halted or failed (input fail-on), 2 wrong arguments.
`;

/** `ralph run`: the loop at home. */
export function createRunCommand(run: RunHere): Command {
  return { ...LISTED.run, help: HELP, run: (args, terminal) => runLocally(run, args, terminal) };
}

/** Options that are inputs of the action under their own names. */
const INPUT_OPTIONS = ['max-iterations', 'model', 'on-limit', 'isolation', 'agent-path'] as const;

async function runLocally(run: RunHere, args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const asked = readAsked(
    parseArguments(
      args,
      {
        once: 'flag',
        'max-iterations': 'value',
        task: 'value',
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
    else if (NOT_HERE.has(name)) problems.push(`--input ${name}: has no meaning at home.`);
    else inputs[name] = text.slice(at + 1);
  }
  for (const name of INPUT_OPTIONS) {
    const value = one(name);
    if (value === null) continue;
    if (Object.hasOwn(inputs, name)) problems.push(`--${name}: is given as --input as well.`);
    inputs[name] = value;
  }
  if (given.has('once')) {
    if (Object.hasOwn(inputs, 'max-iterations')) problems.push('--once and --max-iterations say different things.');
    inputs['max-iterations'] = '1';
  }
  problems.push(
    ...notAmong('on-limit', inputs['on-limit'], limitModes),
    ...notAmong('isolation', inputs.isolation, wantedIsolations),
  );
  const task = one('task');
  if (task !== null && (task.trim() === '' || task.length > MAX_NAME_CHARS))
    problems.push(`--task ${JSON.stringify(cut(task, 80))}: is not the name of a task. "ralph tasks" lists them.`);
  if (given.has('dry-run') && given.has('push')) problems.push('--dry-run pushes nothing: leave out --push.');
  if (given.has('dry-run') && given.has('json')) problems.push('--dry-run prints text: leave out --json.');
  if (problems.length > 0) throw new UsageError(problems);
  return {
    ...{ folder: one('dir') ?? '.', inputs, task },
    ...{ dryRun: given.has('dry-run'), push: given.has('push'), json: given.has('json') },
  };
}

/** Inputs that are about a job on GitHub. */
const NOT_HERE: ReadonlySet<string> = new Set([
  'github-token',
  'phase',
  'handoff-path',
  'handoff-digest',
  'command',
  'state-store',
  'anthropic-api-key',
  'claude-code-oauth-token',
]);

function notAmong(name: string, value: string | undefined, words: readonly string[]): readonly string[] {
  return value === undefined || words.includes(value)
    ? []
    : [`--${name} ${JSON.stringify(value)}: must be one of ${words.join(', ')}.`];
}
