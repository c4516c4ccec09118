/** Limits on the ignored files that are copied for a local run, or the size of such files. */
export interface CopyLimits {
  /** Number of files, links and folders. */
  readonly files: number;
  readonly bytes: number;
}

/** The limits in use, several times the size of a large project's installed packages. */
export const copyLimits: CopyLimits = { files: 200_000, bytes: 4 * 2 ** 30 };

/** A path that is copied completely or not at all, because half of an installed package is useless. */
export interface MeasuredPath {
  readonly path: string;
  /** The size, or null if the path alone exceeds the limits. */
  readonly size: CopyLimits | null;
}

/**
 * Returns the paths to copy, smallest first (so that a huge folder excludes only itself), and the paths to leave out.
 */
export function selectCopies(
  measured: readonly MeasuredPath[],
  limits: CopyLimits,
): { readonly fits: readonly string[]; readonly tooMuch: readonly string[] } {
  const fits: string[] = [];
  const tooMuch: string[] = [];
  let files = 0;
  let bytes = 0;
  const bySize = [...measured].sort(
    (a, b) => (a.size?.bytes ?? Number.MAX_SAFE_INTEGER) - (b.size?.bytes ?? Number.MAX_SAFE_INTEGER),
  );
  for (const { path, size } of bySize) {
    if (size === null || files + size.files > limits.files || bytes + size.bytes > limits.bytes) {
      tooMuch.push(path);
      continue;
    }
    files += size.files;
    bytes += size.bytes;
    fits.push(path);
  }
  return { fits, tooMuch };
}

/** Returns limits as a text: `200,000 files or 4 GiB`. */
export function formatCopyLimits({ files, bytes }: CopyLimits): string {
  return `${files.toLocaleString('en-US')} files or ${String(Math.round((bytes / 2 ** 30) * 10) / 10)} GiB`;
}
