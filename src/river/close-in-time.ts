/** What an ordinary end waits for a busy machine to remove the agent's user, namespaces and folders. */
const CLOSE_MS = 20_000;
/** A cancelled run has 2 s left. */
const CLOSE_CANCELLED_MS = 1_500;

/** Waits until something is closed, for the time that a run has for it; returns what it says, or null: it is left to the post step, which closes it again. */
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
