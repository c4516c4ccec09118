import { appendFileSync, existsSync, statSync } from 'node:fs';
import * as core from '@actions/core';
import { cutText, completeSentence } from '../core/text/phrase.ts';
import { getErrorMessage, UserError } from '../errors.ts';
import type { Log } from '../ports/machine.ts';

/**
 * Maximum size of a step's summary, in bytes. The runner drops a summary of more than 1 MiB per step completely, and
 * post adds to main's summary.
 */
const SUMMARY_LIMIT = 1_000_000;

/**
 * Throws a UserError when the runner's file for outputs is named but missing, so that a run fails now instead of after
 * hours of work.
 */
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
      `The step's outputs could not be written: ${completeSentence(getErrorMessage(error))} The runner makes that file for each step; nothing in the job may change or remove it.`,
      { cause: error },
    );
  }
}

/** Returns the texts of the inputs that the runner passes to this step, by name. */
export function readInputTexts(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const given = Object.entries(environment).flatMap(([variable, text]) => {
    const [, name] = /^INPUT_(.+)$/.exec(variable) ?? [];
    return name === undefined ? [] : [[name.toLowerCase(), text] as const];
  });
  return Object.fromEntries(given);
}

/**
 * Adds Markdown to the job summary. A failure only causes a warning in the log, because the work is worth more than its
 * report.
 */
export function addSummary(markdown: string, file: string | undefined): void {
  if (file === undefined || file === '') return;
  const text = `${markdown}\n`;
  try {
    const stats = statSync(file);
    // Do not write to a named pipe, which would wait forever for a reader.
    if (stats.isFIFO()) throw new Error('its file is a named pipe');
    if (stats.size + Buffer.byteLength(text) > SUMMARY_LIMIT)
      core.info('The job summary is full; this part was left out.');
    else appendFileSync(file, text);
  } catch (error) {
    core.warning(
      `The job summary could not be written: ${completeSentence(getErrorMessage(error))} Nothing else of this run depends on it.`,
    );
  }
}

/** Hides values in everything that the runner shows from now on. */
export function maskValues(values: readonly string[]): void {
  for (const value of values) core.setSecret(value);
}

/** Marks the step as failed, with an annotation. */
export function failStep(message: string): void {
  core.setFailed(cutText(message, 4000));
}

/**
 * Creates the job log. Everything written through it is redacted and cannot issue workflow commands; `keep` gets the
 * same text.
 */
export function createLog(redact: (text: string) => string, keep: (text: string) => void = () => undefined): Log {
  const clean = (text: string): string => {
    const inert = neutralizeCommands(redact(text));
    keep(inert);
    return inert;
  };
  let open = false;
  return {
    info: (text) => {
      core.info(clean(text));
    },
    // Cut the text, because GitHub cuts annotations at 4,096 characters; the library escapes it for the command.
    warning: (text) => {
      core.warning(cutText(redact(text), 4000));
      keep(`Warning: ${redact(text)}`);
    },
    error: (text) => {
      core.error(cutText(redact(text), 4000));
      keep(`Error: ${redact(text)}`);
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

/** Writes a line that is shown only when the job runs with debug logging. */
export function logDebug(text: string): void {
  core.debug(text);
}

/**
 * Makes text inert for the runner, which recognizes commands at the beginning of a line (`::`, after .NET's white
 * space) or anywhere in it (`##[`).
 */
export function neutralizeCommands(text: string): string {
  return text
    .split(/\r\n|[\r\n\u2028\u2029]/)
    .map((line) => line.replace(/^([\s\p{C}]*):(?=:)/u, '$1: ').replaceAll('##[', '## ['))
    .join('\n');
}
