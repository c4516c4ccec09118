import { MINUTE_MS } from '../core/countdown.ts';
import { wantedIsolations } from '../core/isolation/probe.ts';
import { outcomeKinds } from '../core/outcome.ts';
import { lifecycleLabels } from '../core/people/labels.ts';
import { isLaneId, taskSourceNames } from '../core/tasks/ids.ts';
import {
  agentInputs,
  type AgentTexts,
  createInput,
  type InputTable,
  MAX_MINUTES,
  policyInputs,
  type PolicySettings,
} from './agent-inputs.ts';
import { commentReading, type Config, jobPhases, proveModes, signingModes, stateStores } from './config.ts';
import {
  allowedHostsField,
  autoMergeField,
  checkField,
  choiceField,
  choiceListField,
  durationField,
  filledField,
  flagField,
  folderField,
  issueQueryField,
  listField,
  loginTermField,
  mcpConfigField,
  optionalField,
  parseRepositoryName,
  pathField,
  priceListField,
  recipientsField,
  splitLines,
  splitList,
  textField,
  webhookField,
  wholeNumberField,
} from './fields.ts';

/** The field for the sources of tasks, in the order of the text. */
export const taskSources = checkField(
  choiceListField(taskSourceNames, { empty: `is empty: name at least one of ${taskSourceNames.join(', ')}` }),
  [(sources) => new Set(sources).size === sources.length, 'names a source twice'],
);

/** The parts of the Config that inputs set. */
export type Settings = Omit<Config, 'policy' | 'settings' | 'agent'> & {
  readonly policy: PolicySettings;
  readonly agent: Omit<Config['agent'], 'order' | 'others'> & { readonly each: AgentTexts };
};

/** All settings and the form of their texts. Their defaults are in setting-table.ts. */
export const inputTable: InputTable<Settings> = {
  githubToken: createInput('github-token', textField()),
  handoff: {
    phase: createInput('phase', choiceField(...jobPhases)),
    path: createInput(
      'handoff-path',
      textField([(path) => path === '' || /^(?:\/|[A-Za-z]:[\\/])/.test(path), 'must be an absolute path']),
    ),
    digest: createInput(
      'handoff-digest',
      textField([
        (digest) => /^([0-9a-f]{64})?$/.test(digest),
        'must be the output `handoff-digest` of the job with `phase: gate`',
      ]),
    ),
    lane: createInput(
      'handoff-branch',
      textField([(lane) => lane === '' || lane === 'each' || isLaneId(lane), 'must be `each`, `queue` or `issue-N`']),
    ),
    loopResult: createInput('loop-result', choiceField('', 'success', 'failure', 'cancelled', 'skipped')),
    login: createInput('login-ends', loginTermField),
  },
  isolation: {
    wanted: createInput('isolation', choiceField(...wantedIsolations)),
    hosts: createInput('allowed-hosts', allowedHostsField),
  },
  taskLabel: createInput(
    'task-label',
    filledField(
      'a label name',
      [(label) => label.length <= 50, 'is longer than the 50 characters that GitHub allows'],
      [(label) => !label.includes(','), 'has a comma, which GitHub reads as two labels'],
      [
        (label) => !Object.hasOwn(lifecycleLabels, label.toLowerCase()),
        'is a label that Ralph uses to show the status of an issue',
      ],
    ),
  ),
  issueQuery: createInput('issue-query', issueQueryField),
  dashboard: createInput('dashboard', flagField()),
  receipts: createInput('receipts', flagField()),
  taskSources: createInput('task-sources', taskSources),
  settingsFrom: createInput(
    'settings-from',
    optionalField((name) => parseRepositoryName(name) !== null, 'must be the name of a repository, OWNER/REPO'),
  ),
  optionalSections: createInput(
    'optional-sections',
    listField(
      [(sections) => sections.length <= 50, 'has more than 50 headings'],
      [(sections) => sections.every((section) => /\p{L}/u.test(section)), 'has a heading without a letter'],
    ),
  ),
  allowedBots: createInput(
    'allowed-bots',
    listField([
      (bots) => bots.every((bot) => /^[A-Za-z0-9-]{1,100}\[bot\]$/.test(bot)),
      "must be logins of bots as GitHub's API shows them, for example renovate[bot]",
    ]),
  ),
  commentsFrom: createInput('comments-from', choiceField(...commentReading)),
  command: createInput('command', textField([(command) => command.length <= 100, 'is longer than any command'])),
  agent: {
    each: agentInputs,
    envNames: createInput(
      'agent-env',
      listField(
        [
          (names) => names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
          'must be names of environment variables',
        ],
        [
          (names) => !names.some(isJobSecret),
          "names a variable that holds the job's own tokens (GITHUB_TOKEN, GH_TOKEN, ACTIONS_*, INPUT_*, STATE_*): the agent must never see those",
        ],
      ),
    ),
    mcp: createInput('mcp-config', mcpConfigField),
    stallMs: createInput('agent-stall-minutes', durationField(MINUTE_MS, { min: 0.1, max: MAX_MINUTES })),
  },
  policy: policyInputs,
  prices: createInput('prices', priceListField),
  testOnlyPercent: createInput('test-only-percent', wholeNumberField({ min: 1, max: 100 })),
  promptFile: createInput('prompt-file', pathField()),
  workingDirectory: createInput('working-directory', folderField),
  verify: createInput('verify', splitLines),
  branchPrefix: createInput(
    'branch-prefix',
    textField([
      (prefix) => /^[A-Za-z0-9][A-Za-z0-9._-]*\/$/.test(prefix),
      'must be one path segment that ends in a slash, for example ralph/',
    ]),
  ),
  baseBranch: createInput(
    'base-branch',
    optionalField((branch) => /^[A-Za-z0-9_][A-Za-z0-9._/-]*$/.test(branch), 'is not a branch name'),
  ),
  maxOpenPrs: createInput('max-open-prs', wholeNumberField({ min: 0, max: 1000 })),
  parallel: createInput('parallel', wholeNumberField({ min: 1, max: 20 })),
  draft: createInput('draft', flagField()),
  prLabels: createInput(
    'pr-labels',
    listField(
      [(labels) => labels.length <= 20, 'has more than 20 labels'],
      [
        (labels) => labels.every((label) => label.length <= 50),
        'has a name of more than 50 characters, which GitHub does not allow',
      ],
      [
        (labels) => !labels.some((label) => Object.hasOwn(lifecycleLabels, label.toLowerCase())),
        'names a label that Ralph uses to show the status of an issue',
      ],
    ),
  ),
  prReviewers: createInput('pr-reviewers', recipientsField({ teams: true })),
  prAssignees: createInput('pr-assignees', recipientsField({ teams: false })),
  notify: createInput('notify', recipientsField({ teams: false })),
  webhook: {
    address: createInput('notify-webhook', webhookField()),
    secret: createInput(
      'notify-webhook-secret',
      textField([(text) => text === '' || text.length >= 16, 'has fewer than 16 characters']),
    ),
  },
  autoMerge: createInput('auto-merge', autoMergeField()),
  proveTests: createInput('prove-tests', choiceField(...proveModes)),
  coAuthor: createInput('co-author', flagField()),
  signCommits: createInput('sign-commits', choiceField(...signingModes)),
  signOff: createInput('sign-off', flagField()),
  answers: {
    reviews: createInput('answer-reviews', flagField()),
    checks: createInput('answer-checks', flagField()),
    maxRounds: createInput('max-feedback-rounds', wholeNumberField({ min: 0, max: 100 })),
    resolve: createInput('resolve-threads', flagField()),
  },
  allowProtectedPaths: createInput('allow-protected-paths', splitList),
  maxPatchFiles: createInput('max-patch-files', wholeNumberField({ min: 1, max: 100_000 })),
  maxPatchKib: createInput('max-patch-kib', wholeNumberField({ min: 1, max: 1_048_576 })),
  stateStore: createInput('state-store', choiceField(...stateStores)),
  failOn: createInput('fail-on', choiceListField(outcomeKinds)),
};

/** Returns true if a variable of this name may contain the job's own credentials. */
export function isJobSecret(name: string): boolean {
  return /^OTEL_EXPORTER_OTLP_(\w+_)?HEADERS$|^(GITHUB_TOKEN|GH_TOKEN|GITHUB_ENV|GITHUB_PATH|GITHUB_OUTPUT|GITHUB_STATE|GITHUB_STEP_SUMMARY)$|^(ACTIONS|INPUT|STATE)_/i.test(
    name,
  );
}
