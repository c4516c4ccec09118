import { lineOf } from '../../src/agents/claude/log-events.ts';
import { createOutputReader } from '../../src/agents/claude/output/reader.ts';
import { analyze } from '../../src/core/analysis/analyze.ts';
import { chunks, shortLines } from './transcript-chunks.ts';

// Reads a transcript as a run does, or as `ralph analyze` with `short-lines`, in a process of its own so that its memory can be measured; prints one line of JSON.
const BYTES = 100 * 1024 * 1024;
const IS_TEXT = process.argv[2] === 'short-lines';

let shown = 0;
let spentMs = 0;
let bytes = 0;
const reader = createOutputReader({
  now: 0,
  onEvent: IS_TEXT ? null : (event) => void (shown += lineOf(event).length),
});
for (const chunk of IS_TEXT ? shortLines(BYTES) : chunks(BYTES)) {
  bytes += chunk.length;
  const startedAt = performance.now();
  reader.push(chunk);
  spentMs += performance.now() - startedAt;
}
const startedAt = performance.now();
const { format, turns, signal } = analyze(reader.end(), []).analysis;
spentMs += performance.now() - startedAt;
const isUnderstood = IS_TEXT ? format === 'text' : turns !== null && signal.from === 'block' && shown > 0;
if (!isUnderstood) throw new Error('the transcript was not understood');
console.log(
  JSON.stringify({
    megabytesPerSecond: bytes / 1e6 / (spentMs / 1000),
    peakMegabytes: process.resourceUsage().maxRSS / 1000,
  }),
);
