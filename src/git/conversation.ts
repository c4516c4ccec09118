import { PassThrough } from 'node:stream';
import { withNamedWait } from '../ports/waits.ts';
import { runProgram, type ProgramCall } from '../processes/run-program.ts';

/** A command that stays open and answers any number of questions. */
export interface Conversation {
  ask(text: string): void;
  /**
   * Returns the command's next line of output without the line feed; null if the command has ended, or was ended
   * because it was silent for too long.
   */
  line(): Promise<string | null>;
  /** Returns the next `count` bytes of output; null in the cases of `line`, or if `count` exceeds the maximum. */
  bytes(count: number): Promise<Buffer | null>;
  /** Ends the command and waits until it has ended. */
  close(): Promise<void>;
}

/** The time limits of an answer, in ms. `unblock` is called once an answer takes `slowMs`. */
export interface AnswerLimits {
  readonly slowMs: number;
  readonly unblock: () => void;
  readonly longestMs: number;
  readonly mostBytes: number;
}

/** Starts a command and leaves it open. */
export function startConversation(
  call: Omit<ProgramCall, 'input' | 'timeoutMs' | 'signal' | 'outputs'>,
  { slowMs, unblock, longestMs, mostBytes }: AnswerLimits,
): Conversation {
  const questions = new PassThrough();
  const stop = new AbortController();
  let held: Buffer[] = [];
  let isEnded = false;
  let arrived = (): void => undefined;

  const take = (chunk: Buffer): void => {
    held.push(chunk);
    arrived();
  };
  const ended = runProgram({
    ...call,
    input: questions,
    timeoutMs: Infinity,
    signal: stop.signal,
    outputs: [take, () => undefined],
  }).then(() => {
    isEnded = true;
    arrived();
  });

  /** Limits the time of one answer, not of all together: the work between two answers may take long. */
  async function within(work: Promise<void>): Promise<void> {
    const slow = setTimeout(unblock, slowMs);
    const late = setTimeout(() => {
      stop.abort();
    }, longestMs);
    await withNamedWait('git', () => work).finally(() => {
      clearTimeout(slow);
      clearTimeout(late);
    });
  }

  function more(): Promise<void> {
    return within(
      new Promise((resolve) => {
        arrived = resolve;
      }),
    );
  }

  /** Removes and returns the buffer up to `end`. */
  function cut(end: number): Buffer {
    const all = joined();
    held = end === all.length ? [] : [all.subarray(end)];
    return all.subarray(0, end);
  }

  function joined(): Buffer {
    const [first = Buffer.alloc(0), ...rest] = held;
    const all = rest.length === 0 ? first : Buffer.concat(held);
    held = [all];
    return all;
  }

  return {
    ask: (text) => void questions.write(text),
    async line() {
      for (;;) {
        const end = joined().indexOf(10);
        if (end !== -1)
          return cut(end + 1)
            .subarray(0, end)
            .toString();
        if (isEnded) return null;
        await more();
      }
    },
    async bytes(count) {
      if (count > mostBytes) return null;
      while (held.reduce((sum, chunk) => sum + chunk.length, 0) < count) {
        if (isEnded) return null;
        await more();
      }
      return cut(count);
    },
    async close() {
      questions.end();
      await within(ended);
    },
  };
}
