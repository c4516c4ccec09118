import { isAgentFolder, parseLeftOutReason } from '../review/left-out.ts';

/** A file that an iteration changed and that must not be published. */
interface WithheldFile {
  readonly path: string;
  readonly why: string;
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
export function isPartOfTask({ path, why }: WithheldFile, text: string): boolean {
  return isNamedIn(text, path) || (parseLeftOutReason(why) === 'protected' && !isAgentFolder(path));
}
