/** Maximum time in ms to remove the agent's user, namespaces and folders after a run, even on a busy machine. */
const CLOSE_MS = 20_000;

/** Maximum time for the removal in a cancelled run, in ms; such a run has 2 s left. */
const CLOSE_CANCELLED_MS = 1_500;

/**
 * Waits until `close` has finished, or until the run's time for it is over. Returns its message; null also after a
 * time-out, in which case the post step repeats the removal.
 */
export async function closeInTime(close: () => Promise<string | null>, cancelled: AbortSignal): Promise<string | null> {
  const late = Promise.withResolvers<null>();
  const giveUp = (): void => {
    late.resolve(null);
  };
  let timer = setTimeout(giveUp, CLOSE_MS);
  const hurry = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, CLOSE_CANCELLED_MS);
  };
  if (cancelled.aborted) hurry();
  else cancelled.addEventListener('abort', hurry);
  try {
    return await Promise.race([close(), late.promise]);
  } finally {
    clearTimeout(timer);
    cancelled.removeEventListener('abort', hurry);
  }
}
