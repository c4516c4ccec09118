import type { ReportedSettings } from '../settings/effective.ts';
import { findConflictingBranch } from '../refusals/refusal.ts';
import { findRuleEffect } from '../refusals/server-rules.ts';
import { listFirstNames, quoteShellText } from '../text/phrase.ts';
import type { ActionRules, AskedValue, BranchRule, DoctorFacts, RepositoryFacts } from './facts.ts';
import { createRemedy, okFinding, problemFinding, uncheckedFinding, warningFinding, type Finding } from './finding.ts';
import { findStepInput, buildSettingsUrl, pickRepositorySetting } from './examined-step.ts';
import type { Workflow } from './workflow.ts';

/** Returns the findings about the repository's settings on GitHub. */
export function checkRepositorySettings(facts: DoctorFacts, rules: ActionRules): readonly Finding[] {
  const { repository } = facts;
  const workflows = facts.files.flatMap((file) => (file.kind === 'workflow' ? [file] : []));
  const where = { rules, workflow: workflows[0]?.workflow ?? null, settings: facts.settings };
  const signs = inForce(where, 'sign-commits') !== 'false';
  return [
    ...label(facts, rules, workflows[0]?.workflow ?? null),
    ...workflows.flatMap(({ workflow, text }) =>
      schedule(workflow, text, repository).map((finding) => ({ ...finding, where: workflow.path })),
    ),
    ...branchNames(repository),
    branchRules(repository, signs),
    branchProtection(repository, signs),
    pushRules(repository),
  ];
}

/** Returns the task label of a workflow, or of `ralph run` if `workflow` is null; null for an expression. */
export function pickTaskLabel(
  rules: ActionRules,
  workflow: Workflow | null,
  settings: readonly ReportedSettings[],
): string | null {
  return inForce({ rules, workflow, settings }, 'task-label');
}

function inForce(
  facts: {
    readonly rules: ActionRules;
    readonly workflow: Workflow | null;
    readonly settings: readonly ReportedSettings[];
  },
  name: 'task-label' | 'task-sources' | 'sign-commits',
): string | null {
  const { rules, workflow, settings } = facts;
  const [step] = workflow?.uses ?? [];
  if (step !== undefined) return findStepInput({ step, rules }, name);
  const [answered] = settings;
  return answered?.settings.find(({ input }) => input === name)?.text.trim() ?? rules.defaults[name] ?? '';
}

function label(
  { repository, settings }: Pick<DoctorFacts, 'repository' | 'settings'>,
  rules: ActionRules,
  workflow: Workflow | null,
): readonly Finding[] {
  const name = pickTaskLabel(rules, workflow, settings);
  const sources = inForce({ rules, workflow, settings }, 'task-sources');
  if (name === null)
    return [
      uncheckedFinding(
        'label',
        '`task-label` is an expression, so the label could not be checked.',
        createRemedy('Make sure that the label exists.', { link: buildSettingsUrl(repository, 'labels') }),
      ),
    ];
  if (sources !== '' && sources !== null && !sources.includes('issues')) return [];
  const link = buildSettingsUrl(repository, 'labels');
  const known = pickRepositorySetting(repository, 'hasLabel');
  if (known.kind === 'unknown')
    return [
      uncheckedFinding(
        'label',
        `Could not check whether the label \`${name}\` exists: ${known.why}`,
        createRemedy('Make sure that it exists.', { link }),
      ),
    ];
  if (known.value) return [okFinding('label', `The label \`${name}\` exists.`)];
  const repo = repository.kind === 'known' ? ` --repo ${repository.value.name}` : '';
  return [
    problemFinding(
      'label',
      `The label \`${name}\` does not exist, so no issue can be a task.`,
      createRemedy('Create it.', { paste: `gh label create ${quoteShellText(name)}${repo}`, link }),
    ),
  ];
}

function schedule(workflow: Workflow, here: string, repository: AskedValue<RepositoryFacts>): readonly Finding[] {
  const isScheduled = workflow.triggers.some(({ event }) => event === 'schedule');
  const name = workflow.path.split('/').at(-1) ?? '';
  const link = buildSettingsUrl(repository, `actions/workflows/${encodeURIComponent(name)}`);
  const seen = createRemedy('Make sure that the workflow is on the default branch and is not disabled.', { link });
  const file = pickRepositorySetting(repository, 'onDefaultBranch');
  const states = pickRepositorySetting(repository, 'workflows');
  if (file.kind === 'unknown' && states.kind === 'unknown')
    return [
      uncheckedFinding(
        'schedule',
        `Could not check whether the workflow is on the default branch, and enabled: ${file.why}`,
        seen,
      ),
    ];
  return [onDefault(file), state(states)];

  function onDefault(known: AskedValue<Readonly<Record<string, string | null>>>): Finding {
    if (known.kind === 'unknown')
      return uncheckedFinding('schedule', `Could not check whether it is on the default branch: ${known.why}`, seen);
    const there = known.value[workflow.path] ?? null;
    if (there === null)
      return problemFinding(
        'schedule',
        `The workflow is not on the default branch: ${isScheduled ? 'schedules, labels' : 'labels'} and comments start no run.`,
        createRemedy('Commit it and merge it into the default branch.', {}),
      );
    return there.trim() === here.trim()
      ? okFinding('schedule', 'The workflow is on the default branch, as it is here.')
      : warningFinding(
          'schedule',
          'This file differs from the workflow on the default branch, which runs use.',
          createRemedy('Merge the change, or update this checkout.', {}),
        );
  }

  function state(known: AskedValue<readonly { readonly path: string; readonly state: string }[]>): Finding {
    if (known.kind === 'unknown')
      return uncheckedFinding('schedule', `Could not check whether the workflow is disabled: ${known.why}`, seen);
    const found = known.value.find(({ path }) => path === workflow.path)?.state ?? null;
    const paste = `gh workflow enable ${name}`;
    switch (found) {
      case 'active':
        return okFinding('schedule', 'The workflow is enabled.');
      case null:
        return uncheckedFinding(
          'schedule',
          'GitHub does not know the workflow yet: it appears with the first push.',
          seen,
        );
      case 'disabled_inactivity':
        return problemFinding(
          'schedule',
          'GitHub disabled the workflow after 60 days without activity in the repository.',
          createRemedy('Enable it again.', { paste, link }),
        );
      default:
        return problemFinding(
          'schedule',
          `The workflow is disabled (${found}).`,
          createRemedy('Enable it.', { paste, link }),
        );
    }
  }
}

/** Returns a problem if an existing branch has a name that prevents git from creating Ralph's branches. */
function branchNames(repository: AskedValue<RepositoryFacts>): readonly Finding[] {
  const known = pickRepositorySetting(repository, 'inTheWay');
  if (known.kind === 'unknown') return [];
  const found = known.value.flatMap(({ branch, existing }) => {
    const other = findConflictingBranch(branch, existing);
    return other === null ? [] : [{ branch, other }];
  });
  const [first] = found;
  if (first === undefined) return [];
  return [
    problemFinding(
      'branch-names',
      `The branch \`${first.other}\` is in the way of \`${first.branch}\`: git does not allow both, so no run can create it.`,
      createRemedy('Rename or delete that branch, or set another `branch-prefix`.', {
        link: buildSettingsUrl(repository, 'branches'),
      }),
    ),
  ];
}

/** The name of the rule that requires signatures. */
const SIGNATURES = 'required_signatures';

/** The end of a finding about branches that require signed commits, used if GitHub signs Ralph's commits. */
const SIGNED_BY_GITHUB =
  "GitHub signs Ralph's commits if its token is GITHUB_TOKEN or that of a GitHub App, not a person's; it cannot sign other people's commits that a merge of the base branch adds.";

/**
 * Returns the effect of a rule, or null if it has none. A rule that requires signatures has no effect on signed
 * commits.
 */
function effectWith(signs: boolean, type: string): ReturnType<typeof findRuleEffect> {
  return signs && type === SIGNATURES ? null : findRuleEffect(type);
}

function branchRules(repository: AskedValue<RepositoryFacts>, signs: boolean): Finding {
  const link = buildSettingsUrl(repository, 'settings/rules');
  const known = pickRepositorySetting(repository, 'branchRules');
  if (known.kind === 'unknown')
    return uncheckedFinding(
      'branch-rules',
      `Could not check the rules for Ralph's branches: ${known.why}`,
      createRemedy("Make sure that no ruleset or branch protection forbids pushes to Ralph's branches.", { link }),
    );
  const found = known.value.flatMap((rule) => {
    const effect = effectWith(signs, rule.type);
    return effect === null ? [] : [{ rule, effect }];
  });
  const [first] = found.toSorted((a, b) => a.effect.kind.localeCompare(b.effect.kind));
  if (first === undefined)
    return okFinding(
      'branch-rules',
      known.value.some(({ type }) => type === SIGNATURES)
        ? `A ruleset requires signed commits on Ralph's branches. ${SIGNED_BY_GITHUB}`
        : "No ruleset restricts Ralph's branches.",
    );
  const says = `Rulesets apply to Ralph's branches: ${listFirstNames(found.map(({ rule, effect }) => `\`${rule.type}\` ${effect.does}`))}.`;
  const what = createRemedy("Exclude Ralph's branches (`ralph/**/*`) from the ruleset.", {
    link: repository.kind === 'known' ? rulesetPage(first.rule, repository.value) : null,
  });
  return first.effect.kind === 'problem'
    ? problemFinding('branch-rules', says, what)
    : warningFinding('branch-rules', says, what);
}

/** Checks classic branch protection. Only rules for all pushes matter, because the state is not kept on a branch. */
function branchProtection(repository: AskedValue<RepositoryFacts>, signs: boolean): Finding {
  const link = buildSettingsUrl(repository, 'settings/branches');
  const known = pickRepositorySetting(repository, 'branchProtection');
  const see = createRemedy("Make sure that no branch protection has a pattern that matches Ralph's branches.", {
    link,
  });
  if (known.kind === 'unknown')
    return uncheckedFinding('branch-protection', `Could not check classic branch protection: ${known.why}`, see);
  if (known.value === null)
    return uncheckedFinding(
      'branch-protection',
      "Could not check classic branch protection: GitHub shows it only once Ralph's branch exists.",
      see,
    );
  const effects = known.value.flatMap((type) => effectWith(signs, type) ?? []);
  if (effects.length === 0)
    return okFinding(
      'branch-protection',
      known.value.includes(SIGNATURES)
        ? `A classic branch protection requires signed commits on Ralph's branches. ${SIGNED_BY_GITHUB}`
        : "No classic branch protection restricts Ralph's branches.",
    );
  const says = `A classic branch protection applies to Ralph's branches: it ${listFirstNames(effects.map(({ does }) => does))}.`;
  const what = createRemedy("Change its pattern so that it does not match Ralph's branches, or delete it.", { link });
  return effects.some(({ kind }) => kind === 'problem')
    ? problemFinding('branch-protection', says, what)
    : warningFinding('branch-protection', says, what);
}

function rulesetPage(
  { ruleset, source, ofOrganization }: BranchRule,
  { webUrl, name }: Pick<RepositoryFacts, 'webUrl' | 'name'>,
): string {
  const server = webUrl.slice(0, -name.length - 1);
  return ofOrganization
    ? `${server}/organizations/${encodeURIComponent(source)}/settings/rules/${String(ruleset)}`
    : `${webUrl}/settings/rules/${String(ruleset)}`;
}

function pushRules(repository: AskedValue<RepositoryFacts>): Finding {
  const link = buildSettingsUrl(repository, 'settings/rules');
  const known = pickRepositorySetting(repository, 'pushRulesets');
  if (known.kind === 'unknown')
    return uncheckedFinding(
      'push-rules',
      `Could not check rulesets for all pushes, also to \`refs/ralph/v2/\`: ${known.why}`,
      createRemedy('Make sure that none of them forbids these pushes.', { link }),
    );
  return known.value.length === 0
    ? okFinding('push-rules', 'No ruleset restricts all pushes, so none affects the state in `refs/ralph/v2/`.')
    : warningFinding(
        'push-rules',
        `Rulesets restrict all pushes, also to \`refs/ralph/v2/\`: ${listFirstNames(known.value.map(({ name }) => `“${name}”`))}.`,
        createRemedy("Make sure that they allow Ralph's changes. Its state is small JSON files.", { link }),
      );
}
