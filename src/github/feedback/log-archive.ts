import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';

/** An archive that cannot be read; the message says so in a sentence. */
export class UnreadableArchive extends Error {
  constructor(why: string) {
    super(`The log of the job is an archive that cannot be read: ${why}.`);
    this.name = 'UnreadableArchive';
  }
}

/** The signature of an entry: `PK` and two more. */
const SIGNATURE = 0x04034b50;
const HEADER_BYTES = 30;
const METHODS = { stored: 0, deflated: 8 };
/** Sizes follow the content instead of coming before it. */
const SIZES_FOLLOW = 1 << 3;
const ENCRYPTED = 1;

/** The bytes as they are or, where they are a zip archive, those of its first entry: the log of one job. Nothing is held but what comes next. */
export async function* unpacked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = createSource(bytes);
  const start = await source.peek(HEADER_BYTES);
  if (start.length < HEADER_BYTES || start.readUInt32LE(0) !== SIGNATURE) {
    yield* source.rest();
    return;
  }
  const flags = start.readUInt16LE(6);
  const method = start.readUInt16LE(8);
  const size = start.readUInt32LE(18);
  if ((flags & ENCRYPTED) !== 0) throw new UnreadableArchive('it is encrypted');
  await source.skip(HEADER_BYTES + start.readUInt16LE(26) + start.readUInt16LE(28));
  if (method === METHODS.deflated) yield* inflated(source.rest());
  else if (method === METHODS.stored && (flags & SIZES_FOLLOW) === 0) yield* source.next(size);
  else throw new UnreadableArchive('it is packed in an unusual way');
}

/** What follows the compressed content, such as the archive's table, is left alone. */
async function* inflated(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw();
  const packed = Readable.from(bytes, { objectMode: false });
  packed.on('error', (error) => inflate.destroy(error));
  packed.pipe(inflate);
  try {
    for await (const chunk of inflate) yield chunk as Uint8Array;
  } catch (error) {
    const isCorrupt = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
    throw isCorrupt ? new UnreadableArchive('its content is damaged') : error;
  } finally {
    packed.destroy();
    inflate.destroy();
  }
}

interface Source {
  /** The next `count` bytes, which stay; fewer at the end. */
  peek(count: number): Promise<Buffer>;
  skip(count: number): Promise<void>;
  next(count: number): AsyncGenerator<Uint8Array>;
  rest(): AsyncGenerator<Uint8Array>;
}

function createSource(bytes: AsyncIterable<Uint8Array>): Source {
  const chunks = bytes[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  /** false: there is no more. */
  async function more(): Promise<boolean> {
    const next = await chunks.next();
    if (next.done === true) return false;
    held = Buffer.concat([held, next.value]);
    return true;
  }

  const source: Source = {
    async peek(count) {
      while (held.length < count && (await more()));
      return held.subarray(0, count);
    },
    async skip(count) {
      await source.peek(count);
      held = held.subarray(count);
    },
    async *next(count) {
      let left = count;
      for await (const chunk of source.rest()) {
        yield chunk.subarray(0, left);
        left -= chunk.length;
        if (left <= 0) return;
      }
    },
    async *rest() {
      try {
        do {
          const chunk = held;
          held = Buffer.alloc(0);
          if (chunk.length > 0) yield chunk;
        } while (await more());
      } finally {
        await chunks.return?.();
      }
    },
  };
  return source;
}
