import { UserError } from '../errors.ts';

/** What `work` comes to; rejects with a UserError when it takes longer than `limitMs`, null: it may take as long as it needs. Work that is not waited for any more continues. */
export async function within<T>(limitMs: number | null, work: Promise<T>): Promise<T> {
  if (limitMs === null) return work;
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(
      new UserError(
        'infrastructure',
        `it ran out of time after ${String(limitMs / 1000)} s, because GitHub, the remote or the cache did not answer`,
      ),
    );
  }, limitMs);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
