import { appendFileSync, existsSync, statSync } from 'node:fs';
import * as core from '@actions/core';
import { INPUT_NAMES } from '../config/inputs.ts';
import { messageOf, UserError } from '../errors.ts';
import { cut } from '../core/text/cut.ts';

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
      `The step's outputs could not be written: ${messageOf(error)}. The runner makes that file for each step; nothing in the job may change or remove it.`,
      { cause: error },
    );
  }
}

/** Texts of the action's inputs, by their names. */
export function inputTexts(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(INPUT_NAMES.map((name) => [name, environment[`INPUT_${name.toUpperCase()}`]]));
}

/** Adds Markdown to the job summary; dropped with a log line if it would not fit. */
export function addSummary(markdown: string, file: string | undefined): void {
  if (file === undefined || file === '' || !existsSync(file)) return;
  const text = `${markdown}\n`;
  if (statSync(file).size + Buffer.byteLength(text) > SUMMARY_LIMIT) {
    core.info('The job summary is full; this part of it was left out.');
    return;
  }
  appendFileSync(file, text);
}

/** Hides a value in everything that the runner shows from now on. */
export function mask(values: readonly string[]): void {
  for (const value of values) core.setSecret(value);
}

/** Marks the step as failed, with an annotation. */
export function fail(message: string): void {
  core.setFailed(cut(message, 4000));
}
