import { PassThrough } from 'node:stream';
import { runProgram, type ProgramCall } from '../processes/run-program.ts';

/** A command that stays open: it is asked, and answers, for as often as its caller likes. */
export interface Conversation {
  ask(text: string): void;
  /** The next line of its output, without the line feed; null: it ended, or was ended for saying nothing for too long. */
  line(): Promise<string | null>;
  /** The next `count` bytes of its output; null like `line`, and where they are more than it may say at once. */
  bytes(count: number): Promise<Buffer | null>;
  /** Ends it and waits for that. */
  close(): Promise<void>;
}

/** How long its answers may take. `unblock` is called once an answer takes `slowMs`. */
export interface Patience {
  readonly slowMs: number;
  readonly unblock: () => void;
  readonly longestMs: number;
  readonly mostBytes: number;
}

/** Starts a command and leaves it open. */
export function startConversation(
  call: Omit<ProgramCall, 'input' | 'timeoutMs' | 'signal' | 'outputs'>,
  { slowMs, unblock, longestMs, mostBytes }: Patience,
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

  /** Each answer has its time, not all of them together: what is done with them in between may take long. */
  async function within(work: Promise<void>): Promise<void> {
    const slow = setTimeout(unblock, slowMs);
    const late = setTimeout(() => {
      stop.abort();
    }, longestMs);
    await work.finally(() => {
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

  /** Output up to `end`, which leaves what is held. */
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
