import { isLockFile } from './lock-files.ts';

/** What tools write beside lock files: bundles, copies of other people's code. */
const GENERATED = [
  /\.(?:min\.(?:js|css|mjs)|map|snap|pb\.go)$|_pb2\.pyi?$|\.(?:generated|gen)\.[^/]+$/,
  /(?:^|\/)(?:dist|vendor|node_modules|third_party|__snapshots__|__generated__)\//,
];

/** Whether nobody reviews the lines of such a file. */
export function isGenerated(path: string): boolean {
  return isLockFile(path) || GENERATED.some((pattern) => pattern.test(path));
}
