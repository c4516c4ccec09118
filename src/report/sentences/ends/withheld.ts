import { cutText } from '../../../core/text/phrase.ts';
import type { RunReport, TaskReport } from '../../../handover/report.ts';
import { listIterationsOn, workOf } from '../../facts.ts';

/** Maximum number of files that are named; of further ones, only the number is given. */
const SHOWN_FILES = 5;

interface LeftOutFile {
  readonly path: string;
  readonly why: string;
}

/**
 * Returns the files of a task that must not be published: those of its last iteration, otherwise all that the branch
 * lacks.
 */
export function listWithheldFrom({ task }: TaskReport, report: RunReport): readonly LeftOutFile[] {
  const last = listIterationsOn(report, task.id).at(-1)?.evidence.withheldHere ?? [];
  return last.length > 0 ? last : (workOf(report)?.change.leftOut ?? []);
}

/**
 * Names the files without which a task cannot be finished, each with the reason why it is not published, as one
 * sentence part with code in `backticks`.
 */
export function nameWithheldFiles(one: TaskReport, report: RunReport): string {
  const files = listWithheldFrom(one, report);
  if (files.length === 0) return 'files that must not be published';
  const shown = files.slice(0, SHOWN_FILES).map(({ path, why }) => `${code(path)} (${why.split(';')[0] ?? why})`);
  const more = files.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

function code(text: string): string {
  return `\`${cutText(text, 100).replaceAll('`', "'")}\``;
}
