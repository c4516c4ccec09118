import { type ReportedSettings, buildSettingLines } from '../settings/effective.ts';
import { listFirstNames, completeSentence } from '../text/phrase.ts';
import type { ActionRules, DoctorFacts, PipelineTrial } from './facts.ts';
import {
  doctorChecks,
  createRemedy,
  type Finding,
  okFinding,
  warningWithoutRemedy,
  problemFinding,
  problemWithoutRemedy,
  uncheckedFinding,
  warningFinding,
} from './finding.ts';
import { checkAgentKey, checkMachine } from './machine-findings.ts';
import { checkRepositorySettings } from './repository-findings.ts';
import { findStepInput, type ExaminedStep } from './examined-step.ts';
import { hasOwnToken, READ_RIGHTS } from './permission-findings.ts';
import { checkWorkflowStep } from './step-findings.ts';
import { callsRalph, isExpression, type Workflow } from './workflow.ts';

const REVIEWS: readonly string[] = ['pull_request_review', 'pull_request_review_comment'];

const CHECKS: readonly string[] = ['workflow_run', 'check_suite', 'status'];

/**
 * The end of a warning about reviews. Scheduled runs continue the queue's pull request but not an issue's own, unless
 * work is left on the issue.
 */
const ISSUE_PULL_REQUESTS_WAIT =
  "On an issue's own pull request it waits until somebody continues with the issue, such as by `/ralph run` there.";

/** The effect of each missing right, as a clause. */
const EFFECT: Readonly<Record<(typeof READ_RIGHTS)[number], string>> = {
  checks: 'failed checks cannot be seen',
  statuses: 'failed commit statuses cannot be seen',
  actions: 'the logs of failed jobs cannot be read',
};

/** Matches a comparison in a job's condition with a prefix of head branches. */
const BRANCH_CONDITION = /startsWith\(\s*[^()']*\bhead(?:\.ref|_branch)\b[^()]*?,\s*'((?:[^']|'')*)'\s*\)/g;

/** Returns the findings about everything that can prevent runs of this repository, in the order of `doctorChecks`. */
export function diagnoseRepository(facts: DoctorFacts, rules: ActionRules): readonly Finding[] {
  const findings = [
    ...workflowFindings(facts),
    ...competingWorkflows(facts, rules),
    ...facts.files.flatMap((file) =>
      file.kind === 'unreadable'
        ? []
        : file.workflow.uses.flatMap((step) => {
            const where = file.workflow.path;
            const settings = facts.settings.find(({ workflow }) => workflow === where)?.settings ?? [];
            const { repository, others } = facts;
            const examined = { step, workflow: file.workflow, rules, repository, others, settings };
            return [...checkWorkflowStep(examined), ...answerFindings(examined), ...checkMachine(examined, facts)].map(
              (found) => ({ ...found, where }),
            );
          }),
    ),
    ...facts.settings.flatMap(checkSettings),
    ...facts.pipelines.flatMap(checkPipelineSteps),
    checkAgentKey(facts.key, 'The key in the environment'),
    ...checkRepositorySettings(facts, rules),
  ];
  return findings.toSorted((a, b) => doctorChecks.indexOf(a.check) - doctorChecks.indexOf(b.check));
}

/**
 * Warns about several workflows that start on the same events for the same tasks, because only one of their runs can
 * work.
 */
function competingWorkflows({ files }: DoctorFacts, rules: ActionRules): readonly Finding[] {
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const taskKeysOf = ({ uses }: Workflow): readonly string[] =>
    uses.map((step) =>
      JSON.stringify([findStepInput({ step, rules }, 'task-label'), findStepInput({ step, rules }, 'branch-prefix')]),
    );
  return workflows.flatMap((workflow, at) =>
    workflows.slice(0, at).flatMap((earlier) => {
      const shared = workflow.triggers.filter(({ event }) => earlier.triggers.some((one) => one.event === event));
      const isSameWork = taskKeysOf(workflow).some((tasks) => taskKeysOf(earlier).includes(tasks));
      if (!isSameWork || shared.length === 0) return [];
      const events = listFirstNames([...new Set(shared.map(({ event }) => `\`${event}\``))]);
      const says = `It starts on ${events} for the same tasks as \`${earlier.path}\`: only one of the two runs can work.`;
      const what = createRemedy(
        'Keep one of them, or give this one a `task-label` and a `branch-prefix` of its own.',
        {},
      );
      return [{ ...warningFinding('workflow-file', says, what), where: workflow.path }];
    }),
  );
}

function workflowFindings({ files }: DoctorFacts): readonly Finding[] {
  if (files.length === 0)
    return [
      problemFinding(
        'workflow-file',
        'No workflow in `.github/workflows/` uses the action.',
        createRemedy('Let `ralph init` write it.', { paste: 'ralph init' }),
      ),
    ];
  return files.map((file) =>
    file.kind === 'unreadable'
      ? {
          ...problemFinding(
            'workflow-file',
            `The workflow cannot be read: ${file.why}`,
            createRemedy('Fix its YAML.', {}),
          ),
          where: file.path,
        }
      : { ...okFinding('workflow-file', useOf(file.workflow)), where: file.workflow.path },
  );
}

function useOf({ uses }: Workflow): string {
  const alike = uses.filter(({ knownBy }) => knownBy === 'inputs').map(({ action }) => `\`${action}\``);
  return alike.length === uses.length
    ? `The inputs of ${listFirstNames([...new Set(alike)])} look like those of this action, so it is checked as a copy of it.`
    : 'The workflow uses the action.';
}

/**
 * Returns a finding for each setting of a workflow's runs, with its place, or for each problem of settings that are not
 * inputs.
 */
export function checkSettings({ workflow, settings, problems }: ReportedSettings): readonly Finding[] {
  const found =
    problems.length === 0
      ? buildSettingLines(settings).map((line) => okFinding('settings', line))
      : problems.map((why) => problemWithoutRemedy('settings', why));
  return found.map((one) => ({ ...one, where: workflow }));
}

/**
 * Returns findings about the steps of an iteration or the problems of the pipeline file; empty if there is no pipeline
 * file.
 */
export function checkPipelineSteps({ where, found, openVariables }: PipelineTrial): readonly Finding[] {
  return trialFindings(found)
    .map((one) => (one.kind === 'ok' || openVariables.length === 0 ? one : withOpenVariables(one, openVariables)))
    .map((one) => ({ ...one, where }));
}

function trialFindings(found: PipelineTrial['found']): readonly Finding[] {
  switch (found.kind) {
    case 'unknown':
      return [
        uncheckedFinding(
          'pipeline',
          `Could not check the pipeline: ${found.why}`,
          createRemedy('Check it in a run, by a comment.', { paste: '/ralph doctor' }),
        ),
      ];
    case 'wrong':
      return found.problems.map((says) => problemWithoutRemedy('pipeline', completeSentence(says)));
    case 'read':
      return [
        ...found.says.map((says) => okFinding('pipeline', completeSentence(says))),
        ...found.warnings.map((says) => warningWithoutRemedy('pipeline', says)),
      ];
  }
}

/** Returns a pipeline's finding as unchecked, because the values of these variables may change it. */
function withOpenVariables({ says }: Finding, variables: readonly string[]): Finding {
  return uncheckedFinding(
    'pipeline',
    `Without the value of ${listFirstNames(variables.map((name) => `\`${name}\``))}, which only a run knows: ${says}`,
    createRemedy('Check it in a run, by a comment.', { paste: '/ralph doctor' }),
  );
}

/** Returns findings about the triggers and rights of runs that answer reviews and failed checks. */
function answerFindings(examined: ExaminedStep): readonly Finding[] {
  const answersReviews = findStepInput(examined, 'answer-reviews') !== 'false';
  const answersChecks = findStepInput(examined, 'answer-checks') !== 'false';
  if (!answersReviews && !answersChecks) return [okFinding('answers', 'Reviews and checks are left to people.')];
  const found = [
    ...(answersReviews ? missingReviews(examined) : []),
    ...(answersChecks ? [...missingChecks(examined), ...unknownNames(examined), ...missingReadRights(examined)] : []),
    ...ownWorkflow(examined),
    ...eventsLeftOut(examined),
    ...prefixMismatch(examined),
    ...untrustedSetUp(examined),
  ];
  return found.length > 0
    ? found
    : [okFinding('answers', 'Reviews and failed checks start runs, which may read them.')];
}

function listensTo({ workflow }: ExaminedStep, events: readonly string[]): boolean {
  // A called workflow gets the events of its callers, so it may get any of these.
  return workflow.triggers.some(({ event }) => event === 'workflow_call' || events.includes(event));
}

function missingReviews(examined: ExaminedStep): readonly Finding[] {
  if (listensTo(examined, REVIEWS.slice(0, 1))) return [];
  return [
    warningFinding(
      'answers',
      `\`on:\` does not name \`pull_request_review\`, so a review ${waits(examined)}. ${ISSUE_PULL_REQUESTS_WAIT}`,
      createRemedy('Add the event, or set `answer-reviews: false`.', {
        paste: 'pull_request_review:\n  types: [submitted]',
      }),
    ),
  ];
}

/**
 * Warns if no event starts a run that sees failed checks. A scheduled run is enough, because it examines every open
 * pull request of Ralph's branches.
 */
function missingChecks(examined: ExaminedStep): readonly Finding[] {
  if (listensTo(examined, ['schedule', ...CHECKS])) return [];
  return [
    warningFinding(
      'answers',
      `\`on:\` names neither \`workflow_run\` nor \`check_suite\`, so a failed check waits until something else starts a run.`,
      createRemedy('Add the event, with the names of your own workflows, or set `answer-checks: false`.', {
        paste: 'workflow_run:\n  workflows: [CI]\n  types: [completed]',
      }),
    ),
  ];
}

/**
 * Warns about workflows under `workflow_run` that the repository does not have, as in a copied file. If no workflow
 * here checks pull requests yet, the names may belong to workflows that will be added later.
 */
function unknownNames({ workflow, others }: ExaminedStep): readonly Finding[] {
  const checking = others.filter(({ checksPullRequests }) => checksPullRequests).map(({ name }) => name);
  const unknown = workflow.triggers
    .flatMap(({ workflows }) => workflows)
    .filter((name) => name !== workflow.name && !others.some((other) => other.name === name));
  if (checking.length === 0 || unknown.length === 0) return [];
  return [
    warningFinding(
      'answers',
      `\`workflow_run\` names ${listFirstNames(unknown.map((name) => `\`${name}\``))}, but no workflow here has that name, so its failures start no run.`,
      createRemedy('Use the `name:` of your own workflows.', { paste: `workflows: ${JSON.stringify(checking)}` }),
    ),
  ];
}

function waits({ workflow }: ExaminedStep): string {
  return workflow.triggers.some(({ event }) => event === 'schedule')
    ? 'waits for the next scheduled run'
    : 'waits until something else starts a run';
}

/**
 * Returns findings about read rights that the workflow's `permissions` omit. The repository's default includes them
 * all.
 */
function missingReadRights({ step }: ExaminedStep): readonly Finding[] {
  const { permissions } = step;
  if ((hasOwnToken(step) && !callsRalph(step.action)) || permissions.kind !== 'each') return [];
  const lacking = READ_RIGHTS.filter((name) => !['read', 'write'].includes(permissions.levels[name] ?? ''));
  if (lacking.length === 0) return [];
  const names = listFirstNames(lacking.map((name) => `\`${name}: read\``));
  const add = createRemedy('Add the missing rights to `permissions:`.', {
    paste: lacking.map((name) => `${name}: read`).join('\n'),
  });
  return [
    callsRalph(step.action)
      ? problemFinding(
          'answers',
          `The workflow lacks ${names}, which the called workflow asks for: GitHub starts no run.`,
          add,
        )
      : warningFinding(
          'answers',
          `The workflow lacks ${names}, so ${listFirstNames(lacking.map((name) => EFFECT[name]))}.`,
          add,
        ),
  ];
}

function ownWorkflow({ workflow }: ExaminedStep): readonly Finding[] {
  const named = workflow.triggers.some(({ workflows }) => workflows.includes(workflow.name));
  if (!named) return [];
  return [
    warningFinding(
      'answers',
      `\`workflow_run\` names this workflow itself, \`${workflow.name}\`: each of its runs starts one more, which ends at once.`,
      createRemedy('Name only other workflows.', {}),
    ),
  ];
}

/** Warns about triggers whose events the job's condition excludes. */
function eventsLeftOut({ workflow, step }: ExaminedStep): readonly Finding[] {
  if (!/event_name\s*==/.test(step.condition)) return [];
  const events = workflow.triggers
    .map(({ event }) => event)
    .filter((event) => [...REVIEWS, ...CHECKS].includes(event) && !new RegExp(`'${event}'`).test(step.condition));
  if (events.length === 0) return [];
  return [
    warningFinding(
      'answers',
      `The job's \`if\` lists events and leaves out ${listFirstNames(events.map((event) => `\`${event}\``))}, so these start no job.`,
      createRemedy('Add them to the condition.', {
        paste: events.map((event) => `|| github.event_name == '${event}'`).join('\n'),
      }),
    ),
  ];
}

function prefixMismatch(examined: ExaminedStep): readonly Finding[] {
  const prefix = findStepInput(examined, 'branch-prefix');
  const compared = [...examined.step.condition.matchAll(BRANCH_CONDITION)].map(([, text = '']) => text);
  const other = compared.find((text) => prefix !== null && !prefix.toLowerCase().startsWith(text.toLowerCase()));
  if (other === undefined || prefix === null || isExpression(prefix)) return [];
  return [
    warningFinding(
      'answers',
      `The job's \`if\` waits for branches that begin with \`${other}\`, but \`branch-prefix\` is \`${prefix}\`: reviews and checks of Ralph's branches start no job.`,
      createRemedy('Use the same text in both.', { paste: `'${prefix}'` }),
    ),
  ];
}

/**
 * Warns if a run for a review sets up with the pull request's code: without a `ref`, GitHub checks out its merge
 * commit.
 */
function untrustedSetUp(examined: ExaminedStep): readonly Finding[] {
  const { checkout } = examined.step;
  const reviews = examined.workflow.triggers.some(({ event }) => REVIEWS.includes(event));
  if (!reviews || checkout === null || (checkout.ref ?? '') !== '') return [];
  return [
    warningFinding(
      'answers',
      "For a review, actions/checkout checks out Ralph's branch: the steps before the action run its code, and the prompt is read from it.",
      createRemedy('Let it check out the default branch.', {
        paste: "ref: ${{ github.event.pull_request && github.event.repository.default_branch || '' }}",
      }),
    ),
  ];
}
