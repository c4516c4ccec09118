import { AGENTS } from '../core/agent-names.ts';

/** A setting: its name, its default as a text, and its description in Markdown. */
export type SettingRow = readonly [name: string, defaultText: string, description: string];

/** Settings that action.yml and the documents show together. */
export interface SettingGroup {
  readonly group: string;
  readonly rows: readonly SettingRow[];
}

/** The settings that are secrets: the action of one job takes them as inputs, and no job hands them over. */
export const SECRET_ROWS: SettingGroup = {
  group: 'Webhook',
  rows: [
    [
      'notify-webhook',
      '',
      'Address, `https://…`, that gets [a message](recipes.md#messages-to-slack-or-another-service) whenever a person is needed; an address of Slack in its form. It is kept secret.',
    ],
    ['notify-webhook-secret', '', 'Secret, at least 16 characters, with which these messages are signed.'],
  ],
};

/** The settings that are names under the input `settings`. */
export const SETTING_ROWS: readonly SettingGroup[] = [
  SECRET_ROWS,
  {
    group: 'Several repositories',
    rows: [
      [
        'settings-from',
        '',
        'Repository `OWNER/REPO` whose `.github/ralph-settings.yml` sets [limits, models and more](scale.md) where this one does not.',
      ],
    ],
  },
  {
    group: 'Tasks',
    rows: [
      [
        'dashboard',
        'false',
        '`true` keeps [one issue](merging.md#the-dashboard) with what needs you, the queue, cost and the last runs, and boxes that give orders.',
      ],
      [
        'issue-query',
        '',
        'GitHub search whose open issues are tasks in addition to those with the label, for example `type:Bug milestone:2.0`. It must name authors, or what writers set.',
      ],
      [
        'optional-sections',
        'Optional,Future,Nice to have',
        'Items of the plan under headings that begin with one of these are optional and never block completion.',
      ],
      [
        'allowed-bots',
        '',
        'Bots whose labels, edits, comments and reviews count as those of a person with write permission, for example `renovate[bot]`.',
      ],
      [
        'comments-from',
        'writers',
        'Whose comments on an issue the agent can read: `writers` (people with write permission), `everybody` or `nobody`. Comments made after the label was added are left out.',
      ],
    ],
  },
  {
    group: 'Agent',
    rows: [
      [
        'agent-version',
        Object.entries(AGENTS)
          .flatMap(([name, { source }]) => (source === null ? [] : [`${name}=${source.version}`]))
          .join(', '),
        "Exact version of the agent's CLI on npm, which is installed when `agent-path` is empty, or NAME=VERSION for each of several agents.",
      ],
      [
        'session',
        'resume',
        "`resume` keeps the agent's conversation across iterations and runs, `task` starts a new one for each task, `fresh` for each iteration.",
      ],
      ['session-expiry-hours', '24', 'A session that has been idle for this many hours is not resumed.'],
      [
        'agent-stall-minutes',
        '3',
        'A call is ended when the agent has only retried its provider for this many minutes (at least 0.1).',
      ],
      [
        'prices',
        '',
        "Prices of models, one per line, in US dollars per million tokens: `NAME=INPUT/OUTPUT` or `NAME=INPUT/CACHED/OUTPUT`, for example `gpt-5.5=1.25/0.125/10`. NAME is a model's name or a part of it; of several that fit, the longest counts.",
      ],
      [
        'on-permission-denied',
        'count',
        'What a denied tool call does: `count` counts towards the circuit, `halt` ends the run at once, `continue` ignores it.',
      ],
    ],
  },
  {
    group: 'Limits',
    rows: [
      [
        'max-iterations-per-task',
        '8',
        'Iterations that one task may take across all runs before it counts as failed; 0 = no limit.',
      ],
      [
        'max-tokens-per-hour',
        '0',
        'Maximum number of tokens per hour, including cache tokens, across all runs in the repository; 0 = no limit.',
      ],
    ],
  },
  {
    group: 'Circuit',
    rows: [
      [
        'circuit-permission-denials',
        '2',
        'Consecutive iterations with unrecovered permission denials that open the circuit.',
      ],
      [
        'circuit-output-decline',
        '70',
        `Percentage by which the agent's output must shrink, twice in a row and without progress, to open the circuit.`,
      ],
      ['circuit-auto-reset', 'false', '`true` closes an open circuit at the start of every run.'],
    ],
  },
  {
    group: 'When work is done',
    rows: [
      [
        'prove-tests',
        'auto',
        "`true` runs `verify` once more without a task's change, to show that [its tests fail there](proof.md#tests-that-prove-the-change); `auto` does so where `verify` takes at most 5 minutes; `false` never.",
      ],
      ['completion-signals', '2', 'Consecutive done signals that complete a run.'],
      ['test-only-iterations', '3', 'Consecutive test-only iterations that halt a run.'],
      [
        'test-only-percent',
        '30',
        `The summary reports a run in which at least this percentage of the iterations changed only tests.`,
      ],
    ],
  },
  {
    group: 'Pull requests',
    rows: [
      [
        'max-lines-per-pr',
        '1500',
        'Changed lines, not counting generated and lock files, after which a pull request of the queue takes no more tasks; 0 = no limit.',
      ],
      [
        'parallel',
        '1',
        'Number of pull requests, 1 to 20, on which a run of the queue may work at once; on GitHub, more than 1 needs the [reusable workflow](security.md#three-jobs).',
      ],
      [
        'pr-labels',
        '',
        'Labels that the pull request gets when it is opened or updated, comma-separated or one per line; those that do not exist are created.',
      ],
      [
        'pr-assignees',
        '',
        'Who is assigned to the pull request when it is complete: `auto` (the person who asked for the work), `none`, or logins; empty = nobody.',
      ],
      [
        'auto-merge',
        'false',
        "Arms [GitHub's auto-merge](merging.md#auto-merge): `true`, or a list of kinds of files that prevent it.",
      ],
      [
        'receipts',
        'false',
        "`true` keeps each run's [receipt](proof.md#signed-receipts) as a file, which the output `receipt-path` names and the reusable workflow uploads as an artifact.",
      ],
      ['co-author', 'true', '`true` names the agent as co-author of the commits it worked on.'],
      [
        'sign-commits',
        'auto',
        'Whether GitHub [signs the commits](proof.md#signed-commits): `auto` where a rule of the branch requires it, `true` or `false`.',
      ],
      [
        'sign-off',
        'false',
        '`true` ends the message of every commit with `Signed-off-by`, [in the name of Ralph](proof.md#signed-commits) and of no person.',
      ],
    ],
  },
  {
    group: 'Reviews and checks of its pull request',
    rows: [
      [
        'answer-reviews',
        'true',
        "`true`: reviews of Ralph's pull requests by people with write permission are worked on, before new tasks, and every thread is answered.",
      ],
      [
        'answer-checks',
        'true',
        "`true`: failed checks of Ralph's pull requests, and conflicts with the base branch, are worked on.",
      ],
      [
        'max-feedback-rounds',
        '3',
        'How often Ralph works on the same thread, check or conflict before it asks a person; what bots ask is counted for the whole pull request. A push by a person starts the count again; `0` = no limit.',
      ],
      [
        'resolve-threads',
        'false',
        '`true` marks a thread of a review as resolved once it was answered with a change; `false` leaves that to people.',
      ],
    ],
  },
  {
    group: 'What may be published',
    rows: [
      [
        'allow-protected-paths',
        '',
        'Patterns of protected paths that the agent may change anyway, for example `.claude/**`.',
      ],
      ['max-patch-files', '300', 'Maximum number of changed files that one iteration may publish.'],
      ['max-patch-kib', '2048', 'Maximum KiB of changed content that one iteration may publish.'],
    ],
  },
];
