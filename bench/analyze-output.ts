import { createOutputReader } from '../src/agents/claude/output/reader.ts';
import { analyzeTranscript, type AnalyzedTranscript } from '../src/core/analysis/analyze.ts';

/** Analyzes the bytes that an agent printed, as a run does; `now` in ms. */
export function analyzeOutput(output: Uint8Array, now: number): AnalyzedTranscript {
  const reader = createOutputReader({ now, onEvent: null });
  reader.push(output);
  return analyzeTranscript(reader.end(), []);
}
