import { findNearest } from '../text/nearest.ts';
import { listFirstNames, quoteYamlText, toOneLine, completeSentence } from '../text/phrase.ts';
import { checkJobCaches, checkStateCache } from './cache-findings.ts';
import { type ExaminedStep, findStepInput } from './examined-step.ts';
import type { ActionRules } from './facts.ts';
import { okFinding, problemFinding, createRemedy, warningFinding, type Finding } from './finding.ts';
import { hasOwnToken, checkTokenPermissions, checkPullRequestSetting } from './permission-findings.ts';
import { checkStepSecrets } from './secret-findings.ts';
import { checkEventFilter, checkTriggers } from './trigger-findings.ts';
import { isExpression, type RalphStep } from './workflow.ts';

/** Returns the findings that need only the workflow file. */
export function checkWorkflowStep(examined: ExaminedStep): readonly Finding[] {
  return [
    ...placeholderFindings(examined),
    ...inputFindings(examined),
    ...checkTriggers(examined),
    ...checkEventFilter(examined),
    checkTokenPermissions(examined),
    checkPullRequestSetting(examined),
    checkoutFinding(examined),
    runnerFinding(examined),
    ...checkStepSecrets(examined),
    checkStateCache(examined),
    ...checkJobCaches(examined),
    ...notifyFindings(examined),
    ...autoMergeFindings(examined),
  ];
}

function placeholderFindings({ step }: ExaminedStep): readonly Finding[] {
  if (!step.action.startsWith('OWNER/')) return [];
  return [
    problemFinding(
      'placeholder',
      `The workflow uses \`${step.action}\`, where OWNER is a placeholder.`,
      createRemedy('Replace OWNER with the account that has the action.', {}),
    ),
  ];
}

function inputFindings({ step, rules }: ExaminedStep): readonly Finding[] {
  const known = [...rules.inputs, ...(/\/actions\/job(?:@|$)/.test(step.action) ? rules.jobInputs : [])];
  const unknown = Object.keys(step.given).filter((name) => !known.includes(name.toLowerCase()));
  const values = inputValueFindings(step, rules);
  if (unknown.length + values.length === 0)
    return [okFinding('inputs', 'Every input is an input of the action and has a valid value.')];
  const names = unknown.map((name) => {
    const renamed = rules.renamed(name.toLowerCase());
    if (renamed !== null)
      return problemFinding(
        'inputs',
        `\`${name}\` ${renamed}.`,
        createRemedy('Rename it: the action refuses this name.', {}),
      );
    if (rules.jobInputs.includes(name.toLowerCase()))
      return problemFinding(
        'inputs',
        `\`${name}\` is an input of the action of one job.`,
        createRemedy(
          'Remove it: the reusable workflow sets it. In a job of your own, use the action `.github/actions/job` of ralph-action.',
          {},
        ),
      );
    if (Object.hasOwn(rules.defaults, name.toLowerCase()))
      return problemFinding(
        'inputs',
        `\`${name}\` is a setting, not an input.`,
        createRemedy('Put it under `settings`.', {
          paste: `settings: |\n  ${name}: ${quoteYamlText(step.given[name] ?? '')}`,
        }),
      );
    const near = findNearest(name.toLowerCase().replaceAll('_', '-'), Object.keys(rules.defaults));
    return problemFinding(
      'inputs',
      `\`${name}\` is not an input of this action.`,
      near === null ? createRemedy('Remove it.', {}) : createRemedy(`Did you mean \`${near}\`?`, {}),
    );
  });
  return [...names, ...values];
}

/** Checks the values of inputs. Expressions are skipped, because only a run knows their values. */
function inputValueFindings({ inputs }: RalphStep, rules: ActionRules): readonly Finding[] {
  const written = Object.entries(inputs).filter(([, text]) => !isExpression(text));
  const texts = Object.fromEntries(written.map(([name, text]) => [name.toLowerCase(), text]));
  return rules
    .inputProblems(texts)
    .map(({ name, why }) =>
      problemFinding(
        'inputs',
        completeSentence(`\`${name}: ${toOneLine(texts[name] ?? '', 60)}\` ${why}`),
        createRemedy('Correct it: the action refuses this value.', {}),
      ),
    );
}

function checkoutFinding({ step }: ExaminedStep): Finding {
  const paste = ['- uses: actions/checkout@v7', '  with:', '    fetch-depth: 0', '    persist-credentials: false'].join(
    '\n',
  );
  if (step.checkout === null)
    return problemFinding(
      'checkout',
      'There is no actions/checkout before the action.',
      createRemedy('Add it as the first step.', { paste }),
    );
  if ((step.checkout.path ?? '') !== '')
    return problemFinding(
      'checkout',
      `actions/checkout puts the repository into \`${toOneLine(step.checkout.path ?? '', 60)}\`, where the action does not look.`,
      createRemedy('Remove `path`.', { paste }),
    );
  const partial = ['filter', 'sparse-checkout'].filter((name) => (step.checkout?.[name] ?? '') !== '');
  if (partial.length > 0)
    return warningFinding(
      'checkout',
      `actions/checkout has ${listFirstNames(partial.map((name) => `\`${name}\``))}: each run fetches the other files anyway${partial.includes('sparse-checkout') ? ', and agent and `verify` see only those that are checked out' : ''}.`,
      createRemedy('Remove it.', { paste }),
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
    ? okFinding('checkout', 'The checkout has the whole history and leaves no credentials.')
    : warningFinding(
        'checkout',
        `actions/checkout lacks ${missing.join('; and ')}.`,
        createRemedy('Give it these inputs.', { paste }),
      );
}

/** Minutes that a job needs beyond max-minutes, to set up, publish and clean up. */
const EXTRA_MINUTES = 10;

function runnerFinding(examined: ExaminedStep): Finding {
  const { runsOn, timeoutMinutes } = examined.step;
  const other = runsOn.find((label) => /^(?:windows|macos)\b/i.test(label));
  if (other !== undefined)
    return problemFinding(
      'runner',
      `The job runs on \`${other}\`, and the action needs Linux.`,
      createRemedy('Choose a Linux runner.', { paste: 'runs-on: ubuntu-latest' }),
    );
  const minutes = Number(findStepInput(examined, 'max-minutes') ?? Number.NaN) + EXTRA_MINUTES;
  return timeoutMinutes !== '' && Number(timeoutMinutes) < minutes
    ? warningFinding(
        'runner',
        `The job ends after ${timeoutMinutes} minutes, too early for \`max-minutes\`: a run that GitHub ends loses its running iteration.`,
        createRemedy('Give the job 10 minutes more than the run.', { paste: `timeout-minutes: ${String(minutes)}` }),
      )
    : okFinding('runner', "The job's runner and time limit suit a run.");
}

/**
 * Warns if nobody would be notified about a task. A labeled issue has a person who added the label, but an entry of a
 * file has no known requester. Task files that are default sources are ignored, because they may not exist.
 */
function notifyFindings(examined: ExaminedStep): readonly Finding[] {
  const sources = findStepInput(examined, 'task-sources');
  const isScheduled = examined.workflow.triggers.some(({ event }) => event === 'schedule');
  const isOfFiles =
    Object.hasOwn(examined.step.inputs, 'task-sources') && /\b(?:plan|prd|beads|prompt)\b/.test(sources ?? '');
  if (!isScheduled || !isOfFiles) return [];
  return findStepInput(examined, 'notify') === 'auto'
    ? [
        warningFinding(
          'notify',
          'Nobody gets a message when a scheduled run needs a person for an entry of a file: the file does not say who asked for it.',
          createRemedy('Name the people who should get one.', { paste: 'notify: your-login' }),
        ),
      ]
    : [okFinding('notify', 'The workflow says who gets a message when a person is needed.')];
}

/** Warns if auto-merge is enabled with the job's own token. */
function autoMergeFindings(examined: ExaminedStep): readonly Finding[] {
  const setting = findStepInput(examined, 'auto-merge');
  if (setting === null || setting === '' || setting === 'false') return [];
  return hasOwnToken(examined.step)
    ? [okFinding('pull-requests', 'Auto-merge is armed by a token whose merges start workflows.')]
    : [
        warningFinding(
          'pull-requests',
          "`auto-merge` arms merges with the job's own token, and GitHub starts no workflow for such a merge: neither CI nor a deployment runs on the base branch.",
          createRemedy(
            'Give it the token of a GitHub App, as `github-token`, or `token` of the reusable workflow.',
            {},
          ),
        ),
      ];
}
