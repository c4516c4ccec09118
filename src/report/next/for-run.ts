import { policyInputs } from '../../config/agent-inputs.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { RunReport } from '../../handover/report.ts';
import {
  allTasksOf,
  findingsOf,
  isPromptAlone,
  isQueue,
  isScheduled,
  iterationsOf,
  laneOf,
  lastVerification,
  promptName,
  workOf,
} from '../facts.ts';
import { formatInstantFrom } from '../format.ts';
import { baseName, sourcesOf, stepsToAddTask } from '../sentences/waiting.ts';
import { nextStepsWhenBlocked } from './for-tasks.ts';
import { command, type NextStep, stepsForObjections, step, stepsToMerge, stepsToReview } from './step.ts';

type End<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

const NOTHING = step('nothing', ' to do');

/** Returns what a person can do after a run, and what happens without them. Every page that reports a run renders these steps. */
export function nextSteps(report: RunReport): readonly NextStep[] {
  const { outcome } = report;
  switch (outcome.kind) {
    case 'complete':
      return stepsToMerge(report);
    case 'cancelled': {
      if (outcome.reason === 'signal') return [{ ...step('rerun'), lead: 'to continue, ' }, ...keptSteps(report)];
      const longer = `lower \`${policyInputs.maxRunMs.name}\` or raise the job's \`timeout-minutes\``;
      return [
        ...[step('wait', 'the next run continues from here'), ...keptSteps(report)],
        { ...step('set', longer), lead: 'if the job ran out of time, ' },
      ];
    }
    case 'halted':
      return outcome.reason === 'circuit_open'
        ? circuitSteps(outcome, report)
        : [...HALTED[outcome.reason], ...retrySteps(report)];
    case 'blocked':
      return outcome.reason === 'base_is_red' ? redBaseSteps(report) : nextStepsWhenBlocked(report);
    case 'parked':
      return parkedSteps(outcome, report);
    case 'limit':
      return [...continuation(report, 'from here'), ...higherLimit(outcome, report)];
    case 'idle':
      return idleSteps(outcome, report);
    case 'paused': {
      const head = laneOf(report)?.headSha ?? null;
      return outcome.reason === 'withdrawn'
        ? [
            ...(head === null ? [] : [step('note', 'what was done stays on the branch')]),
            { ...step('reopen', 'the issue with the task label'), lead: 'to continue, ' },
          ]
        : [...resumeSteps(outcome.by, report), ...keptSteps(report)];
    }
    case 'refused':
      if (outcome.reason !== 'another_run')
        return [step('ask', 'someone with write access to the repository to do it')];
      return [
        step('note', 'this run made no call'),
        ...(isScheduled(report)
          ? [NOTHING, step('wait', 'the next scheduled run picks up what is left', ': ')]
          : [{ ...command('run', ['the issue']), lead: 'when the other run has ended, ' }]),
      ];
    case 'failed':
      return failedSteps(outcome, report);
  }
}

/** The steps that remove the cause of a stop. */
const HALTED: Readonly<Record<Exclude<End<'halted'>['reason'], 'circuit_open'>, readonly NextStep[]>> = {
  permission_denied: [
    step('set', `add it to \`${policyInputs.allowedTools.name}\` if the agent may have it`),
    step(
      'set',
      `set \`${policyInputs.onPermissionDenied.name}: count\` so that one denial does not stop the run`,
      ', or ',
    ),
  ],
  test_saturation: [
    ...[step('say', 'in the task what is still missing in the code'), step('close', 'it if nothing is', ', or ')],
    step('note', `\`${policyInputs.testOnlyIterations.name}\` sets the threshold`),
  ],
  safety: [
    step('look', 'the overruled claims in the job summary'),
    step('fix', 'the `verify` command or make the open task clearer', ', then '),
  ],
};

function circuitSteps(
  outcome: Extract<End<'halted'>, { reason: 'circuit_open' }>,
  report: RunReport,
): readonly NextStep[] {
  const until = formatInstantFrom(outcome.probeAt, report.endedAt);
  const isNow = outcome.tripped === 'this-run';
  const probe = step(
    'wait',
    `otherwise ${isNow ? `one iteration tries again after ${until}` : `the first run after ${until} tries one iteration`}`,
  );
  const agent = 'what the error names (the agent, its settings, its MCP servers, its provider)';
  return outcome.circuitReason === 'agent_error'
    ? [step('note', 'no task is to blame'), step('fix', agent, ': '), { ...command('retry'), joint: ', then ' }, probe]
    : [{ ...step('fix', 'the cause'), lead: 'to continue at once, ' }, { ...command('retry'), joint: ' and ' }, probe];
}

/** Returns how work continues once the cause is fixed: the schedule works the queue, an issue's own branch waits for a person. */
function retrySteps(report: RunReport): readonly NextStep[] {
  return isScheduled(report)
    ? [
        step('wait', 'the next scheduled run continues'),
        { ...command('retry'), lead: 'to continue at once, ', joint: '; ' },
      ]
    : [{ ...command('retry', ['the issue']), lead: 'then ' }];
}

function redBaseSteps(report: RunReport): readonly NextStep[] {
  const merged = workOf(report) === null ? '' : ', with the fix merged into its branch';
  return [
    ...[step('fix', baseName(report)), step('set', 'correct `verify` if the command is wrong', ', or ')],
    step('wait', `the next run after that continues by itself${merged}`),
    { ...command('run'), lead: 'to have one more iteration tried now, ' },
  ];
}

function parkedSteps(outcome: End<'parked'>, report: RunReport): readonly NextStep[] {
  if (outcome.reason === 'usage_limit') {
    const unconfirmed = unconfirmedSteps(outcome, report);
    if (outcome.needsPerson === undefined)
      return [
        ...continuation(report, 'after that'),
        step('note', 'this is a limit of your plan or key with the provider, not of this action'),
        ...unconfirmed,
      ];
    return [
      step('raise', 'the limit with the provider, add credit there, or give the agent another key or plan'),
      ...[{ ...command('run'), joint: '; then ' }, step('wait', 'wait', ', or ')],
      ...[step('note', 'this is a limit of your plan or key, not of this action'), ...unconfirmed],
    ];
  }
  if (outcome.reason === 'step_circuit')
    return [
      ...[...continuation(report, 'after that'), step('note', 'the journal lists what failed')],
      { ...command('run'), lead: 'to try at once, ' },
      step('note', '`reset_after` in the pipeline says how long a step waits', '; '),
    ];
  const { maxCallsPerHour, maxTokensPerHour, maxCostUsdPerDay } = policyInputs;
  const limits = { calls_per_hour: maxCallsPerHour, tokens_per_hour: maxTokensPerHour, cost_per_day: maxCostUsdPerDay };
  const raise = step('raise', `\`${limits[outcome.reason].name}\``);
  return [...continuation(report, 'after that'), { ...raise, lead: 'to go faster, ' }];
}

/** Explains why the wait is shorter than the agent reported; empty when it is not. */
function unconfirmedSteps({ resumeAt }: End<'parked'>, report: RunReport): readonly NextStep[] {
  const limit = iterationsOf(report).at(-1)?.analysis.usageLimit ?? null;
  const reported = Date.parse(limit?.resumeAt ?? '');
  if (limit?.unconfirmed !== true || !(reported > resumeAt)) return [];
  const until = formatInstantFrom(reported, report.endedAt);
  const why = 'but only one sign points to it: the wait is 6 hours at most';
  return [step('note', `the agent reported a wait until ${until}, ${why}`)];
}

/** Returns how the work continues: the schedule works the queue, and also an issue's own branch when the queue is empty. A decision that a person owes comes first. */
function continuation(report: RunReport, when: 'after that' | 'from here'): readonly NextStep[] {
  const isAsked = allTasksOf(report).some(({ progress }) => progress.state === 'blocked');
  if (isScheduled(report)) {
    const words = isQueue(report)
      ? `the next scheduled run continues ${isAsked ? 'with the rest ' : ''}${when}`
      : `the next scheduled run${when === 'after that' ? ' after that' : ''} works on the issue`;
    return isAsked ? [step('decide'), step('wait', words, '; ')] : [NOTHING, step('wait', words, ': ')];
  }
  const decide = isAsked ? [step('decide')] : [];
  const scheduled = `a scheduled run with nothing else to do continues ${when}`;
  const run: NextStep = { ...command('run', ['the issue']), lead: 'to continue now, ', joint: '; ' };
  return when === 'from here'
    ? [...decide, step('wait', scheduled), run]
    : [...decide, step('wait', `${scheduled}, and so does \`/ralph run\` on the issue`)];
}

/** Suggests a higher limit, unless the limit was `checks` or the verification fails. */
function higherLimit({ reason }: End<'limit'>, report: RunReport): readonly NextStep[] {
  if (reason === 'checks' || lastVerification(report).kind === 'failed') return [];
  const { maxIterations, maxRunMs, maxCostUsd } = policyInputs;
  const { name } = { iterations: maxIterations, minutes: maxRunMs, cost: maxCostUsd }[reason];
  return [step('note', `a higher \`${name}\` lets one run do more`)];
}

/** Returns how to continue a lane that was paused by an order or by a closed pull request. */
function resumeSteps(by: string, report: RunReport): readonly NextStep[] {
  if (by.startsWith('pull request #'))
    return [
      { ...step('reopen', 'the pull request'), lead: 'to continue, ' },
      { ...step('set', 'delete its branch', '; '), lead: 'to begin from scratch, ' },
    ];
  if (by.startsWith('the deletion of branch'))
    return [
      step('note', 'what this run made was not pushed'),
      step('wait', 'the next run begins from the base branch'),
    ];
  const pullRequest = (laneOf(report)?.pullRequest ?? null) === null ? [] : ['the pull request'];
  const threads = isQueue(report) ? [...pullRequest, "one of the queue's issues"] : ['the issue'];
  return [{ ...command('resume', threads, isQueue(report)), lead: 'to continue, ' }];
}

function idleSteps(outcome: End<'idle'>, report: RunReport): readonly NextStep[] {
  switch (outcome.reason) {
    case 'no_tasks':
      return stepsToAddTask(sourcesOf(report));
    case 'all_done': {
      const against = stepsForObjections(report);
      const merge = against.length > 0 ? against : [step('merge', 'the pull request')];
      const again = `work begins again when \`${promptName(report)}\` or a document that it points to changes on the base branch, or by \`/ralph run\` on the pull request, or the command \`run\``;
      const more = stepsToAddTask(sourcesOf(report)).map((one, at) =>
        at === 0 ? { ...one, lead: 'for more work, ' } : one,
      );
      return [...merge, ...(isPromptAlone(report) ? [step('wait', again)] : more)];
    }
    case 'waiting_for_review':
      return stepsToReview(report);
    case 'no_such_label':
      return [step('wait', 'until then, runs end here without a call')];
    case 'updated':
    case 'not_for_us':
    case 'answered':
      return [NOTHING];
  }
}

function failedSteps(outcome: End<'failed'>, report: RunReport): readonly NextStep[] {
  if (outcome.reason !== 'configuration')
    return [step('rerun'), step('note', 'if it fails in the same way, follow the message above'), ...keptSteps(report)];
  return findingsOf(report).length > 0
    ? [step('fix', 'what has a ✗'), step('set', 'give the command `doctor` again', ', then ')]
    : [step('fix', 'the problems above'), step('rerun', '', ' and '), ...keptSteps(report)];
}

/** Says where the finished work is; empty when there is none or none was published. */
function keptSteps(report: RunReport): readonly NextStep[] {
  if (report.kind !== 'worked' || report.iterations.length === 0 || report.headSha === null) return [];
  return [step('note', `what is finished is on \`${report.branch}\``)];
}
