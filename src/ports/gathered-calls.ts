/** A call that waits for its answer. */
interface WaitingCall<Asked, Answer> {
  readonly asked: Asked;
  readonly settle: (result: PromiseSettledResult<Answer>) => void;
}

/**
 * Returns a function that gathers the calls of one turn of the event loop. `answerAll` receives all of their questions
 * in order, and returns one result for each. If it rejects, all of these calls reject.
 */
export function gatherCalls<Asked, Answer>(
  answerAll: (asked: readonly Asked[]) => Promise<readonly PromiseSettledResult<Answer>[]>,
): (asked: Asked) => Promise<Answer> {
  let waiting: WaitingCall<Asked, Answer>[] = [];
  const answerWaiting = async (): Promise<void> => {
    const calls = waiting;
    waiting = [];
    const failed = (reason: unknown): PromiseRejectedResult => ({ status: 'rejected', reason });
    const results = await answerAll(calls.map(({ asked }) => asked)).catch((error: unknown) =>
      calls.map(() => failed(error)),
    );
    for (const [at, { settle }] of calls.entries()) settle(results[at] ?? failed(new Error('a call got no answer')));
  };
  return (asked) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void answerWaiting());
      waiting.push({
        asked,
        settle: (result) => {
          if (result.status === 'fulfilled') resolve(result.value);
          else reject(result.reason as Error);
        },
      });
    });
}

/** Returns the result of work that may fail. */
export async function settleCall<Answer>(work: () => Promise<Answer>): Promise<PromiseSettledResult<Answer>> {
  const [result] = await Promise.allSettled([work()]);
  return result;
}
