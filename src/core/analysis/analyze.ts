import type { Analysis, Signal } from './analysis.ts';
import { oneLine } from '../text/one-line.ts';
import { findErrors } from './errors.ts';
import { markEnds, proseOf, type MarkedLine } from './markdown-code.ts';
import { CONFIDENT, NO_PHRASES, findPhrases } from './phrases.ts';
import { findStatusBlock } from './status-block.ts';
import type { Transcript } from './transcript.ts';

/** An analysis, and what of the final message is no part of it. */
export interface AnalyzedTranscript {
  readonly analysis: Analysis;
  /** Length of the final message, in characters. */
  readonly finalChars: number;
  /** Whether the final message ends in a status block that does not count because it is fenced. */
  readonly endsInFencedBlock: boolean;
}

/** Judges what the final message claims; what the agent's CLI says of itself is taken over. `doneTexts`: what says by agreement that everything is done (done-signals.ts). */
export function analyze(transcript: Transcript, doneTexts: readonly string[]): AnalyzedTranscript {
  const { finalMessage, denials } = transcript;
  const lines = markEnds(finalMessage, MAX_HEAD_CHARS, MAX_TAIL_CHARS);
  const { block, endsInFencedBlock } = findStatusBlock(lines);
  // With a block no phrase is read at all.
  const prose = proseOf(lines, 'prose');
  const phrases = block === null ? findPhrases(prose, doneTexts) : NO_PHRASES;
  const signal: Signal =
    block === null
      ? {
          ...NO_SIGNAL,
          from: phrases.found ? 'phrases' : 'none',
          ...(transcript.agentError === null ? lastWordsOf(lines) : {}),
        }
      : { from: 'block', ...block };
  const analysis: Analysis = {
    format: transcript.format,
    signal,
    completionIndicator: block === null ? phrases.confidence >= CONFIDENT : block.exitSignal === true,
    confidence: block === null ? phrases.confidence : 100,
    testOnly: block === null ? phrases.testOnly : block.workType === 'TESTING',
    noWork: phrases.noWork,
    question: phrases.question || transcript.askedPerson,
    agentError: transcript.agentError,
    errors: findErrors(lines.some(({ within }) => within === 'quote') ? proseOf(lines, 'prose-and-quotes') : prose),
    denials,
    usageLimit: transcript.usageLimit,
    sessionId: transcript.sessionId,
    turns: transcript.turns,
    tokens: transcript.tokens,
    costUsd: transcript.costUsd,
  };
  return { analysis, finalChars: finalMessage.length, endsInFencedBlock };
}

/** The last paragraph outside of code and quotes, for people who hear nothing else of it. */
function lastWordsOf(lines: readonly MarkedLine[]): Pick<Signal, 'lastWords'> {
  const paragraphs = lines.map(({ text, within }) => (within === 'prose' ? text.trim() : '')).join('\n');
  const last = paragraphs.trimEnd().slice(-MAX_WORDS_CHARS).split('\n\n').at(-1) ?? '';
  const words = oneLine(last, MAX_WORDS_CHARS);
  return words === '' ? {} : { lastWords: words };
}

const MAX_WORDS_CHARS = 500;

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
  summary: null,
  asks: null,
  unreadable: [],
};
