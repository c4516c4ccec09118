import { createEventData } from '../../reading/agent-event.ts';
import { NO_TOKENS, type TokenCounts } from './prices.ts';

/** Reads the usage in an answer of the Messages API while it passes. */
export interface UsageReader {
  push(text: string): void;
  /** null: the answer has not said. */
  counts(): TokenCounts | null;
  /** Whether that is of the whole answer. */
  isComplete(): boolean;
}

/** Events that tell usage are short; what is longer is content. An answer that does not stream is at most 128,000 tokens long. */
const MAX_LINE_CHARS = 64 * 1024;
const MAX_ANSWER_CHARS = 8 * 1024 * 1024;

/** For an answer of this content type. */
export function createUsageReader(contentType: string): UsageReader {
  if (contentType.includes('text/event-stream')) return createStreamReader();
  return contentType.includes('vnd.amazon.eventstream') ? createFrameReader() : createAnswerReader();
}

/** Adds up events, each in JSON. */
function createEventCounter() {
  let counts: TokenCounts | null = null;
  // What came since the provider told the output: all that is known of an answer that breaks off, or goes on.
  let since = 0;
  let isComplete = false;
  return {
    read: (event: string): void => {
      if (event.includes('"content_block_delta"')) since += tokensIn(event);
      else if (/"message_(?:start|delta)"/.test(event)) {
        const told = countsIn(parsed(event));
        if (told !== null && told.output > 0 && event.includes('"message_delta"')) {
          since = 0;
          isComplete = true;
        }
        counts = merged(counts, told);
      }
    },
    counts: (): TokenCounts | null => (counts === null ? null : { ...counts, output: Math.max(counts.output, since) }),
    isComplete: () => isComplete,
  };
}

const CHARS_PER_TOKEN = 4;

/** Tokens that a delta adds, roughly: one at least. */
function tokensIn(event: string): number {
  const delta = fieldOf(parsed(event), 'delta');
  const chars = ['text', 'thinking', 'partial_json'].map((name) => fieldOf(delta, name));
  const length = chars.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0);
  return Math.max(1, Math.ceil(length / CHARS_PER_TOKEN));
}

/** Amazon's frames: binary, but for the event in JSON in base64 in JSON. */
function createFrameReader(): UsageReader {
  const events = createEventCounter();
  let rest = '';
  return {
    push(text) {
      rest += text;
      let read = 0;
      for (const { 0: whole, 1: base64 = '', index } of rest.matchAll(FRAME_EVENT)) {
        events.read(decoded(base64));
        read = index + whole.length;
      }
      // An event that is longer loses its beginning, and so is never read.
      rest = rest.slice(Math.max(read, rest.length - MAX_LINE_CHARS));
    },
    counts: events.counts,
    isComplete: events.isComplete,
  };
}

const FRAME_EVENT = /"bytes":"([A-Za-z0-9+/]*={0,2})"/g;

function decoded(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return '';
  }
}

function createStreamReader(): UsageReader {
  const events = createEventCounter();
  return { push: createEventData(MAX_LINE_CHARS, events.read), counts: events.counts, isComplete: events.isComplete };
}

function createAnswerReader(): UsageReader {
  let answer = '';
  let isTooLong = false;
  // Asked while it passes, too.
  const counts = (): TokenCounts | null =>
    !isTooLong && answer.trimEnd().endsWith('}') ? countsIn(parsed(answer)) : null;
  return {
    push(text) {
      isTooLong ||= answer.length + text.length > MAX_ANSWER_CHARS;
      if (!isTooLong) answer += text;
    },
    counts,
    isComplete: () => counts() !== null,
  };
}

/** Usage in a message, or in an event that holds one. */
function countsIn(value: unknown): TokenCounts | null {
  const usage = fieldOf(value, 'usage') ?? fieldOf(fieldOf(value, 'message'), 'usage');
  if (typeof usage !== 'object' || usage === null) return null;
  // A conversation that the provider's servers shorten is read twice, and the first time is told there alone.
  const iterations = fieldOf(usage, 'iterations');
  const sum = Array.isArray(iterations)
    ? (iterations as readonly unknown[]).map(kindsIn).reduce(plus, NO_TOKENS)
    : null;
  return merged(kindsIn(usage), sum);
}

function kindsIn(usage: unknown): TokenCounts {
  const created = fieldOf(usage, 'cache_creation');
  const hour = countOf(created, 'ephemeral_1h_input_tokens');
  return {
    input: countOf(usage, 'input_tokens'),
    cacheWrite: Math.max(0, countOf(usage, 'cache_creation_input_tokens') - hour),
    cacheWriteHour: hour,
    cacheRead: countOf(usage, 'cache_read_input_tokens'),
    output: countOf(usage, 'output_tokens'),
    webSearches: countOf(fieldOf(usage, 'server_tool_use'), 'web_search_requests'),
  };
}

function plus(a: TokenCounts, b: TokenCounts): TokenCounts {
  return {
    input: a.input + b.input,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    cacheWriteHour: a.cacheWriteHour + b.cacheWriteHour,
    cacheRead: a.cacheRead + b.cacheRead,
    output: a.output + b.output,
    webSearches: a.webSearches + b.webSearches,
  };
}

/** Every event tells the sum so far, or leaves a kind out. */
function merged(a: TokenCounts | null, b: TokenCounts | null): TokenCounts | null {
  if (a === null || b === null) return a ?? b;
  return {
    input: Math.max(a.input, b.input),
    cacheWrite: Math.max(a.cacheWrite, b.cacheWrite),
    cacheWriteHour: Math.max(a.cacheWriteHour, b.cacheWriteHour),
    cacheRead: Math.max(a.cacheRead, b.cacheRead),
    output: Math.max(a.output, b.output),
    webSearches: Math.max(a.webSearches, b.webSearches),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function countOf(value: unknown, name: string): number {
  const count = fieldOf(value, name);
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
