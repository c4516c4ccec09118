import { outcomeKindsByTrouble, type OutcomeKind } from '../../core/outcome.ts';
import type { StoredRun } from '../../core/snapshot/stored-run.ts';
import { nameOfLane } from '../../core/tasks/ids.ts';
import { firstLines, upperFirst } from '../../core/text/phrase.ts';
import type { EndOfLane, Together } from '../../handover/together.ts';
import { formatCost, formatCount } from '../format.ts';
import { renderCode, renderLink, renderTable, renderText } from '../markdown.ts';
import { nameOutcome } from '../sentences/ends/outcome-name.ts';
import { stateGlyph } from './sections.ts';

/** Maximum number of tasks that are named for a branch. */
const SHOWN_TASKS = 5;

/** The kinds of outcomes that need a person. */
const TROUBLE: readonly string[] = ['failed', 'halted', 'blocked'];

/** The outcome of a branch whose jobs published nothing. */
const LOST: StoredRun['outcome'] = { kind: 'failed', reason: 'infrastructure' };

/** Renders the job summary of a run of several branches: a table with a line for each, trouble first. */
export function renderTogether(together: Together): string {
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
      `- ${upperFirst(nameOfLane(lane))}: its jobs published nothing, so their logs say what happened. The next run continues from what was saved before.`,
  );
  return [
    `## Ralph: ${headlineOf(lanes)}`,
    renderTable(['branch', 'end', 'tasks', 'pull request', 'iterations', 'cost'], rows),
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
  ].join('\n\n');
}

/** Renders the end of such a run for the log: a line for each branch, trouble first. */
export function renderTogetherLog(together: Together): string {
  return troubleFirst(together)
    .map(
      (lane) =>
        `${lane.branch}: ${endWord(lane)}, ${lane.run === null ? 'iterations unknown' : formatCount(lane.run.iterations, 'iteration')}, cost ${formatLaneCost(lane)}`,
    )
    .join('\n');
}

/** Builds the outputs of such a run: the worst outcome, the sums, and a pull request only where there is one. */
export function buildTogetherOutputs({ lanes, repositoryUrl }: Together): Readonly<Record<string, string>> {
  const [worst] = troubleFirst({ lanes });
  const outcome = worst?.run?.outcome ?? LOST;
  const runs = lanes.flatMap(({ run }) => run ?? []);
  const sum = (of: (run: StoredRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const published = lanes.filter(({ run }) => (run?.pullRequest ?? null) !== null);
  const only = published.length === 1 ? published[0] : undefined;
  const pull = only?.run?.pullRequest ?? null;
  return {
    outcome: outcome.kind,
    reason: outcome.reason,
    iterations: String(sum(({ iterations }) => iterations)),
    'tasks-done': String(sum(({ tasks }) => tasks.filter(({ state }) => state === 'done').length)),
    branch: only?.branch ?? '',
    'head-sha': only?.run?.head ?? '',
    'pr-number': String(pull ?? ''),
    'pr-url': pull === null ? '' : `${repositoryUrl}/pull/${String(pull)}`,
    'cost-usd': sum(({ costUsd }) => costUsd).toFixed(4),
    tokens: String(sum(({ tokens }) => tokens)),
    'status-json': JSON.stringify(lanes.map(statusOfLane)),
  };
}

function statusOfLane({ branch, run }: EndOfLane): object {
  const { outcome, head, pullRequest, iterations, tokens, costUsd, tasks } = run ?? NOTHING;
  return {
    ...{ branch, outcome: outcome.kind, reason: outcome.reason, head_sha: head, pr_number: pullRequest },
    ...{ iterations, tokens, cost_usd: costUsd, tasks },
  };
}

const NOTHING = { outcome: LOST, head: null, pullRequest: null, iterations: 0, tokens: 0, costUsd: 0, tasks: [] };

function troubleFirst({ lanes }: Pick<Together, 'lanes'>): readonly EndOfLane[] {
  const rank = ({ run }: EndOfLane): number =>
    outcomeKindsByTrouble.indexOf((run?.outcome ?? LOST).kind as OutcomeKind);
  return lanes.toSorted((one, other) => rank(one) - rank(other));
}

/** Returns what people should know first: how many branches need them. */
function headlineOf(lanes: readonly EndOfLane[]): string {
  const troubled = lanes.filter(({ run }) => TROUBLE.includes((run?.outcome ?? LOST).kind));
  const all = `${String(lanes.length)} branches`;
  if (troubled.length === 0) return `${all} at once`;
  return `${String(troubled.length)} of ${all} ${troubled.length === 1 ? 'needs' : 'need'} you`;
}

/** Returns the cost of a branch; what lost jobs have spent is not known. */
function formatLaneCost({ run }: EndOfLane): string {
  return run === null ? 'unknown' : formatCost(run.costUsd);
}

function endWord({ run }: EndOfLane): string {
  return nameOutcome(run?.outcome ?? LOST);
}

function taskNames({ run }: EndOfLane): string {
  const named = (run?.tasks ?? []).map(({ title, state }) => `${stateGlyph(state)} ${renderText(title, 80)}`);
  return firstLines(named, SHOWN_TASKS).join('<br>');
}

function pullRequestOf({ run }: EndOfLane, { repositoryUrl }: Together): string {
  const number = run?.pullRequest ?? null;
  return number === null ? '' : renderLink(`#${String(number)}`, `${repositoryUrl}/pull/${String(number)}`);
}
