/** Something outside of this process that it waits for. */
export interface ExternalWait {
  /** The words that continue "Waiting for". */
  readonly what: string;
  /** The instant at which the wait began, on the clock of `performance.now()`. */
  readonly since: number;
}

/** The waits of this process, the oldest first. The command line shows them; a job on GitHub does not look at them. */
const waits = new Set<ExternalWait>();

/** Does work that waits for something outside of this process. Within another wait, only the outer one is shown. */
export async function withNamedWait<T>(what: string, work: () => Promise<T>): Promise<T> {
  const wait: ExternalWait = { what, since: performance.now() };
  waits.add(wait);
  try {
    return await work();
  } finally {
    waits.delete(wait);
  }
}

/** Returns the oldest wait of this process, or null if none. */
export function findOldestWait(): ExternalWait | null {
  const [oldest = null] = waits;
  return oldest;
}
