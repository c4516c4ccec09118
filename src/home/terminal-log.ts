import type { Log } from '../ports/machine.ts';
import { terminalLine } from '../core/text/one-line.ts';
import type { LogFiles } from './log-files.ts';

/** Lines for a person: no workflow commands, nothing that steers a terminal. */
export function createTerminalLog({
  redact,
  print,
  files,
  heard,
  colours,
}: {
  readonly redact: (text: string) => string;
  readonly print: (text: string) => void;
  readonly files: Pick<LogFiles, 'line' | 'iterationBegins' | 'iterationEnds'>;
  /** Hears what is said within an iteration. */
  readonly heard: (line: string) => void;
  readonly colours: boolean;
}): Log {
  let isInGroup = false;
  const painted = (code: string, text: string): string => (colours ? `\u001B[${code}m${text}\u001B[0m` : text);
  const say = (level: Parameters<LogFiles['line']>[0], text: string, show: (line: string) => string): void => {
    const lines = redact(text)
      .split(/\r\n|[\r\n\u2028\u2029]/)
      .map((line) => `${/^ */.exec(line)?.[0] ?? ''}${terminalLine(line, MAX_LINE_CHARS)}`);
    for (const line of lines) print(`${isInGroup ? '  ' : ''}${show(line)}\n`);
    files.line(level, lines.join('\n'));
  };
  return {
    info: (text) => {
      if (isInGroup) heard(terminalLine(redact(text), 200));
      say('INFO', text, (line) => (isInGroup ? painted('2', line) : line));
    },
    warning: (text) => {
      say('WARN', text, (line) => painted('33', `! ${line}`));
    },
    error: (text) => {
      say('ERROR', text, (line) => painted('31', `✗ ${line}`));
    },
    group: async (title, body) => {
      if (isInGroup) return body();
      files.iterationBegins();
      print('\n');
      say('LOOP', title, (line) => painted('1', `▶ ${line}`));
      isInGroup = true;
      try {
        return await body();
      } finally {
        isInGroup = false;
        files.iterationEnds();
      }
    },
  };
}

const MAX_LINE_CHARS = 2_000;
