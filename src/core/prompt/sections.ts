import type { LastIteration } from '../lane/state/state.ts';
import { MAX_WITHHELD_CHARS } from '../review/left-out.ts';
import type { RefusedWork } from '../tasks/task.ts';
import { toOneLine } from '../text/phrase.ts';
import { renderDataSection, takeLastChars } from './learnings.ts';

/** Minimum characters of a section; with less room, the section is left out. */
const MIN_SECTION = 160;

/** Renders the lines as a list, without those that do not fit into `room` characters. */
export function renderBullets(lines: readonly string[], room: number): string {
  return lines.reduce((text, line) => {
    const longer = `${text}- ${line}\n`;
    return longer.length <= room ? longer : text;
  }, '');
}

/** A text by others within the context. */
export interface PromptSection {
  readonly title: string;
  readonly label: string;
  readonly text: string;
  /** Maximum length in characters. */
  readonly max: number;
}

/**
 * Returns a data section with the end of its text that fits into `room`; empty if there is no text or too little room.
 */
export function renderSection({ title, label, text, max }: PromptSection, room: number): string {
  const wrap = (shown: string): string => `\n${title}\n${renderDataSection(label, shown)}\n`;
  if (text === '' || room < MIN_SECTION) return '';
  const frame = wrap(text).length - text.length;
  return wrap(takeLastChars(text, Math.min(max, room - frame)));
}

/** Maximum number of lines in a list, and of characters in one. */
const MAX_LINES = 5;
const MAX_LINE_CHARS = 90;

/** Returns a section with the first items of a list, one on each line. */
export function listSection(title: string, label: string, items: readonly string[] = []): PromptSection {
  const text = items
    .slice(0, MAX_LINES)
    .map((one) => `- ${toOneLine(one, MAX_LINE_CHARS)}`)
    .join('\n');
  return { title, label, text, max: MAX_LINES * (MAX_LINE_CHARS + 3) };
}

/** Maximum length of the section; each line repeats its reason. */
const MAX_WITHHELD_SECTION = 1_500;

/** Returns the section with the lines about withheld files, each of which names files and a reason. */
export function buildWithheldSection(lines: readonly string[]): PromptSection {
  return {
    title: 'Files of yours that are not published, or not finished, each with the reason, as data:',
    label: 'WITHHELD',
    text: lines.map((line) => `- ${toOneLine(line, MAX_WITHHELD_CHARS)}`).join('\n'),
    max: MAX_WITHHELD_SECTION,
  };
}

/** Returns the lines about withheld files if a hint is about them. */
export function describeWithheldFiles({
  hints,
  lastIteration,
}: {
  readonly hints: readonly string[];
  readonly lastIteration: Pick<LastIteration, 'withheld'> | null;
}): readonly string[] {
  return hints.includes('withheld') || hints.includes('marked') ? (lastIteration?.withheld ?? []) : [];
}

const MAX_REFUSED = 1_000;

/** Returns the section with what the server refused; empty for null. */
export function buildRefusedSection(refused: RefusedWork | null): PromptSection {
  const { files, words } = refused ?? { files: [], words: '' };
  const text = [...files.map((path) => `- ${toOneLine(path, 200)}`), words].join('\n');
  return { title: 'What the git server refused of your last work, as data:', label: 'SERVER', text, max: MAX_REFUSED };
}
