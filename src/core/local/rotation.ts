/** A file of the logs. */
interface LogFile {
  readonly name: string;
  readonly bytes: number;
}

/** The files to delete so that no more than `most` are left, and no more than `mostBytes`; their names sort by age, oldest first. The newest stays. */
export function overflowing(
  files: readonly LogFile[],
  { most, mostBytes }: { readonly most: number; readonly mostBytes: number },
): readonly string[] {
  let bytes = 0;
  return files
    .toSorted((a, b) => (a.name < b.name ? 1 : -1))
    .filter((file, index) => {
      bytes += file.bytes;
      return index > 0 && (index >= most || bytes > mostBytes);
    })
    .map(({ name }) => name);
}
