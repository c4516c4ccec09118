/** Maximum time at an ordinary end for a busy machine to remove the agent's user, namespaces and folders, in ms. */
const CLOSE_MS = 20_000;

/** Maximum time for the removal in a cancelled run, in ms; such a run has 2 s left. */
const CLOSE_CANCELLED_MS = 1_500;

/**
 * Waits until `close` has finished, within the time that the run has for it. Returns its message; null also when time
 * ran out, in which case the post step closes it again.
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
