/** Names above a branch: git keeps `ralph/queue` in a folder `ralph`, so it allows no branch of that name beside it. */
export function foldersOf(branch: string): readonly string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** The branch because of which git will not make this one; null: there is none. Names that differ in case alone are different names to a server. */
export function branchInTheWay(branch: string, existing: readonly string[]): string | null {
  const folders = foldersOf(branch);
  return existing.find((name) => folders.includes(name) || name.startsWith(`${branch}/`)) ?? null;
}

/** What helps against a branch in the way, as sentences for a person. */
export function explainInTheWay(branch: string, other: string): string {
  return `The branch "${branch}" cannot be made: the branch "${other}" is in the way, and git does not allow both. Rename or delete "${other}", or set a different \`branch-prefix\`.`;
}
