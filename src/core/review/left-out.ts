import { capText, joinCountedNames } from '../text/phrase.ts';

/** Matches folders and files that agents and editors write for themselves. */
const AGENT_PATH =
  /(?:^|\/)(?:\.(?:claude|codex|gemini|qwen|copilot|cursor|opencode|aider|continue|kiro|junie|windsurf|vscode|idea|zed|fleet)(?:\/|$)|\.mcp\.json$|\.aider)/i;

/**
 * Reasons why a changed file is left out of a commit, as parts of sentences. An inspection's message begins with one of
 * them and may add details.
 */
export const LEFT_OUT_CLAUSES = {
  protected: 'it is a protected path; the setting allow-protected-paths can allow it',
  state: 'it belongs to the state of the loop',
  secret: 'it contains the value of a secret of this job',
  key: 'it looks like it contains a key',
  secretName: 'its name contains the value of a secret of this job',
  keyName: 'its name looks like it contains a key',
  filter: 'a content filter (such as git-lfs) applies to it, and filters are not run',
  patch: 'with it the patch is larger than max-patch-kib',
  other: 'it must not be published',
} as const;

/** Formats a reason so that it can follow the names of this many files. */
export function formatLeftOutReason(why: string, files: number): string {
  return files === 1 ? why : why.replace(/^it\b/, 'each');
}

export type LeftOutReason = keyof typeof LEFT_OUT_CLAUSES;

export const leftOutReasons = Object.keys(LEFT_OUT_CLAUSES) as readonly LeftOutReason[];

/**
 * Returns the reason with which an inspection's message begins. Only the text before a semicolon is compared, because
 * earlier versions had other endings.
 */
export function parseLeftOutReason(why: string): LeftOutReason {
  return leftOutReasons.find((reason) => why.startsWith(LEFT_OUT_CLAUSES[reason].split(';', 1)[0] ?? '')) ?? 'other';
}

/** Maximum number of lines about withheld files in the next prompt. */
export const MAX_WITHHELD_LINES = 20;

/** Maximum length of such a line, which has names of files and their reason. */
export const MAX_WITHHELD_CHARS = 300;

/** A file that was left out of a commit. `more` counts further files with its reason that have no entry. */
export interface LeftOutFile {
  readonly path: string;
  readonly why: string;
  readonly more?: number | undefined;
}

/** Returns at most `most` files, in turns one of each reason, so that no flood hides a reason or the few of another. */
export function pickOneOfEachReason<File extends Pick<LeftOutFile, 'why'>>(
  files: readonly File[],
  most: number,
): readonly File[] {
  const turns = [...Map.groupBy(files, ({ why }) => why).values()].flatMap((own) =>
    own.map((file, turn) => ({ file, turn })),
  );
  return turns
    .sort((a, b) => a.turn - b.turn)
    .slice(0, most)
    .map(({ file }) => file);
}

/** Words by which a task asks for a change of protected paths without naming them. */
const ASKS_FOR: readonly { readonly path: RegExp; readonly words: RegExp }[] = [
  { path: /^\.github\/(?:workflows|actions)\//i, words: /\b(?:workflows?|github actions?|ci|cd|pipelines?)\b/i },
  { path: /^\.github\/dependabot/i, words: /\bdependabot\b/i },
  { path: /(?:^|\/)CODEOWNERS$/i, words: /\bcode ?owners?\b/i },
  { path: /(?:^|\/)action\.ya?ml$/i, words: /\bactions?\b/i },
  { path: /(?:^|\/)\.gitattributes$/i, words: /\b(?:git ?attributes|line end(?:ing)?s?)\b/i },
  { path: /(?:^|\/)\.mcp\.json$/i, words: /\bmcp\b/i },
  { path: /(?:^|\/)\.claude\//i, words: /\bclaude\b/i },
];

/** Returns true if the text of a task names the path, its last part, or its purpose. */
export function isNamedIn(text: string, path: string): boolean {
  const words = text.toLowerCase();
  const name = path.split('/').at(-1) ?? path;
  return (
    words.includes(path.toLowerCase()) ||
    (name.length >= 4 && words.includes(name.toLowerCase())) ||
    ASKS_FOR.some((rule) => rule.path.test(path) && rule.words.test(text))
  );
}

/**
 * Returns true if a withheld file is part of the work, so that only a person can finish the task: the task's text asks
 * for the file, or the file is a protected path other than an agent's own settings, which agents write in passing.
 */
export function isPartOfTask({ path, why }: LeftOutFile, text: string): boolean {
  return isNamedIn(text, path) || (parseLeftOutReason(why) === 'protected' && !AGENT_PATH.test(path));
}

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
  return `${joinCountedNames(names, count)}: ${formatLeftOutReason(why, count)}`;
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
    return `${joinCountedNames(own, own.length + more)}: ${formatLeftOutReason(why, own.length + more)}`;
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
