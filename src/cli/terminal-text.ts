import { stripVTControlCharacters, styleText } from 'node:util';
import { createPiece, measureWidth } from './monitor/view/columns.ts';

/** Returns true if the standard output shows colours. NO_COLOR and a dumb terminal turn them off. */
export function hasColours({ NO_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  return process.stdout.isTTY && (NO_COLOR ?? '') === '' && TERM !== 'dumb';
}

/** Breaks lines between words so that they fit the terminal; a word that is too wide stays whole. */
export function wrapText(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns))
    .join('\n');
}

function wrapLine(line: string, columns: number): string {
  if (columnsOf(line) <= columns || AS_IS.test(line)) return line;
  const hang = hangOf(stripVTControlCharacters(line), columns);
  const [first = '', ...words] = line.split(BETWEEN_WORDS);
  const lines: string[] = [];
  let current = first;
  for (const word of words) {
    if (columnsOf(current + word.trimEnd()) <= columns || current.trim() === '') current += word;
    else {
      lines.push(current.trimEnd());
      current = `${' '.repeat(hang)}${word}`;
    }
  }
  return [...lines, current].join('\n');
}

/** Matches the start of each word, after the blanks that separate it from the previous one. */
const BETWEEN_WORDS = /(?<= )(?! )/;

/** Matches a line that is indented like commands and other text to paste, and so must stay unchanged. */
const AS_IS = /^ {6}/;

/**
 * Returns the indentation of the lines that continue this one: the column of its text, after a mark, a command's name
 * or the first column of a table.
 */
function hangOf(line: string, columns: number): number {
  const [indentation = ''] = /^ */.exec(line) ?? [];
  const [start = indentation] = /^ *(?:[✓⚠✗▶!•→›-] |\d+\. |Usage: ralph \S+ |\S+(?: \S+)*? {2,})/u.exec(line) ?? [];
  return start.length <= columns / 2 ? start.length : indentation.length;
}

function columnsOf(text: string): number {
  return measureWidth([createPiece(stripVTControlCharacters(text))]);
}

const MARKS = { '✓': 'green', '⚠': 'yellow', '✗': 'red' } as const;

/** Colours the marks of findings at the beginning of lines, and in the summary that counts them. */
export function paintMarks(text: string): string {
  return text.replace(/^[✓⚠✗](?= )|(?<=, )⚠(?= \d)/gmu, (mark) =>
    styleText(['bold', MARKS[mark as keyof typeof MARKS]], mark, { validateStream: false }),
  );
}
