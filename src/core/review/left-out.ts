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

/** Returns true if a path belongs to an agent's or editor's own settings, which tasks are rarely about. */
export function isAgentFolder(path: string): boolean {
  return AGENT_PATH.test(path);
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
