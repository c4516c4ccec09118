import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { BranchChange } from '../../core/lane/change.ts';
import { type LedgerDay, sumLedgerDays } from '../../core/lane/ledger.ts';
import { hasUnpricedCall } from '../../core/pipeline/step-record.ts';
import type { RunUsage } from '../../core/sharing/budget.ts';
import { computeModelCost } from '../../core/spending/prices.ts';
import type { WorkedReport } from '../../handover/report.ts';
import { formatCount, formatCost, formatDuration, formatTokens } from '../format.ts';

/** The facts about the cost of a run. */
type Costs = Pick<WorkedReport, 'iterations' | 'costUsd' | 'agents' | 'prices'>;

const BAR_CELLS = 24;

/** Renders a run's cost as `$1.20`, or as `at least $1.20` or `not known` if an agent reported tokens and no cost. */
export function renderRunCost(costs: Costs): string {
  if (unpriced(costs).length === 0) return formatCost(costs.costUsd);
  return costs.costUsd > 0 ? `at least ${formatCost(costs.costUsd)}` : 'not known';
}

/** Returns a run's known cost in US dollars, or null if nothing is known. */
export function computeKnownCostUsd(costs: Costs): number | null {
  return costs.costUsd === 0 && unpriced(costs).length > 0 ? null : costs.costUsd;
}

/** Returns the cost of a branch, or of a task on it, in US dollars, or null if it is not known. */
export function computeBranchCost({ costUsd, unpriced }: Pick<BranchChange, 'costUsd' | 'unpriced'>): number | null {
  return costUsd === 0 && unpriced > 0 ? null : costUsd;
}

/** Renders the cost of a branch, or of a task on it, as `$1.20`, `at least $1.20` or `cost not known`. */
export function renderBranchCost(change: Pick<BranchChange, 'costUsd' | 'unpriced' | 'tokens'>): string {
  const { costUsd, unpriced, tokens } = change;
  // Documents of earlier versions do not record iterations of unknown cost, so estimate their number.
  return renderCostInList({ costUsd: costUsd === 0 && (unpriced > 0 || tokens > 0) ? null : costUsd, unpriced });
}

/** Renders a cost from which that of `unpriced` iterations is missing, and which is null if nothing is known. */
export function renderCostInList({
  costUsd,
  unpriced,
}: {
  readonly costUsd: number | null;
  readonly unpriced: number;
}): string {
  if (costUsd === null) return 'cost not known';
  return unpriced > 0 ? `at least ${formatCost(costUsd)}` : formatCost(costUsd);
}

/** Renders the known cost of an iteration, for a list of amounts; empty if nothing is known. */
export function listIterationCost({ analysis: { costUsd }, evidence }: JournalEntry): readonly string[] {
  return costUsd === null ? [] : [renderCostInList({ costUsd, unpriced: hasUnpricedCall(evidence.steps) ? 1 : 0 })];
}

/** Renders a run's cost for a list of amounts, such as `cost not known`. */
export function renderCostNoun(costs: Costs): string {
  const word = renderRunCost(costs);
  return word === 'not known' ? `cost ${word}` : word;
}

/** Returns the cost for a list of amounts; empty if tokens were used at no cost, because the cost is then not known. */
export function listKnownCost({
  tokens,
  costUsd,
}: {
  readonly tokens: number;
  readonly costUsd: number;
}): readonly string[] {
  return costUsd === 0 && tokens > 0 ? [] : [formatCost(costUsd)];
}

/**
 * Explains why the cost of a run is not known and which limits apply instead, with `backticks` around code; returns
 * null if the cost is known.
 */
export function explainUnknownCost(report: Costs & Pick<WorkedReport, 'policy'>): string | null {
  const { iterations, policy } = report;
  const { length } = unpriced(report);
  if (length === 0) return null;
  const { maxCostUsd, maxCostUsdPerDay, maxTokensPerHour } = policy;
  const isMute =
    agentsWithoutCost(report).every(({ name }) => reportsNoUsage(name)) &&
    iterations.every(({ analysis }) => (analysis.tokens ?? 0) === 0);
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
    length === iterations.length
      ? 'This run is'
      : `${String(length)} of ${String(iterations.length)} iterations ${length === 1 ? 'is' : 'are'}`;
  return [
    isMute ? `${silentWords(report)} and no tokens.` : `${silentWords(report)}, and ${whyUnpriced(report)}.`,
    unbound === '' ? `${bound} limited by ${bounds}.` : `${bound} limited by ${bounds}, but not by ${unbound}.`,
    ...(isMute || maxTokensPerHour > 0 ? [] : ['Set `max-tokens-per-hour` to limit the tokens, too.']),
  ].join(' ');
}

/**
 * Returns the run's agents that report no cost, or all agents if each normally does, because one of them then left it
 * out.
 */
function agentsWithoutCost({ agents, iterations }: Costs): Costs['agents'] {
  const ofSteps = iterations.flatMap(({ evidence }) => evidence.steps.flatMap(({ agent }) => agent ?? []));
  const others = [...new Set(ofSteps)].filter((name) => agents.every((one) => one.name !== name));
  const all = [...agents, ...others.map((name) => ({ name, model: null }))];
  const silent = all.filter(({ name }) => !AGENTS[name].cost);
  return silent.length > 0 ? silent : all;
}

function silentWords(costs: Costs): string {
  const titles = agentsWithoutCost(costs).map(({ name }) => AGENTS[name].title);
  return `${inWords(titles)} ${titles.length === 1 ? 'reports' : 'report'} no cost`;
}

function whyUnpriced(costs: Costs): string {
  if (agentsWithoutCost(costs).every(({ name }) => reportsNoUsage(name))) return NOT_COUNTED;
  if (Object.keys(costs.prices).length === 0) return '`prices` is empty';
  const prices = agentsWithoutCost(costs).map(({ model }) => ({ model, price: knownPriceOf(costs, model) }));
  const missing = prices.flatMap(({ model, price }) => (model !== null && price === null ? [model] : []));
  if (missing.length > 0) return `\`prices\` has no entry for ${inWords(missing)}`;
  return prices.some(({ price }) => price === null)
    ? 'no entry of `prices` fits the model that was chosen'
    : NOT_COUNTED;
}

const NOT_COUNTED = 'the requests were not counted, so `prices` does not help';

/** Returns the iterations of unknown cost, except those of an agent that was ended before it reported anything. */
function unpriced(costs: Costs): readonly JournalEntry[] {
  // The user's prices may be zero, for example for a model on their own machine, so such iterations have a known cost.
  const isFree = agentsWithoutCost(costs).every(({ model }) => knownPriceOf(costs, model) === 0);
  return isFree
    ? []
    : costs.iterations.filter(
        ({ agent, analysis: { tokens, costUsd }, evidence: { steps } }) =>
          hasUnpricedCall(steps) ||
          (costUsd === null && ((tokens ?? 0) > 0 || (agent !== null && reportsNoUsage(agent)))),
      );
}

/** Returns true if an agent reports neither cost nor tokens. */
function reportsNoUsage(agent: AgentName): boolean {
  const { cost, tokens } = AGENTS[agent];
  return !cost && !tokens;
}

/** Returns the price of some tokens of each kind, or null if it is not known. */
function knownPriceOf({ prices }: Costs, model: string | null): number | null {
  return model === null ? null : computeModelCost(prices, model, { input: 2, cached: 1, output: 1 });
}

/** Names the inputs that apply, in a sentence. */
function named(inputs: readonly (readonly [name: string, applies: boolean])[]): string {
  return inWords(inputs.flatMap(([name, applies]) => (applies ? [`\`${name}\``] : [])));
}

function inWords(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), ...names.slice(-1)].filter((part) => part !== '').join(' and ');
}

/** Reports the usage of calls of unfinished iterations; empty if no usage is known. */
export function describeUnfinishedCalls({ calls, tokens, costUsd }: RunUsage): readonly string[] {
  if (calls === 0 || (tokens === 0 && costUsd === 0)) return [];
  const cost = costUsd > 0 ? `${formatCost(costUsd)} and ` : '';
  return [
    `Also counted: ${formatCount(calls, 'agent call')} of ${calls === 1 ? 'an unfinished iteration' : 'unfinished iterations'} (${cost}${formatTokens(tokens)} tokens).`,
  ];
}

/** Summarizes the use of the last 31 days in one line: cost, calls, tokens and time. */
export function summarizeSpend(days: readonly LedgerDay[]): string {
  if (days.length === 0) return 'nothing';
  const { calls, tokens, costUsd, minutes } = sumLedgerDays(days);
  return [
    ...listKnownCost({ tokens, costUsd }),
    formatCount(calls, 'call'),
    `${formatTokens(tokens)} tokens`,
    `${formatDuration(minutes * MINUTE_MS)} of agent time`,
  ].join(', ');
}

/**
 * Renders a line with a bar for each day: of its cost, or of its calls if nothing has a price. The day with the most
 * has the longest bar.
 */
export function drawSpendBars(days: readonly LedgerDay[]): readonly string[] {
  const hasPrices = days.some(({ costUsd }) => costUsd > 0);
  const amountOf = ({ costUsd, calls }: LedgerDay): number => (hasPrices ? costUsd : calls);
  const greatest = Math.max(...days.map(amountOf), 0);
  const costs = days.map((day) => listKnownCost(day)[0] ?? 'cost not known');
  const width = Math.max(...costs.map(({ length }) => length), 0);
  return days.map((day, index) => {
    const amount = amountOf(day);
    // Give any amount above zero at least one cell, so that it is visible.
    const cells = amount === 0 ? 0 : Math.max(1, Math.round((amount / greatest) * BAR_CELLS));
    return `${day.day}  ${'█'.repeat(cells).padEnd(BAR_CELLS)}  ${(costs[index] ?? '').padStart(width)}  ${formatCount(day.calls, 'call')}`;
  });
}
