/** Returns those of the files that make a folder a bare git repository: git takes a folder with `HEAD`, `objects/` and `refs/` for one, and runs what its `config` names. */
export function embeddedRepositories(paths: readonly string[]): ReadonlySet<string> {
  const heads = paths.filter((path) => /(?:^|\/)HEAD$/i.test(path));
  const all = heads.length === 0 ? [] : paths.map((path) => path.toLowerCase());
  return new Set(
    heads.filter((head) => {
      const folder = head.slice(0, -'HEAD'.length).toLowerCase();
      // Git stores no empty folders, which a command makes in passing: `config` beside `HEAD` is enough.
      return all.some((path) => ['config', 'objects/', 'refs/'].some((name) => path.startsWith(folder + name)));
    }),
  );
}
