/** What a program printed and nobody has read yet. */
export interface HeldOutput {
  push(chunk: Buffer): void;
  /** Nothing more will come. */
  end(): void;
  /** The next line, without its line feed; null: it does not come, or is longer than may be held. */
  line(): Promise<string | null>;
  /** The next `count` bytes; null: they do not come. */
  bytes(count: number): Promise<Buffer | null>;
  /** Whether something is held. */
  isEmpty(): boolean;
}

/** Holds output for its reader: at most `mostBytes`; where there is more, nothing comes any more and `overflow` is called. */
export function holdOutput(mostBytes: number, overflow: () => void): HeldOutput {
  let held: Buffer[] = [];
  let size = 0;
  let isOver = false;
  let arrived = (): void => undefined;

  function finish(): void {
    isOver = true;
    arrived();
  }

  /** The first `count` bytes, which leave what is held. */
  function cut(count: number): Buffer {
    const all = Buffer.concat(held);
    held = count === all.length ? [] : [all.subarray(count)];
    size -= count;
    return all.subarray(0, count);
  }

  /** False: nothing more comes. */
  async function more(): Promise<boolean> {
    if (isOver) return false;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    arrived = () => {
      resolve(undefined);
    };
    await promise;
    return true;
  }

  return {
    push(chunk) {
      if (isOver) return;
      if (size + chunk.length > mostBytes) {
        held = [];
        size = 0;
        finish();
        overflow();
        return;
      }
      held.push(chunk);
      size += chunk.length;
      arrived();
    },
    end: finish,
    async line() {
      // Each chunk is looked through once.
      for (let seen = 0, before = 0; ;) {
        for (; seen < held.length; seen += 1) {
          const chunk = held[seen] ?? Buffer.alloc(0);
          const at = chunk.indexOf(10);
          if (at !== -1) {
            const line = cut(before + at + 1);
            return line.subarray(0, -1).toString();
          }
          before += chunk.length;
        }
        if (!(await more())) return null;
      }
    },
    async bytes(count) {
      while (size < count) if (!(await more())) return null;
      return cut(count);
    },
    isEmpty: () => size === 0,
  };
}
