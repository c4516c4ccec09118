import { AGENT_NAMES, AGENTS, DEFAULT_AGENT, KEY_VARIABLES, nameKeyInput } from '../core/agent-names.ts';
import type { SettingGroup, SettingRow } from './setting-rows.ts';

function keyDescription(variable: string): string {
  const agents = Object.values(AGENTS).flatMap(({ title, provider }) =>
    provider.keyForms.filter((form) => form.variable === variable).map(({ description }) => ({ title, description })),
  );
  return `${agents[0]?.description ?? ''} (${agents.map(({ title }) => title).join(', ')}).`;
}

/** The agents that are installed, with their names for people. */
const INSTALLED = AGENT_NAMES.filter((name) => AGENTS[name].source !== null).map(
  (name) => `\`${name}\` (${AGENTS[name].title})`,
);

/** The inputs of action.yml, in its order. */
export const INPUT_ROWS: readonly SettingGroup[] = [
  {
    group: 'Keys',
    rows: [
      [
        'github-token',
        '${{ github.token }}',
        `Token for issues, comments, the branch and the pull request. It is not in the agent's environment.`,
      ],
      ...KEY_VARIABLES.map((variable) => [nameKeyInput(variable), '', keyDescription(variable)] as const),
    ],
  },
  {
    group: 'Proof',
    rows: [
      [
        'verify',
        '',
        'Commands that must pass, one per line, for example `npm ci && npm test`. They run in the work tree after each iteration that changed something, and in a clean clone of the base and of what is published.',
      ],
    ],
  },
  {
    group: 'Tasks',
    rows: [
      ['task-label', 'ralph', 'Open issues with this label are the tasks.'],
      [
        'task-sources',
        'issues,plan,prd',
        'Where tasks come from; at the same priority, in this order: `issues` (with the label), `plan` (the checklist), `prd` (`prd.json`), `beads` (`.beads/*.jsonl`), and where none of them has a required task, `prompt` (what `PROMPT.md` itself asks for, until it is done).',
      ],
      [
        'command',
        '',
        'For `workflow_dispatch`: a command for the queue instead of a normal run: `run`, `status`, `doctor` (checks the set-up), `pause`, `resume`, `stop`, `retry` (optionally followed by an issue number or a task id), `reset circuit`, `reset session` or `help`.',
      ],
      [
        'working-directory',
        '.',
        'Folder of the repository where tasks, prompts and `.ralph/` are, and where the agent and `verify` run; `.` is the root. Work outside of it is published as well, and the pull request names it.',
      ],
      [
        'prompt-file',
        '.ralph/PROMPT.md',
        'Your own part of the prompt. If the file does not exist, the prompt of another Ralph is used, or else the built-in one.',
      ],
      ['base-branch', '', 'Branch that the work starts from and the pull request targets; empty = the default branch.'],
      [
        'branch-prefix',
        'ralph/',
        'Prefix of the branches that the action pushes to; it pushes to no others. All workflows of a repository need the same one.',
      ],
    ],
  },
  {
    group: 'Agent',
    rows: [
      [
        'agent',
        DEFAULT_AGENT,
        `Which agent works: ${INSTALLED.join(', ')}, or the program in \`agent-path\`: \`acp\`, which speaks the Agent Client Protocol, or \`command\`, which reads the prompt on its standard input and prints its answer. Several in order, for example \`claude, codex\`: when the provider of one is at its limit, refuses its key or fails, the next one continues.`,
      ],
      ['model', '', 'Model for the agent; when empty, the CLI chooses. With several agents NAME=MODEL for each.'],
      [
        'agent-path',
        '',
        'Path of an agent CLI that is already installed; when empty, `agent-version` is installed. With several agents NAME=PATH for each.',
      ],
      ['agent-args', '', 'Extra arguments for the agent CLI, one per line; with several agents each as NAME=ARGUMENT.'],
      [
        'agent-env',
        '',
        "Names of extra environment variables that the agent may see, for example `DATABASE_URL`. Those by which the agent finds its provider need not be named; the job's tokens are never passed.",
      ],
      [
        'allowed-tools',
        'Read,Edit,Write,Glob,Grep,Bash(git add:*),Bash(git commit:*),Bash(git diff:*),Bash(git log:*),Bash(git status:*),Bash(npm:*),Bash(pytest:*)',
        "Tools that the agent may use without asking (the CLI's permission rules). With a `+` before each rule, for example `+Bash(make:*)`, they are added to the default.",
      ],
      [
        'mcp-config',
        '',
        'Servers of the Model Context Protocol (MCP) whose tools the agent gets: the path of a file of the base branch, for example `.mcp.json`, or its content, `{"mcpServers": …}`.',
      ],
      [
        'isolation',
        'auto',
        'How far the agent and `verify` are kept apart from the runner: `namespace` (a user, processes, files and a network of their own; needs root or sudo), `user` (a user of their own), `none`, or `auto`: the strongest that works on this runner.',
      ],
      [
        'allowed-hosts',
        '',
        'Hosts that the agent and `verify` can reach besides the package registries of this machine, for example `api.example.com` or `*.example.org:8443`, and services of the job, for example `localhost:5432`; `none` = not even the registries, `any` = every public host.',
      ],
    ],
  },
  {
    group: 'Limits',
    rows: [
      ['max-iterations', '10', 'Maximum number of iterations (agent calls) in one run.'],
      [
        'max-minutes',
        '50',
        "Maximum number of minutes that a run works. Keep it 10 minutes below the job's `timeout-minutes`.",
      ],
      ['agent-timeout-minutes', '15', 'Maximum number of minutes for one agent call.'],
      ['max-calls-per-hour', '100', 'Maximum number of agent calls per hour, across all runs in the repository.'],
      ['max-cost-usd', '5', 'Maximum cost of one run in US dollars; 0 = no limit.'],
      [
        'max-cost-usd-per-day',
        '20',
        'Maximum cost per day (UTC) in US dollars, across all runs in the repository; 0 = no limit.',
      ],
      [
        'on-limit',
        'park',
        "What a run does when an hourly or daily limit, or the provider's usage limit, is reached: `park` ends it, and a later run continues; `wait` waits in the job if the limit is over before `max-minutes`, and ends it otherwise.",
      ],
    ],
  },
  {
    group: 'Circuit',
    rows: [
      ['circuit-no-progress', '3', 'Consecutive iterations without progress that open the circuit.'],
      ['circuit-same-error', '5', 'Consecutive iterations with the same error that open the circuit.'],
      ['circuit-cooldown-minutes', '30', 'Minutes that an open circuit cools down before one probe iteration.'],
    ],
  },
  {
    group: 'Pull requests',
    rows: [
      [
        'max-tasks-per-pr',
        '5',
        'Maximum number of tasks in one pull request of the queue; the queue then waits until it is merged or closed. 0 = no limit.',
      ],
      [
        'max-open-prs',
        '5',
        `Maximum number of open pull requests from Ralph's branches; at this number, scheduled runs open no more. 0 = no limit.`,
      ],
      [
        'draft',
        'true',
        '`true` opens the pull request as a draft and marks it ready for review when the work is complete.',
      ],
      [
        'pr-reviewers',
        'auto',
        'Who is asked to review the pull request when it is complete: `auto` (the person who asked for the work), `none`, or logins and teams (`org/team`; a team needs a token that can see it).',
      ],
      [
        'notify',
        'auto',
        'Who is mentioned in a comment when a person is needed: `auto` (the person who added the label, gave the command or ran the workflow by hand), `none` (no such comments), or logins. Bots are never mentioned.',
      ],
    ],
  },
  {
    group: 'State and result',
    rows: [
      [
        'state-store',
        'auto',
        'Where the state is kept between runs: `auto` uses a git ref of this repository and the Actions cache, `ref` or `cache` uses only that one, `none` keeps nothing. Only the ref keeps simultaneous runs apart and counts limits across the repository.',
      ],
      [
        'fail-on',
        'halted,failed',
        'Outcomes that make the step fail, comma-separated (cancelled, complete, halted, blocked, parked, limit, idle, paused, refused, failed).',
      ],
    ],
  },
  {
    group: 'Everything else',
    rows: [
      [
        'settings',
        '',
        'All other settings as YAML (or JSON), one `name: value` per line, for example `max-patch-kib: 4096`. It takes the names of inputs as well, except those of keys and tokens; an input comes first.',
      ],
    ],
  },
];

/** The inputs that only the action of one job has (.github/actions/job), which the reusable workflow sets. */
export const JOB_ROWS: readonly SettingGroup[] = [
  {
    group: 'Jobs',
    rows: [
      [
        'phase',
        'all',
        'Which part of a run this job does: `all`, or one of `gate`, `loop` and `publish` in three jobs; `finish` sums up several branches.',
      ],
      [
        'handoff-path',
        '${{ runner.temp }}/ralph-handoff',
        'Folder through which the jobs of a split run hand over; used with `phase` other than `all`.',
      ],
      [
        'handoff-digest',
        '',
        'Output `handoff-digest` of the job with `phase: gate`; required in the jobs after it, which take nothing else from the gate.',
      ],
      [
        'handoff-branch',
        '',
        'With `phase: gate`, `each` makes a hand-over for each branch, in folders `queue` and `issue-N`, as `parallel` needs; the jobs after it name the one that they take. Empty: one hand-over, without such a folder.',
      ],
      [
        'loop-result',
        '',
        "With `phase: publish`: GitHub's result of the job with `phase: loop`. After `skipped`, which says that the job never began, nothing counts as used.",
      ],
      [
        'login-ends',
        '',
        'With `phase: loop`: when the login ends that the job asked for, for example `2026-01-31T12:00:00Z`, or `none` if it got none. The run then needs isolation, and ends before that. Empty: the agent has a stored key.',
      ],
    ],
  },
];

/** The inputs with which jobs of the keyless reusable workflow log in, with their defaults. */
export const LOGIN_ROWS: readonly SettingRow[] = [
  ['aws-role', '', 'Amazon Bedrock: ARN of the role'],
  ['aws-region', '', 'Amazon Bedrock: region'],
  ['google-workload-identity-provider', '', 'Vertex AI: full name of the provider'],
  ['google-service-account', '', 'Vertex AI: email of the service account'],
  ['google-project', '', 'Vertex AI: project, if it is not that of the service account'],
  ['google-region', 'global', 'Vertex AI: location of the models'],
  ['anthropic-federation-rule', '', 'Anthropic: ID of the federation rule (fdrl_…)'],
  ['anthropic-organization', '', 'Anthropic: ID of the organization'],
  ['anthropic-service-account', '', 'Anthropic: ID of the service account (svac_…)'],
  ['anthropic-workspace', '', 'Anthropic: ID of the workspace, if the rule has several'],
];
