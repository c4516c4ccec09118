import { cut } from '../../../core/text/cut.ts';
import type { RunReport } from '../../../handover/report.ts';
import { iterationsOf, laneOf } from '../../facts.ts';

/** Describes the end of a run whose `verify` fails on the base branch as well: what fails, and that no task is to blame. */
export function baseIsRed(report: RunReport): { readonly title: string; readonly what: string } {
  const red = laneOf(report)?.redBase ?? null;
  const command = red === null ? '`verify`' : code(red.command, 80);
  const words = red === null || red.words === '' ? '.' : `: ${code(red.words, 300)}.`;
  const iterations = iterationsOf(report).length;
  return {
    title: 'Blocked: the base branch is red',
    what: `${command} fails on ${baseName(report)} as well${words} No task can be completed until it passes, and none is blamed for it.${iterations === 0 ? ' No call was made.' : ''}${newFailures(report)}`,
  };
}

/** Returns what people call the base branch, with `backticks` where that is known. */
export function baseName(report: RunReport): string {
  const base = laneOf(report)?.baseBranch ?? null;
  return base === null ? 'the base branch' : code(base, 120);
}

/** What the last iteration made fail besides. */
function newFailures(report: RunReport): string {
  const last = iterationsOf(report).at(-1)?.evidence.verification;
  const failures = last?.kind === 'failed' ? (last.newlyRed ?? []) : [];
  return failures.length === 0
    ? ''
    : ` New on this branch, and not on the base: ${failures.map((text) => code(text, 120)).join(', ')}.`;
}

function code(text: string, maxChars: number): string {
  return `\`${cut(text, maxChars).replaceAll('`', "'")}\``;
}
