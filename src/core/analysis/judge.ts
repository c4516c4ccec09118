import { classifyFailure, failureInText } from './agent-error.ts';
import type { Analysis, Signal } from './analysis.ts';
import { QUESTION_TOOL } from './denials.ts';
import { findErrors } from './errors.ts';
import { markEnds, proseOf } from './markdown-code.ts';
import { CONFIDENT, NO_PHRASES, readPhrases } from './phrases.ts';
import { findStatusBlock } from './status-block.ts';
import { createTranscript } from './transcript.ts';
import type { TranscriptSummary } from './transcript.ts';
import { usageLimitOf } from './usage-limit.ts';

/** A whole output: plain text, which is its own final message, or what the CLI's events came to. */
export type Output =
  | { readonly format: 'text'; readonly text: string }
  | { readonly format: Exclude<Analysis['format'], 'text'>; readonly summary: TranscriptSummary };

export interface JudgedOutput {
  readonly analysis: Analysis;
  readonly final: { readonly chars: number; readonly endsInFencedBlock: boolean };
}

/** Reads signal, errors and limits out of an output. */
export function judgeOutput(output: Output, now: number): JudgedOutput {
  const { finalMessage, failure, rejected, denials, ...numbers } =
    output.format === 'text' ? summaryOfText(output.text) : output.summary;
  const lines = markEnds(finalMessage, MAX_HEAD_CHARS, MAX_TAIL_CHARS);
  const { block, endsInFencedBlock } = findStatusBlock(lines);
  // With a block no phrase is read at all.
  const prose = proseOf(lines, 'prose');
  const phrases = block === null ? readPhrases(prose) : NO_PHRASES;
  const signal: Signal =
    block === null ? { ...NO_SIGNAL, from: phrases.found ? 'phrases' : 'none' } : { from: 'block', ...block };
  const analysis: Analysis = {
    format: output.format,
    signal,
    completionIndicator: block === null ? phrases.confidence >= CONFIDENT : block.exitSignal === true,
    confidence: block === null ? phrases.confidence : 100,
    testOnly: block === null ? phrases.testOnly : block.workType === 'TESTING',
    noWork: phrases.noWork,
    question: phrases.question || denials.some(({ tool }) => tool === QUESTION_TOOL),
    agentError: failure && classifyFailure(failure),
    errors: findErrors(lines.some(({ within }) => within === 'quote') ? proseOf(lines, 'prose-and-quotes') : prose),
    denials,
    usageLimit: usageLimitOf(failure, rejected, now),
    ...numbers,
  };
  return { analysis, final: { chars: finalMessage.length, endsInFencedBlock } };
}

/** Longer than any message of a model; it bounds memory when something else was printed. */
const MAX_HEAD_CHARS = 64 * 1024;
const MAX_TAIL_CHARS = 192 * 1024;

const NO_SIGNAL: Omit<Signal, 'from'> = {
  status: null,
  exitSignal: null,
  testsStatus: null,
  workType: null,
  tasksCompleted: null,
  filesModified: null,
  recommendation: null,
  unreadable: [],
};

function summaryOfText(text: string): TranscriptSummary {
  return { ...createTranscript().summary(), finalMessage: text, failure: failureInText(text) };
}
