import { capped } from './cut.ts';

/** Foreign text as one line of at most `maxChars` characters, with `…` at the end where something was cut. */
export function oneLine(foreign: string, maxChars: number): string {
  return capped(flatten(foreign), maxChars);
}

/** The whole text in one line: control and format characters go (joiners of emoji stay), white space of any kind becomes one blank. */
export function flatten(foreign: string): string {
  return foreign
    .toWellFormed()
    .replace(ANSI_SEQUENCE, '')
    .replace(/(?!\u200D)\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
}

/** Foreign text as one line for a terminal: nothing in it steers one, and what is left of such an attempt stays to be seen. */
export function terminalLine(foreign: string, maxChars: number): string {
  return capped(foreign.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim(), maxChars);
}

/** Colours and cursor moves of terminal programs. */
export const ANSI_SEQUENCE = /\u001B\[[0-9;?]*[A-Za-z]/g;
