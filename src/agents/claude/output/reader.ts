import type { Transcript, TranscriptReader } from '../../../core/analysis/transcript.ts';
import type { StreamEvent } from '../events/stream-event.ts';
import { createCappedBytes } from '../../reading/capped-bytes.ts';
import { timeOf, type Clock } from '../../reading/clock.ts';
import { behindLine } from '../../reading/line-ends.ts';
import { endOfLine, firstVisible, OPEN_BRACE } from './line-bytes.ts';
import { elementsIn, endOfObject } from './objects.ts';
import { createReading, type Reading } from './reading.ts';

/** `now`: from when texts such as `resets 5pm` are understood. `onEvent` sees the stream as it comes; null: nobody looks. */
export interface ReaderOptions {
  readonly now: Clock;
  readonly onEvent: ((event: StreamEvent) => void) | null;
}

/**
 * A line is an event or text. JSON that spans lines is found in the end, in a second reading of a short output.
 * Time is linear in the bytes; memory does not grow with the length of a transcript, a line is kept up to 5 MiB.
 */
export function createOutputReader({ now, onEvent }: ReaderOptions): TranscriptReader {
  const reading = createReading(onEvent);
  const pending = createCappedBytes();
  return { push, end };

  function push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const isFresh = pending.length() === 0;
      const behindText = isFresh ? reading.takeTogether(chunk, at) : at;
      if (behindText > at) {
        at = behindText;
        continue;
      }
      const behind = behindLine(chunk, at);
      const line = chunk.subarray(at, behind === -1 ? chunk.length : behind);
      at += line.length;
      if (isFresh && behind !== -1) reading.take({ head: line, tail: null });
      else pending.append(line);
      if (!isFresh && behind !== -1) takePending();
    }
  }

  function takePending(): void {
    reading.take(pending.kept());
    pending.clear();
  }

  function end(): Transcript {
    if (pending.length() > 0) takePending();
    return (secondReading() ?? reading).transcript(timeOf(now));
  }

  /** Finds objects and arrays that span lines; null: the output is longer than what is kept, or a stream of events. */
  function secondReading(): Reading | null {
    const output = reading.output();
    if (output === null) return null;
    const again = createReading(null);
    let at = 0;
    while (at < output.length) {
      const end = endOfPiece(output, at, again);
      again.take({ head: output.subarray(at, end), tail: null });
      at = end;
    }
    return again;
  }
}

/** Index behind the line at `from`, or behind the object or array that begins in it outside of a fence. */
function endOfPiece(bytes: Uint8Array, from: number, reading: Reading): number {
  if (reading.inFence()) return endOfLine(bytes, from);
  const first = firstVisible(bytes, from);
  const mayArrayCome = reading.eventCount() === 0;
  if (bytes[first] === OPEN_BRACE) return endOfObject(bytes, from, mayArrayCome);
  const array = mayArrayCome ? elementsIn(bytes, first) : null;
  return array === null ? endOfLine(bytes, from) : bytes.length - array.behind.length;
}
