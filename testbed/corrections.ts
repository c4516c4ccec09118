import type { NamedTask } from './scripted-work.ts';

/** A change of existing files that people or CI ask for. It is made in one visit, and each file is read first. */
export interface Correction {
  readonly message: string;
  readonly paths: readonly string[];
  readonly correct: (content: string) => string;
  /** The summary for the person who asked. */
  readonly summary: string;
}

/**
 * Returns the change of files that the task in one of our prompts asks for, or null if it asks for no change or for one
 * that a script does not understand.
 */
export function findCorrection(prompt: string, { id }: NamedTask): Correction | null {
  if (id.startsWith('thread-')) return remarkIn(prompt);
  if (id.startsWith('check-')) return firstLineIn(prompt);
  return id === 'conflict-base' ? mergeIn(prompt) : null;
}

/** Returns a file's lines without the line numbers that a reading tool puts before them. */
export function withoutNumbers(shown: string): string {
  const numbered = [...shown.matchAll(/^[ \t]*0*\d+(?:→|\t|[:|] ?|\. )(.*)$/gm)].map(([, line = '']) => line);
  if (numbered.length === 0) return shown;
  return `${numbered.join('\n').replace(/\n+$/, '')}\n`;
}

function remarkIn(prompt: string): Correction | null {
  const path = /^File: (\S+)$/m.exec(prompt)?.[1];
  if (path === undefined) return null;
  const remark = '// Reviewed: it stays as small as it is.';
  return {
    message: `A reviewer asks for something in ${path}.`,
    paths: [path],
    correct: (content) =>
      `${content.replace(/\n*$/, '\n')}${content.includes(remark) ? '// Reviewed once more.' : remark}\n`,
    summary: `${path} says so at its end now.`,
  };
}

/** Finds the correction in the form in which the story's linter asks for it. */
function firstLineIn(prompt: string): Correction | null {
  const found = [...prompt.matchAll(/^Error: (\S+): the first line must be "([^"\n]+)"$/gm)];
  const line = found[0]?.[2];
  if (line === undefined) return null;
  const paths = [...new Set(found.map(([, path = '']) => path))];
  return {
    message: `CI wants another first line in ${paths.join(', ')}.`,
    paths,
    correct: (content) => (content.startsWith(line) ? content : `${line}\n${content}`),
    summary: `${paths.join(', ')} begins with the line that the check asks for.`,
  };
}

function mergeIn(prompt: string): Correction | null {
  const [, listed = ''] = /^<<<<< BEGIN CONFLICTS-\d+\n([^]*?)\n>>>>> END CONFLICTS-/m.exec(prompt) ?? [];
  const paths = [...listed.matchAll(/^- (.+)$/gm)].map(([, path = '']) => path);
  if (paths.length === 0) return null;
  return {
    message: `Both sides changed ${paths.join(', ')}: I keep the lines of both.`,
    paths,
    correct: (content) => content.replace(/^(?:<{7} .*|={7}|>{7} .*)\n/gm, ''),
    summary: `Both sides added lines to ${paths.join(', ')}, and all of them are kept.`,
  };
}
