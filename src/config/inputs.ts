import { z } from 'zod';
import { lifecycleLabels } from '../core/people/labels.ts';
import { outcomeKinds } from '../core/outcome.ts';
import { wantedIsolations } from '../core/isolation/level.ts';
import { MINUTE_MS } from '../core/time.ts';
import { UserError } from '../errors.ts';
import { taskSourceNames } from '../core/tasks/task-sources.ts';
import { agentInputs, chooseAgents, chooseFrom, type AgentTexts } from './agent-inputs.ts';
import { commentReading, phases, stateStores, type Config } from './config.ts';
import {
  allowedHostsField,
  choice,
  duration,
  filled,
  flag,
  folder,
  lines,
  listField,
  mcpConfig,
  optional,
  pathInside,
  priceList,
  recipients,
  whole,
} from './fields.ts';
import { MAX_MINUTES, policyInputs, type PolicySettings } from './policy-inputs.ts';
import { KEY_INPUTS } from './key-inputs.ts';
import { renamedTo } from './renamed.ts';
import type { FoundSetting } from '../core/settings/found-setting.ts';
import { placeName } from './settings/settings.ts';
import { input, inputNamesIn, parseTexts, type GivenSettings, type InputProblem, type InputTable } from './table.ts';
import { capped } from '../core/text/cut.ts';
import { nearest } from '../core/text/nearest.ts';
import { oneLine } from '../core/text/one-line.ts';
import { sentence } from '../core/text/sentence.ts';

/** Where tasks come from, in the order of the text. */
export const taskSources = listField()
  .pipe(
    z
      .array(z.enum(taskSourceNames, { error: `must be a list of: ${taskSourceNames.join(', ')}` }))
      .min(1, `is empty: name at least one of ${taskSourceNames.join(', ')}`),
  )
  .refine((sources) => new Set(sources).size === sources.length, 'names a source twice');

/** What inputs set of the Config. */
type Settings = Omit<Config, 'policy' | 'settings' | 'agent'> & {
  readonly policy: PolicySettings;
  readonly agent: Omit<Config['agent'], 'order'> & { readonly each: AgentTexts };
};

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
  isolation: {
    wanted: input('isolation', choice(...wantedIsolations)),
    hosts: input('allowed-hosts', allowedHostsField()),
  },
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
  optionalSections: input(
    'optional-sections',
    listField()
      .refine((sections) => sections.length <= 50, 'has more than 50 headings')
      .refine((sections) => sections.every((section) => /\p{L}/u.test(section)), 'has a heading without a letter'),
  ),
  allowedBots: input(
    'allowed-bots',
    listField().refine(
      (bots) => bots.every((bot) => /^[A-Za-z0-9-]{1,100}\[bot\]$/.test(bot)),
      "must be logins of bots as GitHub's API shows them, for example renovate[bot]",
    ),
  ),
  commentsFrom: input('comments-from', choice(...commentReading)),
  command: input('command', z.string().max(100, 'is longer than any command')),
  agent: {
    each: agentInputs,
    envNames: input(
      'agent-env',
      listField()
        .refine(
          (names) => names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
          'must be names of environment variables',
        )
        .refine(
          (names) => !names.some(isJobSecret),
          "names a variable that holds the job's own tokens (GITHUB_TOKEN, GH_TOKEN, ACTIONS_*, INPUT_*, STATE_*): the agent must never see those",
        ),
    ),
    mcp: input('mcp-config', mcpConfig()),
    stallMs: input('agent-stall-minutes', duration(MINUTE_MS, { min: 0.1, max: MAX_MINUTES })),
  },
  policy: policyInputs,
  prices: input('prices', priceList()),
  testOnlyPercent: input('test-only-percent', whole({ min: 1, max: 100 })),
  promptFile: input('prompt-file', pathInside()),
  workingDirectory: input('working-directory', folder()),
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
    listField()
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
  answers: {
    reviews: input('answer-reviews', flag()),
    checks: input('answer-checks', flag()),
    maxRounds: input('max-feedback-rounds', whole({ min: 0, max: 100 })),
    resolve: input('resolve-threads', flag()),
  },
  allowProtectedPaths: input('allow-protected-paths', listField()),
  maxPatchFiles: input('max-patch-files', whole({ min: 1, max: 100_000 })),
  maxPatchKib: input('max-patch-kib', whole({ min: 1, max: 1_048_576 })),
  stateStore: input('state-store', choice(...stateStores)),
  failOn: input(
    'fail-on',
    listField().pipe(z.array(z.enum(outcomeKinds, { error: `must be a list of: ${outcomeKinds.join(', ')}` }))),
  ),
};

/** Names of all inputs, as action.yml must list them. */
export const INPUT_NAMES = [...inputNamesIn(inputs), ...KEY_INPUTS];

/** The texts of the inputs, and what else decides about the Config. */
export interface ConfigTexts {
  readonly texts: Readonly<Record<string, string | undefined>>;
  /** Those of the settings in `texts` that are no input's own. */
  readonly counting: readonly FoundSetting[];
  readonly settings: Config['settings'];
  /** What is wrong with settings whatever the inputs say, as lines for a person. */
  readonly problems: readonly string[];
}

/** Of a run that nothing but its inputs sets up. */
export const NO_SETTINGS: Config['settings'] = { found: [], lines: [], unknown: null };

/** Parses the inputs' texts into a Config; throws one UserError that lists every problem. A name that is not an input is one: a limit with a slip in its name would not bind. */
export function parseInputs(texts: Readonly<Record<string, string | undefined>>): Config {
  return parseConfig({ texts, counting: [], settings: NO_SETTINGS, problems: [] });
}

/** Parses the inputs' texts, with settings in the place of some, into a Config; throws one UserError that lists every problem of both. */
export function parseConfig({ texts, counting, settings: found, problems: unread }: ConfigTexts): Config {
  const trimmed = Object.fromEntries(
    [...INPUT_NAMES, ...Object.keys(texts)].map((name) => [name, texts[name]?.trim()]),
  );
  const parsed = parseTexts(inputs, trimmed);
  const ofAgents = parsed.settings.agent?.each;
  const agents = isWhole(ofAgents) ? chooseAgents(ofAgents) : null;
  const problems = [
    ...parsed.problems,
    ...(agents?.problems ?? []),
    ...missingFor(parsed.settings),
    ...unknownInputs(Object.keys(texts)),
  ];
  if (problems.length > 0 || unread.length > 0 || agents === null) {
    const lines = [
      ...new Set([
        ...problems.map(({ name, why }) => describeProblem({ name, why, value: trimmed[name] }, counting)),
        ...unread.map((line) => `- ${line}`),
      ]),
    ];
    const count = new Set(problems.map(({ name }) => name)).size + unread.length;
    const isOfInputs = unread.length === 0 && problems.every(({ name }) => placesOf(name, counting) === null);
    const what = isOfInputs ? ['An input is', 'inputs are'] : ['A setting is', 'settings are'];
    throw new UserError(
      'configuration',
      `${count === 1 ? (what[0] ?? '') : `${String(count)} ${what[1] ?? ''}`} not usable:\n${lines.join('\n')}`,
    );
  }
  // Every text was there, so every setting is.
  const { policy, agent, ...rest } = parsed.settings as Settings;
  const { envNames, mcp, stallMs } = agent;
  const [firstAgent, ...otherAgents] = agents.order;
  return {
    ...rest,
    agent: { order: agents.order, envNames, mcp, stallMs },
    policy: {
      ...policy,
      agents: [firstAgent.name, ...otherAgents.map(({ name }) => name)],
      agentFailures: 'apart',
      verifies: rest.verify.length > 0,
      callsPerIteration: 1,
      agentSteps: [],
      otherSteps: [],
      maxCalls: 0,
      maxWaitMs: 0,
    },
    settings: found,
  };
}

function isWhole(texts: GivenSettings<AgentTexts> | undefined): texts is AgentTexts {
  return texts !== undefined && Object.keys(agentInputs).every((field) => Object.hasOwn(texts, field));
}

/** What a job that takes its settings from another one needs of its own inputs for that; null: they are not usable, and parsing all of them says why. */
export function parseHandoff(texts: Readonly<Record<string, string | undefined>>): Config['handoff'] | null {
  const trimmed = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()]));
  const { settings, problems } = parseTexts(inputs.handoff, trimmed);
  return problems.length > 0 || Object.keys(settings).length < inputNamesIn(inputs.handoff).length
    ? null
    : (settings as Config['handoff']);
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
  return [...parseTexts(inputs, texts).problems, ...chooseFrom(texts).problems];
}

/** Whom to reach, and how, where some other input stops the run. What is not usable itself is as if it named nobody and nothing; for `notify` it is who asked. */
export type Reach = Pick<
  Config,
  'githubToken' | 'notify' | 'taskLabel' | 'taskSources' | 'allowedBots' | 'command' | 'branchPrefix'
> & { readonly answers: Pick<Config['answers'], 'reviews' | 'checks'> };

/** null: without a token nobody can be reached. */
export function parseReach(texts: Readonly<Record<string, string | undefined>>): Reach | null {
  const { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix } = inputs;
  const { reviews, checks } = inputs.answers;
  const answers = { reviews, checks };
  const { settings } = parseTexts<Reach>(
    { githubToken: token, notify, taskLabel, taskSources, allowedBots, command, branchPrefix, answers },
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text?.trim()])),
  );
  const { githubToken } = settings;
  if (githubToken === undefined || githubToken === '') return null;
  const nothing = { taskLabel: '', taskSources: [], allowedBots: [], command: '', branchPrefix: '' };
  const answered = { reviews: true, checks: true, ...settings.answers };
  return { ...nothing, notify: { kind: 'auto' }, ...settings, answers: answered, githubToken };
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

/** Inputs whose text may hold a secret. */
const UNSHOWN: readonly string[] = ['github-token', 'mcp-config'];

function describeProblem(
  { name, value, why }: InputProblem & { readonly value: string | undefined },
  counting: readonly FoundSetting[],
): string {
  // What stands under a name that is not an input may be a key.
  if (!INPUT_NAMES.includes(name)) return `- ${oneLine(name, 80)}: ${sentence(why)}`;
  if (value === undefined)
    return `- ${name}: is missing. The runner sets it from action.yml; outside a runner set INPUT_${name.toUpperCase()}.`;
  const shown = UNSHOWN.includes(name) ? '' : ` ${JSON.stringify(capped(value, 81))}`;
  const places = placesOf(name, counting);
  return places === null ? `- ${name}:${shown} ${sentence(why)}` : `- ${places}${shown} ${sentence(why)} (${name})`;
}

/** Where the setting stands that is in the place of an input; null: the input is its own. */
function placesOf(name: string, counting: readonly FoundSetting[]): string | null {
  return (
    counting
      .find(({ input: of }) => of === name)
      ?.places.map(placeName)
      .join(' and ') ?? null
  );
}

/** Whether a variable of this name may carry the job's own credentials. */
export function isJobSecret(name: string): boolean {
  return /^(GITHUB_TOKEN|GH_TOKEN|GITHUB_ENV|GITHUB_PATH|GITHUB_OUTPUT|GITHUB_STATE|GITHUB_STEP_SUMMARY)$|^(ACTIONS|INPUT|STATE)_/i.test(
    name,
  );
}
