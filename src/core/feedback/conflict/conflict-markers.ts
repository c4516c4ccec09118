/** Texts of one file: as it is, and as each of the two sides has it; null: that side has none. */
export interface MergedTexts {
  readonly now: string;
  readonly sides: readonly (string | null)[];
  /** Whether git left markers in it. */
  readonly conflicted: boolean;
}

/** Whether a file holds conflict markers that neither side brought: one line of the three is enough. */
export function holdsMarkers({ now, sides, conflicted }: MergedTexts): boolean {
  const counts = sides.map((side) => countOf(side ?? ''));
  const { begins, middles, ends } = countOf(now);
  const most = (of: (count: Count) => number): number => Math.max(0, ...counts.map(of));
  // A line of `=` underlines a heading as well, and a resolution may keep those of both sides.
  const known = counts.reduce((sum, count) => sum + count.middles, 0);
  return (
    begins > most((count) => count.begins) || ends > most((count) => count.ends) || (conflicted && middles > known)
  );
}

interface Count {
  readonly begins: number;
  readonly middles: number;
  readonly ends: number;
}

function countOf(text: string): Count {
  const count = (line: RegExp): number => text.match(line)?.length ?? 0;
  return { begins: count(/^<{7} /gm), middles: count(/^={7}\r?$/gm), ends: count(/^>{7} /gm) };
}
