import { z } from 'zod';
import { type Effect, effectSchema, type Spent, spentSchema } from '../../core/tuning/tuning.ts';
import type { Immutable } from '../../core/policy.ts';
import { firstNames } from '../../core/text/phrase.ts';
import { formatCost, formatCount } from '../../report/format.ts';
import { plainLine } from '../arguments.ts';

const count = z.number().int().nonnegative();
const values = z.record(z.string(), z.string());

/** The output of `ralph tune --json`. A change that breaks readers needs a new major version. */
const tuneSchema = z.object({
  runs: z
    .object({
      stored: count,
      replayed: count,
      withoutJournal: count.describe('Runs whose journal is no longer kept.'),
      differing: count.describe('Runs that this version would decide otherwise, or whose journal is damaged.'),
    })
    .describe('The remembered runs. Only replayed ones count in everything else.'),
  spent: spentSchema.describe('All iterations of the replayed runs.'),
  settings: z.array(
    z.object({
      name: z.string(),
      now: z.string().nullable().describe('The value in the workflow; null: it is an expression.'),
      heldBack: count.describe('Runs that this limit ended, or made give up a task, while work was left.'),
      tried: z
        .array(z.object({ value: z.string(), effect: effectSchema }))
        .describe('Of several values with the same effect, the one that is nearest to the present value.'),
    }),
  ),
  recommended: values.describe('Values that would have saved money and lost nothing.'),
  together: effectSchema.nullable().describe('Effect of all values that are recommended, or were named; null: none.'),
  written: z.string().nullable().describe('The workflow file that was changed; null: none.'),
});

export type TuneResult = Immutable<z.infer<typeof tuneSchema>>;

/** Returns the published JSON Schema of `ralph tune --json`. */
export function tuneJsonSchema(): object {
  return { title: 'ralph tune --json', ...z.toJSONSchema(tuneSchema) };
}

const MAX_TASKS = 5;

/** Renders the result as text. `isNamed`: the person named the values. */
export function renderTuning(result: TuneResult, isNamed: boolean): string {
  const { runs, spent, settings, recommended, together } = result;
  const left = [
    ...(runs.withoutJournal > 0 ? [`${runs.withoutJournal} without a journal`] : []),
    ...(runs.differing > 0 ? [`${runs.differing} decided differently by this version`] : []),
  ];
  const isOfInterest = ({ tried, heldBack }: TuneResult['settings'][number]): boolean =>
    tried.length > 0 || heldBack > 0;
  const others = settings.filter((setting) => !isOfInterest(setting)).map(({ name }) => name);
  const chosen = Object.entries(recommended).map(([name, value]) => `${name}: ${value}`);
  return [
    `${formatCount(runs.replayed, 'run')} of ${runs.stored} replayed${left.length === 0 ? '' : ` (left out: ${left.join(', ')})`}: ${iterations(spent)}.`,
    ...settings
      .filter(isOfInterest)
      .flatMap(({ name, now, heldBack, tried }) => [
        '',
        `${name}: ${now ?? 'an expression'}${heldBack === 0 ? '' : `. It held back ${formatCount(heldBack, 'run')} with work left; what a higher value had cost, no journal says.`}`,
        ...tried.map(({ value, effect }) => `  ${value}: ${describeEffect(effect)}`),
      ]),
    '',
    ...(others.length === 0 ? [] : [`No difference: ${others.join(', ')}.`]),
    ...(isNamed || runs.replayed === 0
      ? []
      : [chosen.length === 0 ? 'Recommended: nothing.' : `Recommended: ${chosen.join(', ')}.`]),
    ...(together === null || (settings.length === 1 && isNamed) ? [] : [`Together: ${describeEffect(together)}`]),
    '',
  ].join('\n');
}

/** Describes an effect as a sentence: `would have saved $3.20 (4 iterations in 2 runs) and lost one task: #12 …`. */
function describeEffect({ runs, saved, lost, later, laterTasks, undecided }: Effect): string {
  const parts = [
    ...(saved.iterations > 0
      ? [`saved ${iterations(saved)}, and lost ${lost.length === 0 ? 'nothing' : tasks(lost)}`]
      : []),
    ...(later.iterations > 0
      ? [`left ${iterations(later)}${laterTasks.length === 0 ? '' : `, with ${tasks(laterTasks)},`} to later runs`]
      : []),
  ];
  const open =
    undecided === 0 ? '' : ` How ${formatCount(undecided, 'run')} would have gone on is not in the journals.`;
  if (parts.length === 0) return undecided === 0 ? 'would have changed nothing.' : `would have saved nothing.${open}`;
  return `in ${formatCount(runs, 'run')}, would have ${parts.join('; it would have ')}.${open}`;
}

function iterations({ iterations: number, costUsd, unpriced }: Spent): string {
  const noun = formatCount(number, 'iteration');
  if (costUsd === null) return `${noun} of unknown cost`;
  return unpriced === 0
    ? `${formatCost(costUsd)} (${noun})`
    : `at least ${formatCost(costUsd)} (${noun}, ${unpriced} of unknown cost)`;
}

function tasks(lost: Effect['lost']): string {
  const names = lost.map(({ title }) => plainLine(title, 60));
  return `${lost.length === 1 ? 'one task' : formatCount(lost.length, 'task')} (${firstNames(names, MAX_TASKS)})`;
}
