import {
  combineCounts,
  createAnswerReader,
  mergeCounts,
  parseJsonObject,
  estimateTokens,
  type UsageReader,
} from '../../passing/usage.ts';
import { createEventData } from '../../reading/agent-event.ts';
import { asAmount, asArray, asObject, asString } from '../../reading/json-value.ts';
import { NO_TOKENS, type ClaudeTokenCounts } from './prices.ts';

/** Counts are null while the answer has not reported them. */
type ClaudeUsage = UsageReader<ClaudeTokenCounts | null>;

/**
 * Maximum length of a line: events with usage are short, and longer ones are content. An answer that does not stream
 * has at most 128,000 tokens.
 */
const MAX_LINE_CHARS = 64 * 1024;
const MAX_ANSWER_CHARS = 8 * 1024 * 1024;

/** Creates a reader for an answer of the Messages API with this content type. */
export function createClaudeUsage(contentType: string): ClaudeUsage {
  if (contentType.includes('text/event-stream')) return createStreamReader();
  return contentType.includes('vnd.amazon.eventstream')
    ? createFrameReader()
    : createAnswerReader(MAX_ANSWER_CHARS, read);
}

function read(answer: string): Pick<ClaudeUsage, 'counts' | 'isComplete'> {
  const counts = answer.endsWith('}') ? countsIn(parseJsonObject(answer)) : null;
  return { counts: () => counts, isComplete: () => counts !== null };
}

/** Creates a counter that adds up events, each in JSON. */
function createEventCounter() {
  let counts: ClaudeTokenCounts | null = null;
  // Tokens since the last reported output: the only estimate for an answer that breaks off or continues.
  let since = 0;
  // Searches of the provider's servers, which are reported at the end.
  let searches = 0;
  let isComplete = false;
  return {
    read: (event: string): void => {
      if (event.includes('"content_block_delta"')) since += tokensOf(event);
      else if (SEARCH_START.test(event)) searches += 1;
      else if (/"message_(?:start|delta)"/.test(event)) {
        const reported = countsIn(parseJsonObject(event));
        if (reported !== null && reported.output > 0 && event.includes('"message_delta"')) {
          since = 0;
          isComplete = true;
        }
        counts = mergeCounts(counts, reported);
      }
    },
    counts: (): ClaudeTokenCounts | null =>
      counts === null
        ? null
        : { ...counts, output: Math.max(counts.output, since), webSearches: Math.max(counts.webSearches, searches) },
    isComplete: () => isComplete,
  };
}

const SEARCH_START = /"content_block_start"[^]*"type": ?"server_tool_use"/;

/** Returns roughly how many tokens a delta adds, at least one. */
function tokensOf(event: string): number {
  const delta = asObject(parseJsonObject(event)?.['delta']);
  const texts = ['text', 'thinking', 'partial_json'].map((name) => asString(delta?.[name]) ?? '');
  return Math.max(1, estimateTokens(texts.join('').length));
}

/** Creates a reader for Amazon's frames: binary, with the event as JSON inside base64 inside JSON. */
function createFrameReader(): ClaudeUsage {
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
      // A longer event loses its beginning, and is never parsed.
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

function createStreamReader(): ClaudeUsage {
  const events = createEventCounter();
  return { push: createEventData(MAX_LINE_CHARS, events.read), counts: events.counts, isComplete: events.isComplete };
}

/** Returns the usage in a message, or in an event that contains one. */
function countsIn(value: unknown): ClaudeTokenCounts | null {
  const message = asObject(value);
  const usage = asObject(message?.['usage']) ?? asObject(asObject(message?.['message'])?.['usage']);
  if (usage === null) return null;
  // When the provider's servers compact a conversation, they read it twice; only `iterations` includes the first time.
  const { iterations } = usage;
  const sum = Array.isArray(iterations)
    ? asArray(iterations)
        .map(kindsIn)
        .reduce((a, b) => combineCounts(a, b, (one, other) => one + other), NO_TOKENS)
    : null;
  return mergeCounts(kindsIn(usage), sum);
}

function kindsIn(value: unknown): ClaudeTokenCounts {
  const usage = asObject(value);
  const hour = asAmount(asObject(usage?.['cache_creation'])?.['ephemeral_1h_input_tokens']) ?? 0;
  const countOf = (name: string): number => asAmount(usage?.[name]) ?? 0;
  return {
    input: countOf('input_tokens'),
    cacheWrite: Math.max(0, countOf('cache_creation_input_tokens') - hour),
    cacheWriteHour: hour,
    cacheRead: countOf('cache_read_input_tokens'),
    output: countOf('output_tokens'),
    webSearches: asAmount(asObject(usage?.['server_tool_use'])?.['web_search_requests']) ?? 0,
  };
}
