/** Names above a branch: git keeps `ralph/queue` in a folder `ralph`, so it allows no branch of that name beside it. */
export function foldersOf(branch: string): readonly string[] {
  const parts = branch.split('/');
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** The branch because of which git will not make this one; null: there is none. Where names differ in case alone, some servers and most people's machines take them for the same. */
export function branchInTheWay(branch: string, existing: readonly string[]): string | null {
  const folded = branch.toLowerCase();
  const folders = foldersOf(folded);
  return (
    existing.find((name) => {
      const other = name.toLowerCase();
      const differsInCase = other === folded && name !== branch;
      return differsInCase || folders.includes(other) || other.startsWith(`${folded}/`);
    }) ?? null
  );
}

/** What helps against a branch in the way, as sentences for a person. */
export function explainInTheWay(branch: string, other: string): string {
  const why = other.toLowerCase() === branch.toLowerCase() ? 'differs from it in case only' : 'is in the way';
  return `The branch "${branch}" cannot be made: the branch "${other}" ${why}, and git does not allow both. Rename it (\`git branch -m ${other} NEW-NAME\`, then push it and delete the old one) or delete it, or set a different \`branch-prefix\`.`;
}
