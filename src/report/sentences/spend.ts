import { type AgentName, CAPABILITIES } from '../../core/agent-names.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { Change } from '../../core/lane/change.ts';
import type { LedgerDay } from '../../core/lane/ledger.ts';
import type { Spent } from '../../core/sharing/budget.ts';
import { totalOf } from '../../core/sharing/spend.ts';
import { costOf } from '../../core/spending/prices.ts';
import type { WorkedReport } from '../../handover/report.ts';
import { count, formatCost, formatDuration, formatTokens } from '../format.ts';

/** What is known of the cost of a run. */
type Costs = Pick<WorkedReport, 'iterations' | 'costUsd' | 'agents' | 'prices'>;

const BAR_CELLS = 24;

/** What a run cost: `$1.20`; `at least $1.20` or `not known` where an agent told tokens and no cost. */
export function costWord(costs: Costs): string {
  if (unpriced(costs).length === 0) return formatCost(costs.costUsd);
  return costs.costUsd > 0 ? `at least ${formatCost(costs.costUsd)}` : 'not known';
}

/** What a run cost in US dollars, as far as it is known; null: not known at all. */
export function costOrNull(costs: Costs): number | null {
  return costs.costUsd === 0 && unpriced(costs).length > 0 ? null : costs.costUsd;
}

/** The same of a branch, or of a task on it. */
export function branchCost({ costUsd, unpriced }: Pick<Change, 'costUsd' | 'unpriced'>): number | null {
  return costUsd === 0 && unpriced > 0 ? null : costUsd;
}

/** `$1.20`, `at least $1.20`, `cost not known`: what a branch cost, or a task on it. */
export function branchCostNoun(change: Pick<Change, 'costUsd' | 'unpriced' | 'tokens'>): string {
  const { costUsd, unpriced, tokens } = change;
  // Documents of before do not count what nobody tells.
  if (costUsd === 0 && (unpriced > 0 || tokens > 0)) return 'cost not known';
  return unpriced > 0 ? `at least ${formatCost(costUsd)}` : formatCost(costUsd);
}

/** The same among other amounts: `cost not known`. */
export function costNoun(costs: Costs): string {
  const word = costWord(costs);
  return word === 'not known' ? `cost ${word}` : word;
}

/** The cost of what was used, for a list of amounts; left out where many tokens cost nothing: then nobody knows. */
export function knownCost({
  tokens,
  costUsd,
}: {
  readonly tokens: number;
  readonly costUsd: number;
}): readonly string[] {
  return costUsd === 0 && tokens > 0 ? [] : [formatCost(costUsd)];
}

/** Why the cost of a run is not known, and what bounds the run instead, with `backticks` around code; null: it is known. */
export function costIsUnknown(report: Costs & Pick<WorkedReport, 'policy'>): string | null {
  const { iterations, policy } = report;
  const { length } = unpriced(report);
  if (length === 0) return null;
  const { maxCostUsd, maxCostUsdPerDay, maxTokensPerHour } = policy;
  const isMute = silentOf(report).every(({ name }) => tellsNothing(name));
  const unbound = named([
    ['max-cost-usd', maxCostUsd > 0],
    ['max-cost-usd-per-day', maxCostUsdPerDay > 0],
    ['max-tokens-per-hour', isMute && maxTokensPerHour > 0],
  ]);
  const bounds = named([
    ['max-iterations', true],
    ['max-minutes', true],
    ['max-calls-per-hour', true],
    ['max-tokens-per-hour', !isMute && maxTokensPerHour > 0],
  ]);
  const bound =
    length === iterations.length ? 'this run' : `${String(length)} of ${String(iterations.length)} iterations`;
  return [
    isMute ? `${silentWords(report)} and no tokens.` : `${silentWords(report)}, and ${whyUnpriced(report)}.`,
    unbound === '' ? `What bounds ${bound} is ${bounds}.` : `What bounds ${bound} is ${bounds}, and not ${unbound}.`,
    ...(isMute || maxTokensPerHour > 0 ? [] : ['Set `max-tokens-per-hour` to bound the tokens, too.']),
  ].join(' ');
}

/** Agents of the run that report no cost; where all do, one of them has left it out. */
function silentOf({ agents }: Costs): Costs['agents'] {
  const silent = agents.filter(({ name }) => !CAPABILITIES[name].cost);
  return silent.length > 0 ? silent : agents;
}

function silentWords(costs: Costs): string {
  const titles = silentOf(costs).map(({ name }) => CAPABILITIES[name].title);
  return `${inWords(titles)} ${titles.length === 1 ? 'reports' : 'report'} no cost`;
}

function whyUnpriced(costs: Costs): string {
  if (Object.keys(costs.prices).length === 0) return '`prices` is empty';
  const prices = silentOf(costs).map(({ model }) => ({ model, price: priceOf(costs, model) }));
  const missing = prices.flatMap(({ model, price }) => (model !== null && price === null ? [model] : []));
  if (missing.length > 0) return `\`prices\` has no entry for ${inWords(missing)}`;
  return prices.some(({ price }) => price === null)
    ? 'no entry of `prices` fits the model that was chosen'
    : 'the requests were not counted, so that `prices` does not help';
}

/** Iterations whose cost nobody knows. Those of an agent that was ended before it told anything are not among them. */
function unpriced(costs: Costs): readonly JournalEntry[] {
  // As the user says, for example of a model on a machine of theirs.
  const isFree = silentOf(costs).every(({ model }) => priceOf(costs, model) === 0);
  return isFree
    ? []
    : costs.iterations.filter(
        ({ agent, analysis: { tokens, costUsd } }) =>
          costUsd === null && ((tokens ?? 0) > 0 || (agent !== null && tellsNothing(agent))),
      );
}

/** Whatever it used, nobody hears of it. */
function tellsNothing(agent: AgentName): boolean {
  const { cost, tokens } = CAPABILITIES[agent];
  return !cost && !tokens;
}

/** What some tokens of each kind cost; null: not known. */
function priceOf({ prices }: Costs, model: string | null): number | null {
  return model === null ? null : costOf(prices, model, { input: 2, cached: 1, output: 1 });
}

/** Names of inputs in a sentence, those that apply. */
function named(inputs: readonly (readonly [name: string, applies: boolean])[]): string {
  return inWords(inputs.flatMap(([name, applies]) => (applies ? [`\`${name}\``] : [])));
}

function inWords(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' and ');
}

/** Says what calls used whose iteration did not come to its end; empty: they used nothing that is known. */
export function unfinishedCallsLine({ calls, tokens, costUsd }: Spent): readonly string[] {
  if (calls === 0 || (tokens === 0 && costUsd === 0)) return [];
  const [made, its] =
    calls === 1 ? ['was made in an iteration that', 'it used'] : ['were made in iterations that', 'they used'];
  const cost = costUsd > 0 ? `${formatCost(costUsd)} and ` : '';
  return [
    `${count(calls, 'agent call')} ${made} did not finish. What ${its} (${cost}${formatTokens(tokens)} tokens) counts.`,
  ];
}

/** What was used in the last 31 days, in one line: cost, calls, tokens and time. */
export function spendSummary(days: readonly LedgerDay[]): string {
  if (days.length === 0) return 'nothing';
  const { calls, tokens, costUsd, minutes } = totalOf(days);
  return [
    ...knownCost({ tokens, costUsd }),
    count(calls, 'call'),
    `${formatTokens(tokens)} tokens`,
    `${formatDuration(minutes * MINUTE_MS)} of agent time`,
  ].join(', ');
}

/** A line with a bar for each day: of its cost, or of its calls where nothing has a price. The longest bar is the greatest day. */
export function spendBars(days: readonly LedgerDay[]): readonly string[] {
  const hasPrices = days.some(({ costUsd }) => costUsd > 0);
  const amountOf = ({ costUsd, calls }: LedgerDay): number => (hasPrices ? costUsd : calls);
  const greatest = Math.max(...days.map(amountOf), 0);
  const costs = days.map(({ costUsd }) => formatCost(costUsd));
  const width = Math.max(...costs.map(({ length }) => length), 0);
  return days.map((day, index) => {
    const amount = amountOf(day);
    // What is not nothing is seen.
    const cells = amount === 0 ? 0 : Math.max(1, Math.round((amount / greatest) * BAR_CELLS));
    return `${day.day}  ${'█'.repeat(cells).padEnd(BAR_CELLS)}  ${(costs[index] ?? '').padStart(width)}  ${count(day.calls, 'call')}`;
  });
}
