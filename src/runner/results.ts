import { appendFileSync, existsSync, statSync } from 'node:fs';
import * as core from '@actions/core';
import { INPUT_NAMES } from '../config/input-schema.ts';
import { cut, sentence } from '../core/text/phrase.ts';
import { messageOf, UserError } from '../errors.ts';
import type { Log } from '../ports/machine.ts';

/** Above this a step's summary is dropped whole by the runner (1 MiB per step); post adds to what main wrote. */
const SUMMARY_LIMIT = 1_000_000;

/** Throws a UserError when the runner's file for outputs is named but not there: better now than after hours of work. */
export function checkOutputFile(environment: Readonly<Record<string, string | undefined>>): void {
  const file = environment.GITHUB_OUTPUT ?? '';
  if (file !== '' && !existsSync(file))
    throw new UserError(
      'infrastructure',
      `GITHUB_OUTPUT is "${file}": there is no such file. The runner makes it for each step; nothing in the job may set that variable or remove the file.`,
    );
}

/** Sets the action's outputs; throws a UserError when the runner's file cannot be written. */
export function setOutputs(outputs: Readonly<Record<string, string>>): void {
  try {
    for (const [name, value] of Object.entries(outputs)) core.setOutput(name, value);
  } catch (error) {
    throw new UserError(
      'infrastructure',
      `The step's outputs could not be written: ${sentence(messageOf(error))} The runner makes that file for each step; nothing in the job may change or remove it.`,
      { cause: error },
    );
  }
}

/** Texts of the inputs that the runner was given, by their names; those of action.yml are always there, if only as undefined. */
export function inputTexts(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const given = Object.entries(environment).flatMap(([variable, text]) => {
    const [, name] = /^INPUT_(.+)$/.exec(variable) ?? [];
    return name === undefined ? [] : [[name.toLowerCase(), text] as const];
  });
  return { ...Object.fromEntries(INPUT_NAMES.map((name) => [name, undefined])), ...Object.fromEntries(given) };
}

/** Adds Markdown to the job summary. Where that cannot be done, one sentence in the log says so: the work is worth more than its report. */
export function addSummary(markdown: string, file: string | undefined): void {
  if (file === undefined || file === '') return;
  const text = `${markdown}\n`;
  try {
    const stats = statSync(file);
    // Writing would wait for a reader for ever.
    if (stats.isFIFO()) throw new Error('its file is a named pipe');
    if (stats.size + Buffer.byteLength(text) > SUMMARY_LIMIT)
      core.info('The job summary is full; this part was left out.');
    else appendFileSync(file, text);
  } catch (error) {
    core.warning(
      `The job summary could not be written: ${sentence(messageOf(error))} Nothing else of this run depends on it.`,
    );
  }
}

/** Hides a value in everything that the runner shows from now on. */
export function mask(values: readonly string[]): void {
  for (const value of values) core.setSecret(value);
}

/** Marks the step as failed, with an annotation. */
export function fail(message: string): void {
  core.setFailed(cut(message, 4000));
}

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
