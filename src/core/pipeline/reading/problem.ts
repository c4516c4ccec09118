/** What is wrong with a file, in words that follow its name or place. */
export interface Problem {
  /** null: it is about the file as a whole. */
  readonly at: Position | null;
  readonly message: string;
}

/** 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** More than a person corrects before the next try, and less than any comment takes. */
const MAX_PROBLEMS = 60;

/** All that is wrong with a file as sentences with file, line and column, in the order of the file. */
export function problemLines(file: string, problems: readonly Problem[]): readonly string[] {
  const more = problems.length - MAX_PROBLEMS;
  const listed = [...problems]
    .sort((a, b) => (a.at?.line ?? 0) - (b.at?.line ?? 0) || (a.at?.column ?? 0) - (b.at?.column ?? 0))
    .slice(0, MAX_PROBLEMS)
    .map(({ at, message }) => `${file}${at === null ? '' : `:${at.line}:${at.column}`} ${message}`);
  return [...listed, ...(more > 0 ? [`${file} has ${more} more problems`] : [])];
}
