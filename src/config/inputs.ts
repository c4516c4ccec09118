import { z } from 'zod';
import { lifecycleLabels } from '../core/people/labels.ts';
import { outcomeKinds } from '../core/outcome.ts';
import { wantedIsolations } from '../core/isolation/level.ts';
import { UserError } from '../errors.ts';
import { taskSourceNames } from '../core/tasks/task-sources.ts';
import { commentReading, phases, stateStores, type Config } from './config.ts';
import { allowedHosts, choice, filled, flag, lines, list, optional, recipients, whole } from './fields.ts';
import { policyInputs } from './policy-inputs.ts';
import { KEY_INPUTS } from './key-inputs.ts';
import { renamedTo } from './renamed.ts';
import { input, namesIn, parseTexts, type GivenSettings, type InputProblem, type InputTable } from './table.ts';
import { capped } from '../core/text/cut.ts';
import { nearest } from '../core/text/nearest.ts';
import { oneLine } from '../core/text/one-line.ts';
import { sentence } from '../core/text/sentence.ts';

/** Where tasks come from, in the order of the text. */
export const taskSources = list()
  .pipe(
    z
      .array(z.enum(taskSourceNames, { error: `must be a list of: ${taskSourceNames.join(', ')}` }))
      .min(1, `is empty: name at least one of ${taskSourceNames.join(', ')}`),
  )
  .refine((sources) => new Set(sources).size === sources.length, 'names a source twice');

/** What inputs set of the Config. */
type Settings = Omit<Config, 'policy'> & { readonly policy: Omit<Config['policy'], 'verifies'> };

/** Every input of action.yml and what its text may be. Defaults are in action.yml alone. */
const inputs: InputTable<Settings> = {
  githubToken: input('github-token', z.string()),
  handoff: {
    phase: input('phase', choice(...phases)),
    path: input(
      'handoff-path',
      filled('a folder').refine(
        (path) => path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path),
        'must be an absolute path',
      ),
    ),
    digest: input(
      'handoff-digest',
      z.string().regex(/^([0-9a-f]{64})?$/, 'must be the output `handoff-digest` of the job with `phase: gate`'),
    ),
  },
  isolation: { wanted: input('isolation', choice(...wantedIsolations)), hosts: input('allowed-hosts', allowedHosts()) },
  taskLabel: input(
    'task-label',
    filled('a label name')
      .refine((label) => label.length <= 50, 'is longer than the 50 characters that GitHub allows')
      .refine((label) => !label.includes(','), 'has a comma, which GitHub reads as two labels')
      .refine(
        (label) => !Object.hasOwn(lifecycleLabels, label.toLowerCase()),
        'is a label that Ralph uses to show the status of an issue',
      ),
  ),
  taskSources: input('task-sources', taskSources),
  allowedBots: input(
    'allowed-bots',
    list().refine(
      (bots) => bots.every((bot) => /^[A-Za-z0-9-]{1,100}\[bot\]$/.test(bot)),
      "must be logins of bots as GitHub's API shows them, for example renovate[bot]",
    ),
  ),
  commentsFrom: input('comments-from', choice(...commentReading)),
  command: input('command', z.string().max(100, 'is longer than any command')),
  agent: {
    version: input('agent-version', z.string().regex(/^\d+\.\d+\.\d+$/, 'is not an exact version such as 2.1.330')),
    path: input('agent-path', optional()),
    args: input('agent-args', lines()),
    envNames: input(
      'agent-env',
      list()
        .refine(
          (names) => names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
          'must be names of environment variables',
        )
        .refine(
          (names) => !names.some(isJobSecret),
          "names a variable that holds the job's own tokens (GITHUB_TOKEN, GH_TOKEN, ACTIONS_*, INPUT_*, STATE_*): the agent must never see those",
        ),
    ),
    model: input('model', optional()),
  },
  policy: policyInputs,
  promptFile: input(
    'prompt-file',
    filled('a path').refine(
      (path) => !path.startsWith('/') && !path.split('/').includes('..'),
      'must be a path inside the workspace',
    ),
  ),
  verify: input('verify', lines()),
  branchPrefix: input(
    'branch-prefix',
    z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*\/$/, 'must be one path segment that ends in a slash, for example ralph/'),
  ),
  baseBranch: input(
    'base-branch',
    optional().refine(
      (branch) => branch === null || /^[A-Za-z0-9_][A-Za-z0-9._/-]*$/.test(branch),
      'is not a branch name',
    ),
  ),
  maxOpenPrs: input('max-open-prs', whole({ min: 0, max: 1000 })),
  draft: input('draft', flag()),
  prLabels: input(
    'pr-labels',
    list()
      .refine((labels) => labels.length <= 20, 'has more than 20 labels')
      .refine(
        (labels) => labels.every((label) => label.length <= 50),
        'has a name of more than 50 characters, which GitHub does not allow',
      )
      .refine(
        (labels) => !labels.some((label) => Object.hasOwn(lifecycleLabels, label.toLowerCase())),
        'names a label that Ralph uses to show the status of an issue',
      ),
  ),
  prReviewers: input('pr-reviewers', recipients({ teams: true })),
  prAssignees: input('pr-assignees', recipients({ teams: false })),
  notify: input('notify', recipients({ teams: false })),
  coAuthor: input('co-author', flag()),
  allowProtectedPaths: input('allow-protected-paths', list()),
  maxPatchFiles: input('max-patch-files', whole({ min: 1, max: 100_000 })),
  maxPatchKib: input('max-patch-kib', whole({ min: 1, max: 1_048_576 })),
  stateStore: input('state-store', choice(...stateStores)),
  failOn: input(
    'fail-on',
    list().pipe(z.array(z.enum(outcomeKinds, { error: `must be a list of: ${outcomeKinds.join(', ')}` }))),
  ),
};

/** Names of all inputs, as action.yml must list them. */
export const INPUT_NAMES = [...namesIn(inputs), ...KEY_INPUTS];

/** Parses the inputs' texts into a Config; throws one UserError that lists every problem. A name that is not an input is one: a limit with a slip in its name would not bind. */
export function parseInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  const trimmed = Object.fromEntries(
    [...INPUT_NAMES, ...Object.keys(texts)].map((name) => [name, texts[name]?.trim()]),
  );
  const { settings, problems: found } = parseTexts(inputs, trimmed);
  const problems = [...found, ...missingFor(settings), ...unknownInputs(Object.keys(texts))];
  if (problems.length > 0) {
    const count = new Set(problems.map(({ name }) => name)).size;
    const lines = problems.map(({ name, why }) => describeProblem(name, trimmed[name], why));
    throw new UserError(
      'configuration',
      `${count === 1 ? 'An input is' : `${String(count)} inputs are`} not usable:\n${[...new Set(lines)].join('\n')}`,
    );
  }
  // Every text was there, so every setting is.
  const { policy, ...rest } = settings as Settings;
  return { ...rest, policy: { ...policy, verifies: rest.verify.length > 0 } };
}

/** Inputs that one phase needs and another has no use for. */
function missingFor({ githubToken, handoff, policy }: GivenSettings<Settings>): readonly InputProblem[] {
  const phase = handoff?.phase ?? 'all';
  const needsDigest = phase === 'loop' || phase === 'publish';
  return [
    // The job of the loop cannot ask what other runs have used meanwhile.
    ...(phase !== 'all' && policy?.onLimit === 'wait'
      ? [{ name: 'on-limit', why: 'works in one job only (`phase: all`): with three jobs use `park`' }]
      : []),
    ...(githubToken === '' && phase !== 'loop'
      ? [{ name: 'github-token', why: 'is empty: give a token, for example ${{ github.token }}' }]
      : []),
    ...(needsDigest && handoff?.digest === ''
      ? [
          {
            name: 'handoff-digest',
            why: `is empty: with \`phase: ${phase}\` give it the output \`handoff-digest\` of the job with \`phase: gate\``,
          },
        ]
      : []),
  ];
}

/** What is wrong with the texts of some inputs; nothing is, where an input is not among them. */
export function inputProblems(texts: Readonly<Record<string, string>>): readonly InputProblem[] {
  return parseTexts(inputs, texts).problems;
}

/** Whom to reach, and how, where some other input stops the run. What is not usable itself is as if it named nobody and nothing; for `notify` it is who asked. */
export type Reach = Pick<
  Config,
  'githubToken' | 'notify' | 'taskLabel' | 'taskSources' | 'allowedBots' | 'command' | 'branchPrefix'
>;

/** null: without a token nobody can be reached. */
export function parseReach(texts: Readonly<Record<string, string | undefined>>): Reach | null {
  const { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix } = inputs;
  const { settings } = parseTexts<Reach>(
    { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix },
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()])),
  );
  const { githubToken } = settings;
  if (githubToken === undefined || githubToken === '') return null;
  const nothing = { taskLabel: '', taskSources: [], allowedBots: [], command: '', branchPrefix: '' };
  return { ...nothing, notify: { kind: 'auto' }, ...settings, githubToken };
}

function unknownInputs(names: readonly string[]): readonly InputProblem[] {
  return names
    .filter((name) => !INPUT_NAMES.includes(name))
    .map((name) => {
      const near = nearest(name.replaceAll('_', '-'), INPUT_NAMES);
      const why = `is not an input of this action${near === null ? '' : `. Did you mean ${near}?`}`;
      return { name, why: renamedTo(name) ?? why };
    });
}

function describeProblem(name: string, value: string | undefined, message: string): string {
  // What stands under a name that is not an input may be a key.
  if (!INPUT_NAMES.includes(name)) return `- ${oneLine(name, 80)}: ${sentence(message)}`;
  if (value === undefined)
    return `- ${name}: is missing. The runner sets it from action.yml; outside a runner set INPUT_${name.toUpperCase()}.`;
  const shown = name === 'github-token' ? '' : ` ${JSON.stringify(capped(value, 81))}`;
  return `- ${name}:${shown} ${sentence(message)}`;
}

/** Whether a variable of this name may carry the job's own credentials. */
export function isJobSecret(name: string): boolean {
  return /^(GITHUB_TOKEN|GH_TOKEN|GITHUB_ENV|GITHUB_PATH|GITHUB_OUTPUT|GITHUB_STATE|GITHUB_STEP_SUMMARY)$|^(ACTIONS|INPUT|STATE)_/i.test(
    name,
  );
}
