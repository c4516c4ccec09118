const LOCK_FILE = new RegExp(
  [
    /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/,
    /(?:^|\/)(?:Cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock)$/,
    /(?:^|\/)(?:go\.sum|mix\.lock|pubspec\.lock|Podfile\.lock|Package\.resolved|packages\.lock\.json|flake\.lock)$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Whether a package manager writes the file from a manifest, so that nobody merges its lines by hand. */
export function isLockFile(path: string): boolean {
  return LOCK_FILE.test(path);
}
