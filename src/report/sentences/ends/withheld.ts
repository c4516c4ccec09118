import { formatLeftOutGroup, groupLeftOut, type LeftOutFile } from '../../../core/review/left-out.ts';
import { cutText } from '../../../core/text/phrase.ts';
import type { RunReport, TaskReport } from '../../../handover/report.ts';
import { listIterationsOn, selectWorkedReport } from '../../facts.ts';

/** Maximum number of characters of names and reasons; further files are only counted. */
const MAX_NAMES_CHARS = 400;

/**
 * Returns the files of a task that must not be published: those of its last iteration, otherwise all that the branch
 * lacks.
 */
export function listWithheldFrom({ task }: TaskReport, report: RunReport): readonly LeftOutFile[] {
  const last = listIterationsOn(report, task.id).at(-1)?.evidence.withheldHere ?? [];
  return last.length > 0 ? last : (selectWorkedReport(report)?.change.leftOut ?? []);
}

/**
 * Names the files without which a task cannot be finished, each with the reason why it is not published, as one
 * sentence part with code in `backticks`.
 */
export function nameWithheldFiles(one: TaskReport, report: RunReport): string {
  const files = listWithheldFrom(one, report).map((file) => ({ ...file, why: file.why.split(';')[0] ?? file.why }));
  if (files.length === 0) return 'files that must not be published';
  return groupLeftOut(files, MAX_NAMES_CHARS, code).map(formatLeftOutGroup).join('; ');
}

/** Returns true if the run itself left out all files that a task cannot do without. */
export function isLeftOutByRun(one: TaskReport, report: RunReport): boolean {
  const ofRun = (selectWorkedReport(report)?.withheld ?? []).map(({ path }) => path);
  const files = listWithheldFrom(one, report);
  return files.length > 0 && files.every(({ path }) => ofRun.includes(path));
}

function code(text: string): string {
  return `\`${cutText(text, 100).replaceAll('`', "'")}\``;
}
