import type { EffectiveSetting } from '../settings/effective.ts';
import { nearest } from '../text/nearest.ts';
import { namesOf, oneLine, sentence } from '../text/phrase.ts';
import type { ActionRules, Asked, DefaultedInput, OtherWorkflow, Repository } from './facts.ts';
import { remedy, fine, problem, unchecked, warning, type Finding } from './finding.ts';
import { yamlText } from '../text/yaml-text.ts';
import { callsRalph, isExpression, type RalphStep, secretsIn, type Workflow } from './workflow.ts';

/** A step of a workflow, with everything else that its checks need. */
export interface LookedAt {
  readonly step: RalphStep;
  readonly workflow: Workflow;
  readonly rules: ActionRules;
  readonly repository: Asked<Repository>;
  readonly others: readonly OtherWorkflow[];
  /** The settings of the workflow's runs; empty if unknown. */
  readonly settings: readonly EffectiveSetting[];
}

/** Returns an input of the step, or its default; null for an expression, whose value is not known here. */
export function inputOf({ step, rules }: Pick<LookedAt, 'step' | 'rules'>, name: DefaultedInput): string | null {
  const text = Object.hasOwn(step.inputs, name) ? (step.inputs[name] ?? '') : (rules.defaults[name] ?? '');
  return isExpression(text) ? null : text;
}

/** Returns the address of a page below the repository's own, or null if the repository is unknown. */
export function settingsPageOf(repository: Asked<Repository>, path: string): string | null {
  return repository.kind === 'known' ? `${repository.value.webUrl}/${path}` : null;
}

/** Returns a setting of the repository; if the repository is unknown, so is the setting, for the same reason. */
export function repositorySettingOf<Name extends keyof Repository['settings']>(
  repository: Asked<Repository>,
  name: Name,
): Repository['settings'][Name] | { readonly kind: 'unknown'; readonly why: string } {
  return repository.kind === 'known' ? repository.value.settings[name] : repository;
}

/** Returns the findings that need only the workflow's file. */
export function stepFindings(looked: LookedAt): readonly Finding[] {
  return [
    ...placeholder(looked),
    ...inputNames(looked),
    ...triggers(looked),
    ...eventFilter(looked),
    permissions(looked),
    pullRequests(looked),
    checkout(looked),
    runner(looked),
    ...secrets(looked),
    cache(looked),
    ...jobCaches(looked),
    ...notify(looked),
    ...autoMerge(looked),
  ];
}

/** Warns about caches, because a post step stores what the agent left in the job's folders. */
function jobCaches({ step }: LookedAt): readonly Finding[] {
  if (step.caches.length === 0) return [];
  return [
    warning(
      'cache',
      `The agent's job stores a cache (${namesOf([...new Set(step.caches)].map((uses) => `\`${oneLine(uses, 60)}\``))}) once the agent has worked: what it wrote into folders such as \`node_modules\` or \`target\` would be in it, and later jobs restore it.`,
      remedy('Only restore it in this job (`actions/cache/restore`), and store it in a job without the agent.', {}),
    ),
  ];
}

function placeholder({ step }: LookedAt): readonly Finding[] {
  if (!step.action.startsWith('OWNER/')) return [];
  return [
    problem(
      'placeholder',
      `The step uses \`${step.action}\`, where OWNER is a placeholder.`,
      remedy('Replace OWNER with the account that has the action.', {}),
    ),
  ];
}

function inputNames({ step, rules }: LookedAt): readonly Finding[] {
  const known = [...rules.inputs, ...(/\/actions\/job(?:@|$)/.test(step.action) ? rules.jobInputs : [])];
  const unknown = Object.keys(step.given).filter((name) => !known.includes(name.toLowerCase()));
  const values = inputValues(step, rules);
  if (unknown.length + values.length === 0)
    return [fine('inputs', 'Every input is an input of the action, with a value that it takes.')];
  const names = unknown.map((name) => {
    const renamed = rules.renamed(name.toLowerCase());
    if (renamed !== null)
      return problem('inputs', `\`${name}\` ${renamed}.`, remedy('Rename it: the action refuses this name.', {}));
    if (rules.jobInputs.includes(name.toLowerCase()))
      return problem(
        'inputs',
        `\`${name}\` is an input of the action of one job.`,
        remedy(
          'Remove it: the reusable workflow sets it. In a job of your own, use the action `.github/actions/job` of ralph-action.',
          {},
        ),
      );
    if (Object.hasOwn(rules.defaults, name.toLowerCase()))
      return problem(
        'inputs',
        `\`${name}\` is a setting, not an input.`,
        remedy('Put it under `settings`.', { paste: `settings: |\n  ${name}: ${yamlText(step.given[name] ?? '')}` }),
      );
    const near = nearest(name.toLowerCase().replaceAll('_', '-'), Object.keys(rules.defaults));
    return problem(
      'inputs',
      `\`${name}\` is not an input of this action.`,
      near === null ? remedy('Remove it.', {}) : remedy(`Did you mean \`${near}\`?`, {}),
    );
  });
  return [...names, ...values];
}

/** Checks the values of inputs that are not expressions, because only a run knows the value of an expression. */
function inputValues({ inputs }: RalphStep, rules: ActionRules): readonly Finding[] {
  const written = Object.entries(inputs).filter(([, text]) => !isExpression(text));
  const texts = Object.fromEntries(written.map(([name, text]) => [name.toLowerCase(), text]));
  return rules
    .inputProblems(texts)
    .map(({ name, why }) =>
      problem(
        'inputs',
        sentence(`\`${name}: ${oneLine(texts[name] ?? '', 60)}\` ${why}`),
        remedy('Correct it: the action refuses this value.', {}),
      ),
    );
}

function triggers({ workflow, step, rules }: LookedAt): readonly Finding[] {
  // A called workflow runs for the events of its callers, and a condition may leave out the others.
  if (workflow.triggers.some(({ event }) => event === 'workflow_call') || step.condition.includes('event_name'))
    return [fine('triggers', 'Which events reach the action is decided by a condition or by the calling workflow.')];
  const wrong = workflow.triggers.flatMap(({ event, types }) => {
    const rows = rules.events.filter((row) => row.event === event);
    if (rows.length === 0) return [problem('triggers', `The action does not work on the event \`${event}\`.`, remove)];
    const supported = rows.flatMap((row) => row.types ?? []);
    if (supported.length === 0) return [];
    const paste = `${event}:\n  types: [${supported.join(', ')}]`;
    if (types === null)
      return [
        warning(
          'triggers',
          `\`${event}\` has no \`types\`, so it starts runs for types that the action does not support.`,
          remedy('Name the types that you want, of these.', { paste }),
        ),
      ];
    const others = types.filter((type) => !supported.includes(type));
    return others.length === 0
      ? []
      : [
          problem(
            'triggers',
            `\`${event}\` has types that the action does not support: ${namesOf(others)}.`,
            remedy('Keep only types of these.', { paste }),
          ),
        ];
  });
  return wrong.length > 0 ? wrong : [fine('triggers', 'Every trigger is one that the action supports.')];
}

const remove = remedy('Remove it from `on:`: such runs fail.', {});

function eventFilter(looked: LookedAt): readonly Finding[] {
  const { workflow, step } = looked;
  const has = (event: string): boolean => workflow.triggers.some((trigger) => trigger.event === event);
  const missing = [
    ...(has('issues') && !/event\.label|labels/.test(step.condition) ? ['issues'] : []),
    ...(has('issue_comment') && !/comment\.body/.test(step.condition) ? ['issue_comment'] : []),
  ];
  const label = inputOf(looked, 'task-label');
  if (has('issues') && label !== null) {
    const other = [inCondition(step), inCalledWorkflow(looked)].find(
      ({ labels }) => labels.length > 0 && !labels.some((name) => sameLabel(name, label)),
    );
    if (other !== undefined) return [otherLabel(looked, label, other)];
  }
  if (missing.length === 0)
    return has('issues') || has('issue_comment')
      ? [fine('event-filter', 'The job leaves out other labels and other comments.')]
      : [];
  return [
    warning(
      'event-filter',
      `${namesOf(missing)}: the job has no \`if\` that leaves out other labels and comments, so each of them starts a job.`,
      remedy('Give the job this condition, with your task label.', {
        paste:
          "if: ${{ !github.event.issue || github.event.label.name == 'ralph' || startsWith(github.event.comment.body, '/ralph') }}",
      }),
    ),
  ];
}

/**
 * A place that compares labels before a run begins. `labels` is empty if it names none, or if only a run knows them.
 */
interface LabelFilter {
  readonly waits: string;
  readonly labels: readonly string[];
  readonly toMatch: (label: string) => NonNullable<Finding['remedy']>;
}

function otherLabel({ settings }: LookedAt, label: string, { waits, labels, toMatch }: LabelFilter): Finding {
  const setting = settings.find(({ input }) => input === 'task-label');
  const from = setting?.origin === 'file' || setting?.origin === 'environment' ? ` (${setting.where})` : '';
  const names = namesOf(labels.map((name) => `\`${name}\``));
  return warning(
    'event-filter',
    `${waits} waits for the label ${names}, but \`task-label\` is \`${label}\`${from}: that label starts no job.`,
    toMatch(label),
  );
}

function inCondition({ condition }: RalphStep): LabelFilter {
  return {
    waits: "The job's `if`",
    labels: [...condition.matchAll(LABEL_CONDITIONS)].map(([, ...names]) =>
      (names.find(Boolean) ?? '').replaceAll("''", "'"),
    ),
    toMatch: (label) =>
      remedy('Use the same label in both.', { paste: `github.event.label.name == '${label.replaceAll("'", "''")}'` }),
  };
}

const LABEL_CONDITIONS =
  /\blabel\.name\s*==\s*'((?:[^']|'')*)'|'((?:[^']|'')*)'\s*==\s*github\.event\.label\.name\b|(?<!!\s*)\bcontains\(\s*github\.event\.issue\.labels\.\*\.name\s*,\s*'((?:[^']|'')*)'/g;

/** Returns the filter of the reusable workflow, which compares with its own input regardless of a settings file. */
function inCalledWorkflow({ step, rules }: LookedAt): LabelFilter {
  const own = step.given['task-label'] ?? rules.defaults['task-label'] ?? '';
  return {
    waits: 'The first job of the called workflow',
    labels: callsRalph(step.action) && !isExpression(own) ? [own] : [],
    toMatch: (label) => remedy('Give the called workflow this input.', { paste: `task-label: ${yamlText(label)}` }),
  };
}

/** Compares labels without regard to case, as GitHub compares labels and texts in expressions. */
function sameLabel(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

const needed = ['contents', 'issues', 'pull-requests'];
/** The rights with which a run sees the failed checks and the reasons. */
export const READS = ['checks', 'statuses', 'actions'] as const;

function permissions({ step, repository }: LookedAt): Finding {
  if (hasOwnToken(step)) return ownToken('permissions');
  const { permissions: given } = step;
  const paste = [
    'permissions:',
    ...needed.map((name) => `  ${name}: write`),
    ...READS.map((name) => `  ${name}: read`),
  ].join('\n');
  if (given.kind !== 'absent') {
    const lacking = needed.filter((name) =>
      given.kind === 'all' ? given.level !== 'write-all' : given.levels[name] !== 'write',
    );
    return lacking.length === 0
      ? fine('permissions', 'The workflow may write contents, issues and pull requests.')
      : problem(
          'permissions',
          `The workflow lacks ${namesOf(lacking.map((name) => `\`${name}: write\``))}.`,
          remedy('Set its permissions.', { paste }),
        );
  }
  const token = repositorySettingOf(repository, 'token');
  if (token.kind === 'unknown')
    return unchecked(
      'permissions',
      `The workflow has no \`permissions\`, and the repository's default could not be checked: ${token.why}`,
      remedy('Set its permissions.', { paste }),
    );
  return token.value.writes
    ? fine('permissions', "The repository's default lets workflows write.")
    : problem(
        'permissions',
        "The workflow has no `permissions`, and the repository's default lets workflows only read.",
        remedy('Set its permissions.', { paste }),
      );
}

function pullRequests({ step, repository }: LookedAt): Finding {
  if (hasOwnToken(step)) return ownToken('pull-requests');
  const link = settingsPageOf(repository, 'settings/actions');
  const setting = '“Allow GitHub Actions to create and approve pull requests”';
  const token = repositorySettingOf(repository, 'token');
  if (token.kind === 'unknown')
    return unchecked(
      'pull-requests',
      `${setting} could not be checked: ${token.why}`,
      remedy('Make sure that it is turned on.', { link }),
    );
  return token.value.mayOpenPullRequests
    ? fine('pull-requests', 'GitHub Actions may create pull requests.')
    : problem(
        'pull-requests',
        `${setting} is turned off.`,
        remedy('Turn it on. In an organization it may have to be allowed there first.', { link }),
      );
}

/** Tells whether the step uses a token other than the job's. */
export function hasOwnToken({ inputs }: RalphStep): boolean {
  const token = inputs['github-token'] ?? '';
  return token !== '' && !/github\.token|secrets\.GITHUB_TOKEN/i.test(token);
}

function ownToken(check: 'permissions' | 'pull-requests'): Finding {
  return unchecked(
    check,
    'The workflow passes a token of its own as `github-token`, whose permissions could not be checked.',
    remedy(
      'Make sure that it may write contents, issues and pull requests, and read checks, commit statuses and actions.',
      {},
    ),
  );
}

function checkout({ step }: LookedAt): Finding {
  const paste = ['- uses: actions/checkout@v5', '  with:', '    fetch-depth: 0', '    persist-credentials: false'].join(
    '\n',
  );
  if (step.checkout === null)
    return problem(
      'checkout',
      'There is no actions/checkout before the action.',
      remedy('Add it as the first step.', { paste }),
    );
  if ((step.checkout.path ?? '') !== '')
    return problem(
      'checkout',
      `actions/checkout puts the repository into \`${oneLine(step.checkout.path ?? '', 60)}\`, where the action does not look.`,
      remedy('Remove `path`.', { paste }),
    );
  const partial = ['filter', 'sparse-checkout'].filter((name) => (step.checkout?.[name] ?? '') !== '');
  if (partial.length > 0)
    return warning(
      'checkout',
      `actions/checkout has ${namesOf(partial.map((name) => `\`${name}\``))}: each run fetches the other files anyway${partial.includes('sparse-checkout') ? ', and agent and `verify` see only those that are checked out' : ''}.`,
      remedy('Remove it.', { paste }),
    );
  const missing = [
    ...(step.checkout['fetch-depth'] === '0'
      ? []
      : ['`fetch-depth: 0`, without which each run fetches the history itself']),
    ...(step.checkout['persist-credentials'] === 'false'
      ? []
      : ['`persist-credentials: false`, without which the token stays in `.git/config`']),
  ];
  return missing.length === 0
    ? fine('checkout', 'The checkout has the whole history and leaves no credentials.')
    : warning(
        'checkout',
        `actions/checkout lacks ${missing.join('; and ')}.`,
        remedy('Let it have these inputs.', { paste }),
      );
}

/** Minutes that a job needs beyond max-minutes, to set up, publish and clean up. */
const BESIDE_MINUTES = 10;

function runner(looked: LookedAt): Finding {
  const { runsOn, timeoutMinutes } = looked.step;
  const other = runsOn.find((label) => /^(?:windows|macos)\b/i.test(label));
  if (other !== undefined)
    return problem(
      'runner',
      `The job runs on \`${other}\`, and the action needs Linux.`,
      remedy('Choose a Linux runner.', { paste: 'runs-on: ubuntu-latest' }),
    );
  const minutes = Number(inputOf(looked, 'max-minutes') ?? Number.NaN) + BESIDE_MINUTES;
  return timeoutMinutes !== '' && Number(timeoutMinutes) < minutes
    ? warning(
        'runner',
        `The job ends after ${timeoutMinutes} minutes, too early for \`max-minutes\`: a run that GitHub ends loses its running iteration.`,
        remedy('Give the job 10 minutes more than the run.', { paste: `timeout-minutes: ${String(minutes)}` }),
      )
    : fine('runner', 'Nothing in the job keeps a run from starting or from ending by itself.');
}

function secrets(looked: LookedAt): readonly Finding[] {
  const { step, rules, repository } = looked;
  const given = Object.entries(step.inputs).filter(([name, text]) => rules.keyInputs.includes(name) && text !== '');
  const environment = {
    ...Object.fromEntries(
      // The values are not known here, only whether a variable will have one.
      Object.entries(step.environment)
        .filter(([, text]) => text !== '')
        .map(([name, text]) => [name, isExpression(text) ? 'given' : text]),
    ),
    ...Object.fromEntries(given.map(([name]) => [variableOf(name), 'given'])),
  };
  const link = settingsPageOf(repository, 'settings/secrets/actions');
  const problems = rules.loginProblems(environment, step.inputs);
  if (problems.length > 0)
    return problems.map((says) => problem('secret', says, remedy('Pass the key to the step.', { link })));
  const texts = [...given.map(([, text]) => text), ...Object.values(step.environment)];
  return [...writtenOut(looked, link), ...swappedKeys(given, rules), ...existence(looked, texts, link)];
}

/**
 * Returns problems for keys written into the file itself. Their form is not checked, because a gateway may accept any.
 */
function writtenOut({ step, rules }: LookedAt, link: string | null): readonly Finding[] {
  return Object.entries({ ...step.environment, ...step.inputs }).flatMap(([name, text]) => {
    const input = name.toLowerCase().replaceAll('_', '-');
    if (!rules.keyInputs.includes(input) || text === '' || isExpression(text)) return [];
    return [
      warning(
        'secret',
        `The workflow file contains the value of \`${name}\`: everybody who can read the repository can read it.`,
        remedy('Revoke it, put a new key into a secret, and pass that.', {
          paste: `${name}: \${{ secrets.${variableOf(input)} }}`,
          link,
        }),
      ),
    ];
  });
}

/** Returns problems for key inputs that read a secret with the name of another key input. */
function swappedKeys(given: readonly (readonly [string, string])[], { keyInputs }: ActionRules): readonly Finding[] {
  return given.flatMap(([name, text]) => {
    const named = secretsIn(text);
    const other = keyInputs.find((input) => input !== name && named.includes(variableOf(input)));
    if (other === undefined || named.includes(variableOf(name))) return [];
    const secret = variableOf(other);
    return [
      warning(
        'secret',
        `\`${name}\` is set from the secret \`${secret}\`, whose name says that it belongs in \`${other}\`.`,
        remedy('Pass it to that input. If only its name is wrong, rename the secret.', {
          paste: `${other}: \${{ secrets.${secret} }}`,
        }),
      ),
    ];
  });
}

function variableOf(input: string): string {
  return input.toUpperCase().replaceAll('-', '_');
}

/** Checks that the secrets exist that the keys and the environment of the step name. */
function existence({ step, repository }: LookedAt, texts: readonly string[], link: string | null): readonly Finding[] {
  const wanted = [...new Set(texts.flatMap(secretsIn))].filter((name) => name !== 'GITHUB_TOKEN');
  if (wanted.length === 0) return [];
  const known = repositorySettingOf(repository, 'secrets');
  const names = namesOf(wanted.map((name) => `\`${name}\``));
  if (known.kind === 'unknown')
    return [
      unchecked(
        'secret',
        `Whether ${names} exists could not be checked: ${known.why}`,
        remedy('Make sure that it is there.', { link }),
      ),
    ];
  const missing = wanted.filter((name) => !known.value.includes(name));
  if (missing.length === 0) return [fine('secret', `The secret ${names} exists.`)];
  const [first = ''] = missing;
  const says = `The workflow reads ${namesOf(missing.map((name) => `\`${name}\``))}, which ${missing.length === 1 ? 'is not a secret' : 'are not secrets'} of the repository.`;
  const repo = repository.kind === 'known' ? ` --repo ${repository.value.name}` : '';
  const add = remedy('Add it.', { paste: `gh secret set ${first}${repo}`, link });
  return [
    step.hasEnvironment
      ? unchecked('secret', `${says} Those of the job's environment could not be checked.`, add)
      : problem('secret', says, add),
  ];
}

/** Triggers that may write the default branch's cache; all others only read it unless the workflow says otherwise. */
const CACHE_WRITERS: readonly string[] = [
  'push',
  'schedule',
  'workflow_dispatch',
  'repository_dispatch',
  'delete',
  'registry_package',
  'page_build',
];

/**
 * Warns if nobody is notified of a task: a label has a person who added it, but an entry of a file has none that a run
 * knows. Task files that are sources by default may not exist.
 */
function notify(looked: LookedAt): readonly Finding[] {
  const sources = inputOf(looked, 'task-sources');
  const isScheduled = looked.workflow.triggers.some(({ event }) => event === 'schedule');
  const isOfFiles =
    Object.hasOwn(looked.step.inputs, 'task-sources') && /\b(?:plan|prd|beads|prompt)\b/.test(sources ?? '');
  if (!isScheduled || !isOfFiles) return [];
  return inputOf(looked, 'notify') === 'auto'
    ? [
        warning(
          'notify',
          'Nobody gets a message when a scheduled run needs a person for an entry of a file: the file does not say who asked for it.',
          remedy('Name the people who should get one.', { paste: 'notify: your-login' }),
        ),
      ]
    : [fine('notify', 'The workflow says who gets a message when a person is needed.')];
}

/** Warns of auto-merge that the job's own token arms. */
function autoMerge(looked: LookedAt): readonly Finding[] {
  const setting = inputOf(looked, 'auto-merge');
  if (setting === null || setting === '' || setting === 'false') return [];
  return hasOwnToken(looked.step)
    ? [fine('pull-requests', 'Auto-merge is armed by a token whose merges start workflows.')]
    : [
        warning(
          'pull-requests',
          "`auto-merge` arms merges with the job's own token, and GitHub starts no workflow for such a merge: neither CI nor a deployment runs on the base branch.",
          remedy('Give `github-token` the token of a GitHub App.', {}),
        ),
      ];
}

/** The finding for `state-store: none`. */
export const keepsNothing = warning(
  'cache',
  '`state-store: none` keeps nothing between runs: neither limits nor the circuit hold across runs.',
  remedy('Remove it, unless each run should begin from scratch.', {}),
);

function cache(looked: LookedAt): Finding {
  const { workflow, step } = looked;
  const store = inputOf(looked, 'state-store');
  const readers = workflow.triggers.map(({ event }) => event).filter((event) => !CACHE_WRITERS.includes(event));
  const refusing = step.cacheMode === 'write' ? [] : readers;
  if (store === 'none') return keepsNothing;
  if (store === null)
    return unchecked(
      'cache',
      '`state-store` is an expression, so where the state is kept could not be checked.',
      remedy('Make sure that it is `auto`, unless you want something else.', {}),
    );
  if (store !== 'cache') return fine('cache', 'The state is kept on a git ref, whatever the cache allows.');
  return refusing.length === 0
    ? fine('cache', 'Every trigger may write the cache that keeps the state.')
    : problem(
        'cache',
        `The state is kept in the cache alone, which runs of ${namesOf(refusing)} can only read.`,
        remedy('Keep it on the git ref as well, or remove these triggers.', { paste: 'state-store: auto' }),
      );
}
