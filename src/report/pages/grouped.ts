import { count } from '../format.ts';
import { prose } from '../markdown.ts';

/** Something that is said of an iteration. */
export interface OfIteration {
  readonly iteration: number;
  readonly text: string;
}

/** One line per text, in the order of its first iteration: `iterations 2–5: …`. Markdown. */
export function groupedLines(said: readonly OfIteration[]): readonly string[] {
  const byText = new Map<string, number[]>();
  for (const { iteration, text } of said) byText.set(text, [...(byText.get(text) ?? []), iteration]);
  return [...byText].map(
    ([text, iterations]) =>
      `${new Set(iterations).size === 1 ? 'iteration' : 'iterations'} ${ranges(iterations)}: ${prose(text, 300)}`,
  );
}

/** `2–5, 7`. */
function ranges(iterations: readonly number[]): string {
  const sorted = [...new Set(iterations)].sort((a, b) => a - b);
  const starts = sorted.filter((one) => !sorted.includes(one - 1));
  const ends = sorted.filter((one) => !sorted.includes(one + 1));
  return starts
    .map((start, index) => (start === ends[index] ? `${start}` : `${start}–${ends[index] ?? ''}`))
    .join(', ');
}

/** `Iteration 3: It …`, as a lane's change keeps what was overruled. */
export function parseOverruled(line: string): OfIteration {
  const [, iteration = '', text = line] = /^Iteration (\d{1,6}): ([^]*)$/.exec(line) ?? [];
  return { iteration: Number(iteration), text: claimWords(text) };
}

/** A discrepancy or veto, as the journal holds it, for people who do not know the status block. */
export function claimWords(sentence: string): string {
  return sentence
    .replace(
      /^It reported TESTS_STATUS: PASSING, but the verification failed\.$/,
      'The agent said that the tests pass; they failed.',
    )
    .replace(
      /^It reported FILES_MODIFIED: (\d+), but no file content changed\.$/,
      (_, files: string) => `The agent said that it changed ${count(Number(files), 'file')}; nothing changed.`,
    )
    .replace(
      /^It reported TASKS_COMPLETED_THIS_LOOP: (\d+), but the files of tasks show (\d+)\.$/,
      (_, said: string, shown: string) =>
        `The agent said that it finished ${count(Number(said), 'task')}; the task files show ${shown}.`,
    )
    .replace(/ of the files of tasks\.$/, ' from the task files.')
    .replace(/^It (?=claimed|deleted|reported)/, 'The agent ');
}
