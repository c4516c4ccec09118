import { loadableAgents } from '../../src/agents/all.ts';
import { convertStreamEvent } from '../../src/agents/claude/cli.ts';
import { createOutputReader } from '../../src/agents/claude/output/reader.ts';
import { createAgentReader } from '../../src/agents/reading/reader.ts';
import { analyzeTranscript } from '../../src/core/analysis/analyze.ts';
import type { TranscriptReader } from '../../src/core/analysis/analysis.ts';
import { agentLines, LINE_AGENTS } from './agent-lines.ts';
import { inChunks, shortLines, streamLines } from './transcript-chunks.ts';

// This program reads a transcript as a run does (of the named agent, or Claude's), or as `ralph analyze` with
// `short-lines`. It is a separate process so that its memory can be measured, and prints one line of JSON.
const BYTES = 100 * 1024 * 1024;
const IS_TEXT = process.argv[2] === 'short-lines';
const agent = LINE_AGENTS.find((name) => name === process.argv[2]);

let shown = 0;
let spentMs = 0;
let bytes = 0;
const reader = await openReader();
for (const chunk of IS_TEXT ? shortLines(BYTES) : inChunks(agent ? agentLines(agent, BYTES) : streamLines(BYTES))) {
  bytes += chunk.length;
  const startedAt = performance.now();
  reader.push(chunk);
  spentMs += performance.now() - startedAt;
}
const startedAt = performance.now();
const { format, agentError, signal } = analyzeTranscript(reader.end(), []).analysis;
spentMs += performance.now() - startedAt;
const isUnderstood = IS_TEXT ? format === 'text' : agentError === null && signal.from === 'block' && shown > 0;
if (!isUnderstood) throw new Error('the transcript was not understood');
console.log(
  JSON.stringify({
    megabytesPerSecond: bytes / 1e6 / (spentMs / 1000),
    peakMegabytes: process.resourceUsage().maxRSS / 1000,
  }),
);

async function openReader(): Promise<TranscriptReader> {
  if (agent === undefined)
    return createOutputReader({
      now: 0,
      onEvent: IS_TEXT ? null : (event) => void (shown += convertStreamEvent(event).line.length),
    });
  const dialect = await loadableAgents[agent].output();
  return createAgentReader({ dialect, now: 0, tokensBefore: null, onEvent: () => void (shown += 1) });
}
