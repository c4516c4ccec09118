import { dataSection } from './learnings.ts';

/** A shorter rest of a text is not worth its frame. */
const MIN_SECTION = 160;

export function bulletsWithin(lines: readonly string[], room: number): string {
  return lines.reduce((text, line) => {
    const longer = `${text}- ${line}\n`;
    return longer.length <= room ? longer : text;
  }, '');
}

/** Text of others within the context; `max` in characters. */
export interface Section {
  readonly title: string;
  readonly label: string;
  readonly text: string;
  readonly max: number;
}

/** A data section that fits into `room`, holding the end of its text; empty when there is nothing to say or no room to say it. */
export function sectionWithin({ title, label, text, max }: Section, room: number): string {
  const wrap = (shown: string): string => `\n${title}\n${dataSection(label, shown)}\n`;
  if (text === '' || room < MIN_SECTION) return '';
  const frame = wrap(text).length - text.length;
  return wrap(lastChars(text, Math.min(max, room - frame)));
}

export function lastChars(text: string, count: number): string {
  return count <= 0 ? '' : text.slice(-count).replace(/^\p{Surrogate}/u, '');
}
