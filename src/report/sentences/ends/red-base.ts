import { cut } from '../../../core/text/cut.ts';
import type { RunReport } from '../../../handover/report.ts';
import { iterationsOf, laneOf, workOf } from '../../facts.ts';
import type { OutcomeText } from './outcome-words.ts';

/** Describes the end of a run whose `verify` fails on the base branch as well: what fails, that no task is to blame, and what to do. */
export function baseIsRed(report: RunReport): OutcomeText {
  const lane = laneOf(report);
  const base = lane?.baseBranch ?? null;
  const branch = base === null ? 'the base branch' : code(base, 120);
  const red = lane?.redBase ?? null;
  const command = red === null ? '`verify`' : code(red.command, 80);
  const words = red === null || red.words === '' ? '.' : `: ${code(red.words, 300)}.`;
  const iterations = iterationsOf(report).length;
  return {
    title: 'Blocked: the base branch is red',
    what: `${command} fails on ${branch} as well${words} No task can be completed until it passes, and none is blamed for it.${iterations === 0 ? ' No call was made.' : ''}${newFailures(report)}`,
    next: `Fix ${branch}, or correct \`verify\` if the command is wrong. The next run after that continues by itself${workOf(report) === null ? '' : ', with the fix merged into its branch'}. To have one more iteration tried now, comment \`/ralph run\`.`,
  };
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
