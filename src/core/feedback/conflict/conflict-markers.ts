/** The texts of one file: the current text, and the text of each side or null for a side without the file. */
export interface MergedTexts {
  readonly now: string;
  readonly sides: readonly (string | null)[];
  /** True if git left conflict markers in the file. */
  readonly conflicted: boolean;
}

/**
 * Returns true if a file has conflict markers that neither side contains. Any one of the three marker lines is enough.
 */
export function hasNewMarkers({ now, sides, conflicted }: MergedTexts): boolean {
  const counts = sides.map((side) => countMarkers(side ?? ''));
  const { begins, middles, ends } = countMarkers(now);
  const most = (of: (count: Count) => number): number => Math.max(0, ...counts.map(of));
  // A line of `=` may also underline a heading. A resolution may keep the headings of both sides, so only lines beyond
  // those of both sides are markers.
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

function countMarkers(text: string): Count {
  const count = (line: RegExp): number => text.match(line)?.length ?? 0;
  return { begins: count(/^<{7} /gm), middles: count(/^={7}\r?$/gm), ends: count(/^>{7} /gm) };
}

/** Returns the number of conflicts in a text that have all of their marker lines, in order. */
export function countConflicts(text: string): number {
  const marks = (text.match(/^(?:<{7} |={7}\r?$|>{7} )/gm) ?? []).map((line) => line.charAt(0)).join('');
  return marks.match(/<=+>/g)?.length ?? 0;
}
