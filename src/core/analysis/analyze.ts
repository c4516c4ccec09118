import type { Analysis } from './analysis.ts';
import { createOutputReader } from './reader.ts';

/** One agent output → its analysis; `now` (ms) fixes the clock for texts such as `resets 5pm`. */
export function analyze(output: Uint8Array | string, now: number): Analysis {
  const reader = createOutputReader({ now });
  reader.push(typeof output === 'string' ? new TextEncoder().encode(output) : output);
  return reader.end();
}
