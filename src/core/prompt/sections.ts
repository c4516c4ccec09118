import { toOneLine } from '../text/phrase.ts';
import { renderDataSection } from './learnings.ts';

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

/** Returns at most the last `count` characters, without half of a surrogate pair at the beginning. */
export function takeLastChars(text: string, count: number): string {
  return count <= 0 ? '' : text.slice(-count).replace(/^\p{Surrogate}/u, '');
}

/** Maximum number of lines in a list. */
const MAX_LINES = 5;

/** Returns a section with the first items of a list, one on each line of at most `chars` characters. */
export function listSection(title: string, label: string, items: readonly string[] = [], chars = 90): PromptSection {
  const text = items
    .slice(0, MAX_LINES)
    .map((one) => `- ${toOneLine(one, chars)}`)
    .join('\n');
  return { title, label, text, max: MAX_LINES * (chars + 3) };
}
