import { leftOutReason } from '../../../core/review/left-out.ts';
import { cut } from '../../../core/text/cut.ts';
import type { RunReport, TaskReport } from '../../../handover/report.ts';
import { iterationsOn, workOf } from '../../facts.ts';

/** The input that allows protected paths. */
const ALLOW_INPUT = 'allow-protected-paths';
/** More files are counted and not named. */
const SHOWN_FILES = 5;

interface LeftOutFile {
  readonly path: string;
  readonly why: string;
}

/** The files that a task is about and that must not be published: those of its last iteration, else all that the branch lacks. */
function filesOf({ task }: TaskReport, report: RunReport): readonly LeftOutFile[] {
  const last = iterationsOn(report, task.id).at(-1)?.evidence.withheldHere ?? [];
  return last.length > 0 ? last : (workOf(report)?.change.leftOut ?? []);
}

/** Names the files that a task cannot do without, each with the reason why it is not published, in one sentence part with code in `backticks`. */
export function withheldFiles(one: TaskReport, report: RunReport): string {
  const files = filesOf(one, report);
  if (files.length === 0) return 'files that must not be published';
  const shown = files.slice(0, SHOWN_FILES).map(({ path, why }) => `${code(path)} (${why.split(';')[0] ?? why})`);
  const more = files.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

/** What a person can do about the files that a task cannot do without, as a sentence with code in `backticks`, without its full stop. */
export function waysForWithheld(one: TaskReport, report: RunReport, where: string): string {
  const files = filesOf(one, report);
  const paths = files.filter(({ why }) => leftOutReason(why) === 'protected').map(({ path }) => path);
  const without = `say ${where} that the task should do without ${files.length === 1 ? 'it' : 'them'}`;
  if (paths.length === 0 || paths.length < files.length) return upperFirst(without);
  const allowed = paths.slice(0, SHOWN_FILES).map((path) => cut(path, 100).replaceAll('`', "'"));
  return `If Ralph may change ${paths.length === 1 ? 'it' : 'them'}, add \`${ALLOW_INPUT}: ${allowed.join(', ')}\` to the \`with:\` of the workflow; if not, ${without}`;
}

function upperFirst(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function code(text: string): string {
  return `\`${cut(text, 100).replaceAll('`', "'")}\``;
}
