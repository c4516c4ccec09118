import * as core from '@actions/core';
import type { Log } from '../ports/machine.ts';
import { cut } from '../core/text/cut.ts';

/** The job log. Whatever is written through it is redacted and cannot issue workflow commands. */
export function createLog(redact: (text: string) => string): Log {
  const clean = (text: string): string => neutralize(redact(text));
  let open = false;
  return {
    info: (text) => {
      core.info(clean(text));
    },
    // Annotations are commands with the text as data, escaped by the library. GitHub cuts them at 4,096 characters.
    warning: (text) => {
      core.warning(cut(redact(text), 4000));
    },
    error: (text) => {
      core.error(cut(redact(text), 4000));
    },
    group: async (title, body) => {
      if (open) return body();
      open = true;
      core.startGroup(clean(title).replaceAll('\n', ' '));
      try {
        return await body();
      } finally {
        core.endGroup();
        open = false;
      }
    },
  };
}

/** Shown only when the job runs with debug logging. */
export function debug(text: string): void {
  core.debug(text);
}

/** Makes text inert for the runner: a command stands at the beginning of a line (`::`, behind what .NET takes for white space) or anywhere in it (`##[`). */
export function neutralize(text: string): string {
  return text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => line.replace(/^([\s\p{C}]*):(?=:)/u, '$1: ').replaceAll('##[', '## ['))
    .join('\n');
}
