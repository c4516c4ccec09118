/** What carries a run's tag as it is stored: there the tag is called `mark`, since the first version. */
export function withStoredTag<T extends { readonly runTag: string }>({
  runTag,
  ...rest
}: T): { readonly mark: string } & Omit<T, 'runTag'> {
  return { mark: runTag, ...rest };
}

/** The way back. */
export function withRunTag<T extends { readonly mark: string }>({
  mark,
  ...rest
}: T): { readonly runTag: string } & Omit<T, 'mark'> {
  return { runTag: mark, ...rest };
}
