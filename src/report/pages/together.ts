import { outcomeKindsByTrouble, type OutcomeKind } from '../../core/outcome.ts';
import type { StoredRun } from '../../core/snapshot/stored-run.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { capLines, capitalizeFirst, listFirstNames } from '../../core/text/phrase.ts';
import type { EndOfLane, ParallelEnd } from '../../handover/report.ts';
import { formatCost, formatCount } from '../format.ts';
import { renderCode, renderLink, renderTable, renderText } from '../markdown.ts';
import { renderSteps, createNextStep, type NextStep } from '../next/step.ts';
import { nameOutcome } from '../sentences/ends/outcome-name.ts';
import { renderTrainSection } from '../sentences/train.ts';
import { renderStateGlyph } from './sections.ts';

/** Maximum number of tasks that are named for a branch. */
const SHOWN_TASKS = 5;

/** The outcome of a branch whose jobs published nothing. */
const LOST: StoredRun['outcome'] = { kind: 'failed', reason: 'infrastructure' };

/**
 * Renders the job summary of a run of several branches: a table with a line for each, those with problems first, and
 * the order of merges.
 */
export function renderTogether(together: ParallelEnd): string {
  const lanes = troubleFirst(together);
  const rows = lanes.map((lane) => [
    renderCode(lane.branch, 100),
    endWord(lane),
    taskNames(lane),
    pullRequestOf(lane, together),
    lane.run === null ? 'unknown' : String(lane.run.iterations),
    formatLaneCost(lane),
  ]);
  const lost = lanes.filter(({ run }) => run === null);
  const lines = lost.map(
    ({ lane }) =>
      `- ${capitalizeFirst(nameOfLane(lane))}: its jobs published nothing, so their logs say what happened.`,
  );
  const costs = lanes.map(costOfLane);
  if (costs.includes(null))
    lines.push(
      `- Cost: at least ${formatCost(sumOf(costs))}; what branches with an unknown cost have spent is not included.`,
    );
  return [
    `## Ralph: ${headlineOf(lanes)}`,
    `**Next:** ${renderSteps(suggestTogether(together), 'markdown')}`,
    renderTable(['branch', 'end', 'tasks', 'pull request', 'iterations', 'cost'], rows),
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
    ...[renderTrainSection(together.train)].filter((section) => section !== ''),
  ].join('\n\n');
}

/**
 * Renders the end of a run of several branches for the log: a line for each, those with problems first, then the next
 * steps.
 */
export function renderTogetherLog(together: ParallelEnd): string {
  const lines = troubleFirst(together).map(
    (lane) =>
      `${lane.branch}: ${endWord(lane)}, ${lane.run === null ? 'iterations unknown' : formatCount(lane.run.iterations, 'iteration')}, cost ${formatLaneCost(lane)}`,
  );
  return [...lines, renderSteps(suggestTogether(together), 'log')].join('\n');
}

/**
 * Builds the outputs of a run of several branches: the worst outcome, the sums, and the pull request if there is only
 * one. The cost is empty if that of any branch is unknown, because a partial sum would look like the whole cost.
 */
export function buildTogetherOutputs({
  lanes,
  repositoryUrl,
}: Omit<ParallelEnd, 'train'>): Readonly<Record<string, string>> {
  const [worst] = troubleFirst({ lanes });
  const outcome = worst?.run?.outcome ?? LOST;
  const runs = lanes.flatMap(({ run }) => run ?? []);
  const sum = (of: (run: StoredRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const published = lanes.filter(({ run }) => (run?.pullRequest ?? null) !== null);
  const only = published.length === 1 ? published[0] : undefined;
  const pull = only?.run?.pullRequest ?? null;
  const costs = lanes.map(costOfLane);
  return {
    outcome: outcome.kind,
    reason: outcome.reason,
    iterations: String(sum(({ iterations }) => iterations)),
    'tasks-done': String(sum(({ tasks }) => tasks.filter(({ state }) => state === 'done').length)),
    branch: only?.branch ?? '',
    'head-sha': only?.run?.head ?? '',
    'pr-number': String(pull ?? ''),
    'pr-url': pull === null ? '' : `${repositoryUrl}/pull/${String(pull)}`,
    'cost-usd': costs.includes(null) ? '' : sumOf(costs).toFixed(4),
    tokens: String(sum(({ tokens }) => tokens)),
    'status-json': JSON.stringify(lanes.map(statusOfLane)),
  };
}

function statusOfLane({ branch, run }: EndOfLane): object {
  const { outcome, head, pullRequest, iterations, tokens, tasks } = run ?? NOTHING;
  return {
    ...{ branch, outcome: outcome.kind, reason: outcome.reason, head_sha: head, pr_number: pullRequest },
    ...{ iterations, tokens, cost_usd: costOfLane({ run }), tasks },
  };
}

const NOTHING = { outcome: LOST, head: null, pullRequest: null, iterations: null, tokens: null, tasks: [] };

function troubleFirst({ lanes }: Pick<ParallelEnd, 'lanes'>): readonly EndOfLane[] {
  const rank = ({ run }: EndOfLane): number =>
    outcomeKindsByTrouble.indexOf((run?.outcome ?? LOST).kind as OutcomeKind);
  return lanes.toSorted((one, other) => rank(one) - rank(other));
}

/** Returns the first fact for people, which is the number of branches that need them. */
function headlineOf(lanes: readonly EndOfLane[]): string {
  const troubled = lanes.filter(isInTrouble);
  const all = `${String(lanes.length)} branches`;
  if (troubled.length === 0) return `${all} in one run`;
  return `${String(troubled.length)} of ${all} ${troubled.length === 1 ? 'needs' : 'need'} you`;
}

/** Returns the cost of a branch, or null if it is unknown because its jobs are lost or its model has no known price. */
function costOfLane({ run }: Pick<EndOfLane, 'run'>): number | null {
  return run === null || (run.costUsd === 0 && run.tokens > 0) ? null : run.costUsd;
}

function sumOf(costs: readonly (number | null)[]): number {
  return costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
}

function formatLaneCost(lane: EndOfLane): string {
  const cost = costOfLane(lane);
  return cost === null ? 'unknown' : formatCost(cost);
}

function endWord({ run }: EndOfLane): string {
  return nameOutcome(run?.outcome ?? LOST);
}

function taskNames({ run }: EndOfLane): string {
  const named = (run?.tasks ?? []).map(({ title, state }) => `${renderStateGlyph(state)} ${renderText(title, 80)}`);
  return capLines(named, SHOWN_TASKS).join('<br>');
}

function pullRequestOf({ run }: EndOfLane, { repositoryUrl }: ParallelEnd): string {
  const number = run?.pullRequest ?? null;
  return number === null ? '' : renderLink(`#${String(number)}`, `${repositoryUrl}/pull/${String(number)}`);
}

/** The kinds of outcomes that need a person. */
const TROUBLE: readonly string[] = ['failed', 'halted', 'blocked'];

/** The kinds of outcomes after which the next run continues by itself. */
const UNFINISHED: readonly string[] = ['limit', 'parked', 'cancelled'];

/** Returns true if a branch needs a person, or its jobs published nothing. */
function isInTrouble({ run }: EndOfLane): boolean {
  return run === null || TROUBLE.includes(run.outcome.kind);
}

/** Returns what a person can do after a run of several branches: those that need them first, then what is ready. */
export function suggestTogether({ lanes, train }: ParallelEnd): readonly NextStep[] {
  const order = train?.pulls.map(({ number }) => number) ?? [];
  const pullsOf = (some: readonly EndOfLane[]): readonly string[] =>
    some
      .flatMap(({ run }) => run?.pullRequest ?? [])
      .toSorted((one, other) => order.indexOf(one) - order.indexOf(other) || one - other)
      .map((number) => `#${String(number)}`);
  const troubled = lanes.filter(isInTrouble);
  const asking = pullsOf(troubled);
  const silent = troubled.filter(({ run }) => (run?.pullRequest ?? null) === null);
  const ready = pullsOf(lanes.filter(({ run }) => run?.outcome.kind === 'complete'));
  const isContinued = lanes.some(({ run }) => run === null || UNFINISHED.includes(run.outcome.kind));
  const steps = [
    ...(asking.length === 0
      ? []
      : [createNextStep('look', `what ${listFirstNames(asking)} ${asking.length === 1 ? 'asks' : 'ask'} of you`)]),
    ...(silent.length === 0
      ? []
      : [
          createNextStep(
            'look',
            `the logs of the jobs for ${listFirstNames(silent.map(({ lane }) => nameOfLane(lane)))}`,
          ),
        ]),
    ...(ready.length === 0 ? [] : [createNextStep('review', `and merge ${ready.join(', then ')}`)]),
    ...(isContinued ? [createNextStep('wait', 'the next run continues what is unfinished')] : []),
  ];
  return steps.length === 0 ? [createNextStep('nothing', ' to do')] : steps;
}
