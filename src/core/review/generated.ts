/** What tools write, not people: lock files, bundles, copies of other people's code. */
const GENERATED = [
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/,
  /(?:^|\/)(?:Cargo\.lock|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock)$/,
  /(?:^|\/)(?:go\.sum|mix\.lock|pubspec\.lock|Podfile\.lock|Package\.resolved|packages\.lock\.json|flake\.lock)$/,
  /\.(?:min\.(?:js|css|mjs)|map|snap|pb\.go)$|_pb2\.pyi?$|\.(?:generated|gen)\.[^/]+$/,
  /(?:^|\/)(?:dist|vendor|node_modules|third_party|__snapshots__|__generated__)\//,
];

/** Whether nobody reviews the lines of such a file. */
export function isGenerated(path: string): boolean {
  return GENERATED.some((pattern) => pattern.test(path));
}
