import { policyInputs } from '../../config/agent-inputs.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { RunReport } from '../../handover/report.ts';
import {
  listAllTasks,
  listFindings,
  isPromptAlone,
  isQueue,
  isScheduled,
  listIterations,
  selectLaneReport,
  pickVerification,
  selectReportSetting,
  nameFirstTask,
  selectWorkedReport,
} from '../facts.ts';
import { formatInstantFrom } from '../format.ts';
import { nameBaseBranch, describeTaskSources, suggestAddingTask } from '../sentences/waiting.ts';
import { suggestWhenBlocked } from './for-tasks.ts';
import {
  createCommandStep,
  type NextStep,
  suggestForObjections,
  createNextStep,
  suggestMerge,
  suggestReview,
} from './step.ts';

type End<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

const NOTHING = createNextStep('nothing', ' to do');

/**
 * Returns what a person can do after a run, and the events that follow otherwise. Every page that reports a run renders
 * these steps.
 */
export function suggestNextSteps(report: RunReport): readonly NextStep[] {
  const { outcome } = report;
  switch (outcome.kind) {
    case 'complete':
      return suggestMerge(report);
    case 'cancelled': {
      if (outcome.reason === 'signal')
        return [{ ...createNextStep('rerun'), lead: 'to continue, ' }, ...keptSteps(report)];
      const longer = `lower \`${policyInputs.maxRunMs.name}\` or raise the job's \`timeout-minutes\``;
      return [
        ...[createNextStep('wait', 'the next run continues from here'), ...keptSteps(report)],
        { ...createNextStep('set', longer), lead: 'if the job ran out of time, ' },
      ];
    }
    case 'halted':
      return outcome.reason === 'circuit_open'
        ? circuitSteps(outcome, report)
        : [...HALTED[outcome.reason], ...retrySteps(report)];
    case 'blocked':
      return outcome.reason === 'base_is_red' ? redBaseSteps(report) : suggestWhenBlocked(report);
    case 'parked':
      return parkedSteps(outcome, report);
    case 'limit':
      return [...continuation(report, 'from here'), ...higherLimit(outcome, report)];
    case 'idle':
      return idleSteps(outcome, report);
    case 'paused': {
      const head = selectLaneReport(report)?.headSha ?? null;
      return outcome.reason === 'withdrawn'
        ? [
            ...(head === null ? [] : [createNextStep('note', 'what was done stays on the branch')]),
            { ...createNextStep('reopen', 'the issue, or put the task label on it again'), lead: 'to continue, ' },
          ]
        : [...resumeSteps(outcome.by, report), ...keptSteps(report)];
    }
    case 'refused':
      if (outcome.reason !== 'another_run')
        return [createNextStep('ask', 'someone with write access to the repository to do it')];
      return [
        createNextStep('note', 'this run made no call'),
        ...(isScheduled(report)
          ? [NOTHING, createNextStep('wait', 'the next scheduled run picks up what is left', ': ')]
          : [{ ...createCommandStep('run', ['the issue']), lead: 'when the other run has ended, ' }]),
      ];
    case 'failed':
      return failedSteps(outcome, report);
  }
}

/** The steps that remove the cause of a stop. */
const HALTED: Readonly<Record<Exclude<End<'halted'>['reason'], 'circuit_open'>, readonly NextStep[]>> = {
  permission_denied: [
    createNextStep('set', `add it to \`${policyInputs.allowedTools.name}\` if the agent may have it`),
    createNextStep(
      'set',
      `set \`${policyInputs.onPermissionDenied.name}: count\` so that one denial does not stop the run`,
      ', or ',
    ),
  ],
  test_saturation: [
    ...[
      createNextStep('say', 'in the task what is still missing in the code'),
      createNextStep('close', 'it if nothing is', ', or '),
    ],
    createNextStep('note', `\`${policyInputs.testOnlyIterations.name}\` sets the threshold`),
  ],
  safety: [
    createNextStep('look', 'the overruled claims in the job summary'),
    createNextStep('fix', 'the `verify` command or make the open task clearer', ', then '),
  ],
};

function circuitSteps(
  outcome: Extract<End<'halted'>, { reason: 'circuit_open' }>,
  report: RunReport,
): readonly NextStep[] {
  const until = formatInstantFrom(outcome.probeAt, report.endedAt);
  const isNow = outcome.tripped === 'this-run';
  const probe = createNextStep(
    'wait',
    `otherwise ${isNow ? `one iteration tries again after ${until}` : `the first run after ${until} tries one iteration`}`,
  );
  const agent = 'what the error names (the agent, its settings, its MCP servers, its provider)';
  return outcome.circuitReason === 'agent_error'
    ? [
        createNextStep('note', 'no task is to blame'),
        createNextStep('fix', agent, ': '),
        { ...createCommandStep('retry'), joint: ', then ' },
        probe,
      ]
    : [
        { ...createNextStep('fix', 'the cause'), lead: 'to continue at once, ' },
        { ...createCommandStep('retry'), joint: ' and ' },
        probe,
      ];
}

/**
 * Returns how work continues once the cause is fixed: the schedule works on the queue, an issue's own branch waits for
 * a person.
 */
function retrySteps(report: RunReport): readonly NextStep[] {
  return isScheduled(report)
    ? [
        createNextStep('wait', 'the next scheduled run continues'),
        { ...createCommandStep('retry'), lead: 'to continue at once, ', joint: '; ' },
      ]
    : [{ ...createCommandStep('retry', ['the issue']), lead: 'then ' }];
}

function redBaseSteps(report: RunReport): readonly NextStep[] {
  const merged = selectWorkedReport(report) === null ? '' : ', with the fix merged into its branch';
  return [
    ...[
      createNextStep('fix', nameBaseBranch(report)),
      createNextStep('set', 'correct `verify` if the command is wrong', ', or '),
    ],
    createNextStep('wait', `the next run after that continues by itself${merged}`),
    { ...createCommandStep('run'), lead: 'to try one more iteration now, ' },
  ];
}

function parkedSteps(outcome: End<'parked'>, report: RunReport): readonly NextStep[] {
  if (outcome.reason === 'usage_limit') {
    const unconfirmed = unconfirmedSteps(outcome, report);
    if (outcome.needsPerson === undefined)
      return [
        ...continuation(report, 'after that'),
        createNextStep('note', 'this is a limit of your plan or key with the provider, not of this action'),
        ...unconfirmed,
      ];
    return [
      createNextStep('raise', 'the limit with the provider, add credit there, or give the agent another key or plan'),
      ...[{ ...createCommandStep('run'), joint: '; then ' }, createNextStep('wait', 'wait', ', or ')],
      ...[createNextStep('note', 'this is a limit of your plan or key, not of this action'), ...unconfirmed],
    ];
  }
  if (outcome.reason === 'step_circuit')
    return [
      ...[...continuation(report, 'after that'), createNextStep('note', 'the journal lists what failed')],
      { ...createCommandStep('run'), lead: 'to try at once, ' },
      createNextStep('note', '`reset_after` in the pipeline says how long a step waits', '; '),
    ];
  const { maxCallsPerHour, maxTokensPerHour, maxCostUsdPerDay } = policyInputs;
  const limits = { calls_per_hour: maxCallsPerHour, tokens_per_hour: maxTokensPerHour, cost_per_day: maxCostUsdPerDay };
  const raise = createNextStep('raise', `\`${limits[outcome.reason].name}\``);
  return [...continuation(report, 'after that'), { ...raise, lead: 'to go faster, ' }];
}

/** Explains why the wait is shorter than the agent reported; empty if it is not. */
function unconfirmedSteps({ resumeAt }: End<'parked'>, report: RunReport): readonly NextStep[] {
  const limit = listIterations(report).at(-1)?.analysis.usageLimit ?? null;
  const reported = Date.parse(limit?.resumeAt ?? '');
  if (limit?.unconfirmed !== true || !(reported > resumeAt)) return [];
  const until = formatInstantFrom(reported, report.endedAt);
  const why = 'but only one sign points to it: the wait is 6 hours at most';
  return [createNextStep('note', `the agent reported a wait until ${until}, ${why}`)];
}

/**
 * Returns how the work continues. The schedule works on the queue, and also on an issue's own branch if the queue is
 * empty. A decision that a person owes comes first.
 */
function continuation(report: RunReport, when: 'after that' | 'from here'): readonly NextStep[] {
  const isAsked = listAllTasks(report).some(({ progress }) => progress.state === 'blocked');
  if (isScheduled(report)) {
    const words = isQueue(report)
      ? `the next scheduled run continues ${isAsked ? 'with the rest ' : ''}${when}`
      : `the next scheduled run${when === 'after that' ? ' after that' : ''} works on the issue`;
    return isAsked
      ? [createNextStep('decide'), createNextStep('wait', words, '; ')]
      : [NOTHING, createNextStep('wait', words, ': ')];
  }
  const decide = isAsked ? [createNextStep('decide')] : [];
  const scheduled = `a scheduled run with nothing else to do continues ${when}`;
  const run: NextStep = { ...createCommandStep('run', ['the issue']), lead: 'to continue now, ', joint: '; ' };
  return when === 'from here'
    ? [...decide, createNextStep('wait', scheduled), run]
    : [...decide, createNextStep('wait', `${scheduled}, and so does \`/ralph run\` on the issue`)];
}

/** Suggests a higher limit, unless the run ended at another one or the verification fails. */
function higherLimit({ reason }: End<'limit'>, report: RunReport): readonly NextStep[] {
  if (reason === 'checks' || reason === 'unverified' || pickVerification(report).kind === 'failed') return [];
  const { maxIterations, maxRunMs, maxCostUsd } = policyInputs;
  const { name } = { iterations: maxIterations, minutes: maxRunMs, cost: maxCostUsd }[reason];
  return [createNextStep('note', `a higher \`${name}\` lets one run do more`)];
}

/** Returns how to continue a lane that was paused by an order or by a closed pull request. */
function resumeSteps(by: string, report: RunReport): readonly NextStep[] {
  if (by.startsWith('pull request #'))
    return [
      { ...createNextStep('reopen', 'the pull request'), lead: 'to continue, ' },
      { ...createNextStep('set', 'delete its branch', '; '), lead: 'to begin from scratch, ' },
    ];
  if (by.startsWith('the renaming of branch'))
    return [
      createNextStep('note', 'what was pushed is on the renamed branch'),
      {
        ...createCommandStep('resume', isQueue(report) ? ["one of the queue's issues"] : ['the issue']),
        lead: 'to begin again from the base branch, ',
      },
      createNextStep('set', 'to continue, give the branch its old name and reopen its pull request first', '; '),
    ];
  if (by.startsWith('the deletion of branch'))
    return [
      createNextStep('note', 'what this run made was not pushed'),
      createNextStep('wait', 'the next run begins from the base branch'),
    ];
  const pullRequest = (selectLaneReport(report)?.pullRequest ?? null) === null ? [] : ['the pull request'];
  const threads = isQueue(report) ? [...pullRequest, "one of the queue's issues"] : ['the issue'];
  return [{ ...createCommandStep('resume', threads, isQueue(report)), lead: 'to continue, ' }];
}

/** Returns false if the lane's pull request is known to be merged or closed. */
function mayBeOpen(report: RunReport): boolean {
  const { train = null } = selectReportSetting(report) ?? {};
  const branch = selectLaneReport(report)?.branch ?? null;
  return train === null || branch === null || train.pulls.some((pull) => pull.branch === branch);
}

function idleSteps(outcome: End<'idle'>, report: RunReport): readonly NextStep[] {
  switch (outcome.reason) {
    case 'no_tasks':
      return suggestAddingTask(describeTaskSources(report));
    case 'all_done': {
      const against = suggestForObjections(report);
      const merge = against.length > 0 ? against : [createNextStep('merge', 'the pull request')];
      const again = `work begins again when \`${nameFirstTask(report)}\` or a document that it points to changes on the base branch, or by \`/ralph run\` on the pull request, or the command \`run\``;
      const more = suggestAddingTask(describeTaskSources(report)).map((one, at) =>
        at === 0 ? { ...one, lead: 'for more work, ' } : one,
      );
      const merging = mayBeOpen(report) ? merge : [];
      return [...merging, ...(isPromptAlone(report) ? [createNextStep('wait', again)] : more)];
    }
    case 'waiting_for_review':
      return suggestReview(report);
    case 'no_such_label':
      return [createNextStep('wait', 'until then, runs end here without a call')];
    case 'updated':
    case 'not_for_us':
    case 'answered':
      return [NOTHING];
  }
}

function failedSteps(outcome: End<'failed'>, report: RunReport): readonly NextStep[] {
  if (outcome.reason !== 'configuration')
    return [
      createNextStep('rerun'),
      createNextStep('note', 'if it fails in the same way, follow the message above'),
      ...keptSteps(report),
    ];
  return listFindings(report).length > 0
    ? [createNextStep('fix', 'what has a ✗'), createNextStep('set', 'give the command `doctor` again', ', then ')]
    : [createNextStep('fix', 'the problems above'), createNextStep('rerun', '', ' and '), ...keptSteps(report)];
}

/** Returns the place of the finished work; empty if no work was finished or published. */
function keptSteps(report: RunReport): readonly NextStep[] {
  if (report.kind !== 'worked' || report.headSha === null) return [];
  if (report.iterations.every(({ commit }) => commit === null)) return [];
  return [createNextStep('note', `what is finished is on \`${report.branch}\``)];
}
