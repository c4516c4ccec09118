import { capText, namesOutOf } from '../text/phrase.ts';
import { formatLeftOutReason, type LeftOutFile, MAX_WITHHELD_CHARS, MAX_WITHHELD_LINES } from './left-out.ts';

/** Maximum length of all names and reasons in these lines; a reason that several lines repeat counts once. */
const MAX_WITHHELD_TEXT = 1_000;

/** Files with the same reason: the names that are shown, and how many files there are. */
interface LeftOutGroup {
  readonly why: string;
  readonly names: readonly string[];
  readonly count: number;
}

/**
 * Returns the files by reason, with names as `render` shows them: one name of each reason, and further ones as far as
 * all texts fit into `maxChars` characters.
 */
export function groupLeftOut(
  files: readonly LeftOutFile[],
  maxChars: number,
  render: (path: string) => string,
): readonly LeftOutGroup[] {
  const groups = [...Map.groupBy(files, ({ why }) => why)].map(([why, own]) => {
    const names = [...new Set(own.map(({ path }) => path))].map(render);
    return { why, names, count: names.length + own.reduce((sum, { more = 0 }) => sum + more, 0) };
  });
  const lengthOf = (name: string): number => name.length + 2;
  let room = maxChars - groups.reduce((sum, { why, names }) => sum + lengthOf(why) + lengthOf(names[0] ?? ''), 0);
  return groups.map((group) => ({
    ...group,
    names: group.names.filter((name, at) => at === 0 || (room -= lengthOf(name)) >= 0),
  }));
}

/** Renders `a, b and 3 more: each is a protected path`. */
export function formatLeftOutGroup({ why, names, count }: LeftOutGroup): string {
  return `${namesOutOf(names, count)}: ${formatLeftOutReason(why, count)}`;
}

/** Renders a group as lines of at most about `maxChars` characters, each with the reason. */
function formatLeftOutLines(group: LeftOutGroup, maxChars: number): readonly string[] {
  const { why, names, count } = group;
  const room = maxChars - why.length - 20;
  const lines: string[][] = [[]];
  for (const name of names) {
    const last = lines.at(-1) ?? [];
    if (last.length > 0 && [...last, name].join(', ').length > room) lines.push([name]);
    else last.push(name);
  }
  return lines.map((own, at) => {
    const more = at === lines.length - 1 ? count - names.length : 0;
    return `${namesOutOf(own, own.length + more)}: ${formatLeftOutReason(why, own.length + more)}`;
  });
}

/**
 * Returns lines for the next prompt about files of an iteration that the branch must not get, each with its reason. A
 * long path is cut so that the reason stays complete.
 */
export function listWithheldLines(evidence: {
  readonly withheldHere?: readonly LeftOutFile[] | undefined;
  readonly marked?: readonly string[] | undefined;
}): readonly string[] {
  const { withheldHere = [], marked = [] } = evidence;
  const files = [...withheldHere, ...marked.map((path) => ({ path, why: 'it has conflict markers' }))];
  return groupLeftOut(files, MAX_WITHHELD_TEXT, (path) => path.slice(-200))
    .flatMap((group) => formatLeftOutLines(group, MAX_WITHHELD_CHARS))
    .slice(0, MAX_WITHHELD_LINES)
    .map((line) => capText(line, MAX_WITHHELD_CHARS));
}
