/** How much is copied for a run at home. */
export interface CopyLimits {
  /** Files, links and folders. */
  readonly files: number;
  readonly bytes: number;
}

/** Installed packages of a large project, several times over. */
export const copyLimits: CopyLimits = { files: 200_000, bytes: 4 * 2 ** 30 };

/** Something that is copied as a whole or not at all: half of an installed package is worse than none. */
export interface Measured {
  readonly path: string;
  /** null: more than the limits allow by itself. */
  readonly size: CopyLimits | null;
}

/** What is copied, the smallest first, so that one huge folder keeps out nothing but itself; and what is left out. */
export function whatFits(
  measured: readonly Measured[],
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

/** `200,000 files or 4 GiB` */
export function copyLimitWords({ files, bytes }: CopyLimits): string {
  return `${files.toLocaleString('en-US')} files or ${String(Math.round((bytes / 2 ** 30) * 10) / 10)} GiB`;
}
