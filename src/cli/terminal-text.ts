import { stripVTControlCharacters, styleText } from 'node:util';
import { piece, widthOf } from './monitor/view/columns.ts';

/** Tells whether the standard output shows colours; NO_COLOR and a dumb terminal say no. */
export function hasColours({ NO_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  return process.stdout.isTTY && (NO_COLOR ?? '') === '' && TERM !== 'dumb';
}

/** Breaks lines at words, so that none is wider than the terminal; a word that is wider stays whole. */
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

/** Before each word, behind the blanks of the one before it. */
const BETWEEN_WORDS = /(?<= )(?! )/;

/** Commands and lines to paste stand this deep. */
const AS_IS = /^ {6}/;

/** Returns how far the lines that continue this one are indented: to where its text begins, behind a mark or the first column of a table. */
function hangOf(line: string, columns: number): number {
  const [indentation = ''] = /^ */.exec(line) ?? [];
  const [start = indentation] = /^ *(?:[✓⚠✗▶!•→›-] |\d+\. |\S+(?: \S+)*? {2,})/u.exec(line) ?? [];
  return start.length <= columns / 2 ? start.length : indentation.length;
}

function columnsOf(text: string): number {
  return widthOf([piece(stripVTControlCharacters(text))]);
}

const MARKS = { '✓': 'green', '⚠': 'yellow', '✗': 'red' } as const;

/** Colours the marks of findings at the beginning of lines, and the verdict that counts them. */
export function paintMarks(text: string): string {
  return text.replace(/^[✓⚠✗](?= )|(?<=, )⚠(?= \d)/gmu, (mark) =>
    styleText(['bold', MARKS[mark as keyof typeof MARKS]], mark, { validateStream: false }),
  );
}
