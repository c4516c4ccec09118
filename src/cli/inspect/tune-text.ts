import { z } from 'zod';
import { type LimitEffect, effectSchema, type SpentIterations, spentSchema } from '../../core/tuning/tuning.ts';
import type { Immutable } from '../../core/policy.ts';
import { joinNames } from '../../core/text/phrase.ts';
import { formatCost, formatCount } from '../../report/format.ts';
import { toPlainLine } from '../arguments.ts';

const count = z.number().int().nonnegative();
const values = z.record(z.string(), z.string());

/** The output of `ralph tune --json`. A change that breaks readers needs a new major version. */
export const tuneSchema = z.object({
  runs: z
    .object({
      stored: count,
      replayed: count,
      withoutJournal: count.describe('Runs whose journal is no longer kept.'),
      differing: count.describe('Runs that this version decides differently, or whose journal is damaged.'),
    })
    .describe('The remembered runs. Only replayed ones count in everything else.'),
  spent: spentSchema.describe('All iterations of the replayed runs.'),
  settings: z.array(
    z.object({
      name: z.string(),
      now: z.string().nullable().describe('The value in the workflow; null: it is an expression.'),
      heldBack: count.describe('Runs that ended, or gave up a task, because of this limit while work was left.'),
      tried: z
        .array(z.object({ value: z.string(), effect: effectSchema }))
        .describe('Of several values with the same effect, the one that is nearest to the present value.'),
    }),
  ),
  recommended: values.describe('Values that would have saved money and lost nothing, also together.'),
  written: z.string().nullable().describe('The workflow file that was changed; null: none.'),
});

export type TuneResult = Immutable<z.infer<typeof tuneSchema>>;

const MAX_TASKS = 5;

/** Renders the result as text. `isNamed` is true if the person named the values to try. */
export function renderTuning({ runs, spent, settings, recommended }: TuneResult, isNamed: boolean): string {
  const left = [
    ...(runs.withoutJournal > 0 ? [`${runs.withoutJournal} without a journal`] : []),
    ...(runs.differing > 0 ? [`${runs.differing} that this version decides differently`] : []),
  ];
  const replayed = `${runs.replayed} of ${formatCount(runs.stored, 'run')} replayed${left.length === 0 ? '' : ` (left out: ${left.join(', ')})`}`;
  if (runs.replayed === 0) return `${replayed}: there is nothing to compare yet.\n`;
  const shown = settings.filter(({ tried, heldBack }) => tried.length + heldBack > 0);
  const others = settings.filter((setting) => !shown.includes(setting)).map(({ name }) => name);
  const chosen = Object.entries(recommended).map(([name, value]) => `${name}: ${value}`);
  return [
    `${replayed}: ${iterations(spent)}.`,
    ...shown.flatMap((setting) => ['', ...renderSetting(setting)]),
    ...(others.length === 0 ? [] : ['', `No difference: ${others.join(', ')}.`]),
    ...(isNamed ? [] : ['', `Recommended: ${chosen.length === 0 ? 'nothing' : chosen.join(', ')}.`]),
    '',
  ].join('\n');
}

function renderSetting({ name, now, heldBack, tried }: TuneResult['settings'][number]): readonly string[] {
  const held =
    heldBack === 0
      ? ''
      : `; it held back ${formatCount(heldBack, 'run')} with work left, and no journal shows what more work would have cost`;
  return [
    `${name}, now ${now ?? 'an expression'}${held}:`,
    ...tried.map(({ value, effect }) => `  ${value} ${describeEffect(effect)}`),
  ];
}

/** Describes an effect as a verb phrase: `would have saved $3.20 (4 iterations in 2 runs) and lost one task: #12 …`. */
function describeEffect({ saved, lost, later, undecided }: LimitEffect): string {
  const parts = [
    ...(saved.iterations > 0
      ? [`saved ${iterations(saved)} and lost ${lost.length === 0 ? 'nothing' : tasks(lost)}`]
      : []),
    ...(later.iterations > 0 ? [`left ${iterations(later)} to later runs`] : []),
  ];
  const open =
    undecided === 0 ? '' : `; the journals do not say how ${formatCount(undecided, 'run')} would have continued`;
  return parts.length === 0 ? `would have saved nothing${open}` : `would have ${parts.join(', and ')}${open}`;
}

function iterations({ iterations: number, costUsd, unpriced }: SpentIterations): string {
  const noun = formatCount(number, 'iteration');
  if (costUsd === null) return `${noun} of unknown cost`;
  return unpriced === 0
    ? `${formatCost(costUsd)} (${noun})`
    : `at least ${formatCost(costUsd)} (${noun}, ${unpriced} of unknown cost)`;
}

function tasks(lost: LimitEffect['lost']): string {
  const names = lost.map(({ title }) => toPlainLine(title, 60));
  return `${lost.length === 1 ? 'one task' : formatCount(lost.length, 'task')} (${joinNames(names, MAX_TASKS)})`;
}
