import { capText, flattenText } from '../text/phrase.ts';
import { type RefusalKind, serverRules, unnamedProtection } from './server-rules.ts';

/** A refused push, or a refused creation or deletion of a ref. */
export interface Refusal {
  readonly kind: RefusalKind;
  /** Name of the rule in server-rules.ts, or UNKNOWN_RULE. */
  readonly rule: string;
  /** Paths that the server names, in its spelling. */
  readonly files: readonly string[];
  /** The server's own words on one line, without decoration and without offers to let a secret through. */
  readonly words: string;
  /** The problem and the remedy, as sentences for a person. */
  readonly meaning: string;
}

/** Maximum length of a quote from a server. */
const MAX_WORDS_CHARS = 700;

/** Maximum number of files read from a refusal. */
const MAX_FILES = 50;

/**
 * Parses the output of git and the server about a push. Never throws; unknown words become a `branch` refusal with the
 * rule `unknown`.
 */
export function parseRefusal(text: string): Refusal {
  const lines = parseLines(text);
  const named = listNamedFiles(lines);
  const meant = withoutAddresses(lines.map(({ line, path }) => line.replace(path, () => '')).join('\n'));
  const words = flattenServerWords(text);
  // One answer may name several rules: leaving out a file does not help if the branch is refused as well.
  const broken = serverRules.filter(({ pattern }) => pattern.test(meant));
  const known = ORDER.map((kind) => broken.find((one) => one.kind === kind)).find((one) => one !== undefined);
  const first = known ?? (unnamedProtection.pattern.test(meant) ? unnamedProtection : undefined);
  if (first === undefined)
    return text.trim() === '' || SERVER_JUDGEMENT.test(withoutAddresses(text))
      ? { kind: 'branch', rule: UNKNOWN_RULE, files: named, words, meaning: 'The server refused the push.' }
      : { kind: 'transient', rule: 'interrupted', files: [], words, meaning: 'git could not finish the push.' };
  const files = first.kind === 'content' || first === unnamedProtection ? named : [];
  return { kind: first.kind, rule: first.rule, files, words, meaning: `${first.meaning} ${first.remedy}`.trim() };
}

/**
 * Matches words that show that the server has judged a push; otherwise git failed on the way. A command that ran out of
 * time counts as judged, because a second attempt would take as long.
 */
const SERVER_JUDGEMENT =
  /^remote: |\b(?:returned error:|HTTP) 4\d\d\b|rejected|declined|denied|refus|forbid|atomic|not permitted|got no answer|no time is left/im;

/** The rule of refusals in words that match no known rule. */
export const UNKNOWN_RULE = 'unknown';

const ORDER: readonly RefusalKind[] = ['name', 'branch', 'content', 'stale', 'transient'];

/** Returns true if the server named one of the known rules. */
export function isKnownRule({ rule }: Refusal): boolean {
  return rule !== UNKNOWN_RULE && rule !== unnamedProtection.rule;
}

/** Turns a refusal by an unknown rule into one of the content, without advice on the branch. */
export function convertToContentRefusal(refusal: Refusal): Refusal {
  return { ...refusal, kind: 'content', meaning: 'The server refuses what these commits contain.' };
}

/** Returns true if a push was refused because commits have no signature, or cannot get one. */
export function isForSignatures(
  result: { readonly kind: string } | { readonly kind: 'refused'; readonly refusal: Refusal },
): boolean {
  return 'refusal' in result && result.refusal.rule === SIGNATURES;
}

/** Returns the refusal of commits that GitHub did not sign; `words` are GitHub's own words. */
export function refusalOfSigning(words: string): Refusal {
  return {
    kind: 'branch',
    rule: SIGNATURES,
    files: [],
    words: flattenServerWords(words),
    meaning:
      'GitHub did not sign the commits. It signs commits of GITHUB_TOKEN and of tokens of GitHub Apps, but not of personal tokens. Use one of the former, or set `sign-commits: false` where no rule requires signatures.',
  };
}

const SIGNATURES = 'signatures';

/** Explains a refusal to people: what is wrong, what helps, and the server's words. */
export function explainRefusal({ meaning, words }: Refusal): string {
  return words === '' ? meaning : `${meaning} (The server said: ${words})`;
}

/** Returns why a push or a deletion failed, as sentences for a person. */
export function describePushFailure(failed: { readonly why: string } | { readonly refusal: Refusal }): string {
  return 'refusal' in failed ? explainRefusal(failed.refusal) : failed.why;
}

/** Removes addresses from git's words: a port may contain 401, and a repository may be called `read-only`. */
export function withoutAddresses(words: string): string {
  return words.replaceAll(/'[a-z+]+:\/\/[^']*'|(?<![a-z+])[a-z+]+:\/\/\S+/gi, '');
}

/**
 * Returns true if the words describe a failed connection or a failure of the server, so that another attempt may
 * succeed.
 */
export function isTransient(words: string): boolean {
  return parseRefusal(words).kind === 'transient';
}

/** Returns true if the words say that the branch has moved. */
export function isStale(words: string): boolean {
  return parseRefusal(words).kind === 'stale';
}

/**
 * Returns the changed paths that the server refuses: those that it names, and those that its words contain as a whole
 * word.
 */
export function findRefusedPaths({ kind, files, words }: Refusal, changed: readonly string[]): readonly string[] {
  if (kind !== 'content') return [];
  const named = changed.filter((path) => files.includes(path) || files.includes(quotePath(path)));
  if (named.length > 0) return named;
  const mentioned = changed.filter(
    (path) => /[./]/.test(path) && (isMentioned(words, path) || isMentioned(words, quotePath(path))),
  );
  // A path that is only the end of a longer mentioned path is ignored.
  return mentioned.filter((path) => !mentioned.some((other) => other !== path && other.endsWith(path)));
}

/** Returns a path as git prints it by default: characters outside ASCII as octal numbers of their bytes. */
function quotePath(path: string): string {
  const escaped = path.toWellFormed().replaceAll(/["\\]/g, String.raw`\$&`);
  return escaped.replaceAll(/[^ -~]+/g, (text) =>
    encodeURIComponent(text).replaceAll(
      /%([\dA-F]{2})/g,
      (_, byte: string) => `\\${Number.parseInt(byte, 16).toString(8).padStart(3, '0')}`,
    ),
  );
}

function isMentioned(words: string, path: string): boolean {
  const at = words.indexOf(path);
  const isEdge = (char: string | undefined): boolean => char === undefined || /[\s"'`:;,()<>[\]]/.test(char);
  const after = words.slice(at + path.length).replace(/^\.(?=\s|$)/, '');
  return at !== -1 && isEdge(words[at - 1]) && isEdge(after[0]);
}

/** Patterns of the forms in which GitHub prints paths. */
const FILE_FORMS: readonly RegExp[] = [
  // Push protection prints a position in a file.
  /^\s*path:\s+(.+?)(?::\d+(?::\d+)?)?\s*$/,
  // GH001 and file size rules print a file with its size.
  /\bFile (.+?) is [\d.,]+ ?[KMGT]?i?B\b/i,
  /\bworkflow [`'"](\.github\/workflows\/[^`'"]+)[`'"]/i,
  // File rules print the path after the rule's words, quoted or on its own line.
  /\b(?:file path|path|file extension|file|file name)\b[^`'"\n]*[`'"]([^`'"\n]+)[`'"]/i,
  /^\s*(?:[-*•]\s+)?((?:[\w@.+-]+\/)+[\w@.+-]+|[\w@+-]+\.[A-Za-z]\w{0,9})\s*$/,
];

/** A line of the server's answer; `path` is empty if the line names none. */
interface ServerLine {
  readonly line: string;
  readonly path: string;
}

/**
 * Returns the lines of an answer that can be the reason for a refusal, each with the path that it names, so that words
 * in a path are not taken for the name of a rule.
 */
function parseLines(text: string): readonly ServerLine[] {
  let isListed = false;
  return withoutRemarks(splitServerLines(text)).map((line) => {
    const begins = LIST_BEGIN.test(line);
    isListed = begins || (isListed && !LIST_END.test(line));
    const match = FILE_FORMS.map((form) => form.exec(line)?.[1]).find((path) => path !== undefined);
    return { line, path: match ?? (isListed && !begins ? line.trim() : '') };
  });
}

function listNamedFiles(lines: readonly ServerLine[]): readonly string[] {
  return [...new Set(lines.map(({ path }) => path))].filter((path) => path !== '').slice(0, MAX_FILES);
}

/**
 * Removes remarks that GitHub also prints with a push that it accepts: warnings about large files, and the rules that
 * the pusher may bypass.
 */
function withoutRemarks(lines: readonly string[]): readonly string[] {
  let isBypassed = false;
  return lines.filter((line) => {
    const begins = /^Bypassed rule violations/.test(line);
    isBypassed = begins || (isBypassed && /^(?:\s|- |$)/.test(line));
    return !isBypassed && !LARGE_FILE_WARNING.test(line);
  });
}

const LARGE_FILE_WARNING = /^warning: (?:See https?:|GH001|File .* recommended maximum file size)/;

/**
 * Matches the line before the paths that break a rule about files. The paths follow one per line, in any characters.
 */
const LIST_BEGIN = /^\s*Found \d+ violations?\b/;
const LIST_END = /^(?:- |To | ! |!|error:)/;

/** Maximum length of a server's line that is read: a path has at most 4,096 bytes. */
const MAX_LINE_CHARS = 5_000;

/** Returns the lines without git's `remote:` prefix. */
function splitServerLines(text: string): readonly string[] {
  const lines = text.split(/\r\n?|\n/);
  return lines.map((line) =>
    line
      .slice(0, MAX_LINE_CHARS)
      .replace(/^remote: ?/, '')
      .trimEnd(),
  );
}

/** Matches lines without information, and offers to bypass a protection, which nobody should be advised to accept. */
const MEANINGLESS_LINES: readonly RegExp[] = [
  /^\s*$/,
  /^[\s\u2014\u2013=_*-]+$/,
  /^\s*\(\?\)/,
  /unblock-secret|bypass|settings\/security_analysis/i,
  /^(error: )?(Trace: |See https?:)/,
  /^(Enumerating|Counting|Compressing|Writing|Resolving|Receiving) |^Delta compression|^Total \d/,
  /^To \S+$/,
  /^error: failed to push some refs/,
  /^\s*https?:\S+\s*$/,
  /^Review all repository rules at/,
  /^Done$/,
  /^no message$/,
];

/** Returns the server's words on one line. */
export function flattenServerWords(text: string): string {
  const said = withoutRemarks(splitServerLines(text))
    .filter((line) => !MEANINGLESS_LINES.some((pattern) => pattern.test(line)))
    .map((line) => flattenText(line.replaceAll(/[\u2014]{2,}/g, '')))
    .filter((line) => line !== '');
  return capText([...new Set(said)].join('; '), MAX_WORDS_CHARS);
}

/** Returns true if git allows this branch name (git-check-ref-format). */
export function isBranchName(name: string): boolean {
  return (
    name !== 'HEAD' &&
    !/^-|\.$|\.\.|@\{|[~^:?*[\\\u007f]/.test(name) &&
    [...name].every((character) => character > ' ') &&
    name.split('/').every((part) => part !== '' && !/^\.|\.lock$/.test(part))
  );
}

/**
 * Returns the names that would be folders of this branch, such as `ralph` for `ralph/queue`; git allows no branches
 * with these names.
 */
export function listBranchFolders(branch: string): readonly string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/**
 * Returns the branch that prevents git from creating this one; null if none. A server treats names that differ
 * only in case as different.
 */
export function findConflictingBranch(branch: string, existing: readonly string[]): string | null {
  const folders = listBranchFolders(branch);
  return existing.find((name) => folders.includes(name) || name.startsWith(`${branch}/`)) ?? null;
}

/** Explains to a person how to deal with a branch that is in the way. */
export function explainInTheWay(branch: string, other: string): string {
  return `The branch "${branch}" cannot be created: the branch "${other}" is in the way, and git does not allow both. Rename or delete "${other}", or set a different \`branch-prefix\`.`;
}
