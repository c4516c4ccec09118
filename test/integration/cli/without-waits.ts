/** Removes the lines about waiting from a command's error output: a busy machine may be slow enough for them. */
export function withoutWaits(stderr: string): string {
  return stderr.replaceAll(/^Waiting for .* …\n/gm, '');
}
