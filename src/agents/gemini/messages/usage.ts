import { tryJson } from '../../../core/text/try-json.ts';
import { createAnswerReader, mergeCounts, parseJsonObject, type UsageReader } from '../../passing/usage.ts';
import { createEventData } from '../../reading/agent-event.ts';
import { asAmount, asArray, asObject, type JsonObject } from '../../reading/json-value.ts';

/** Tokens of one answer; `cached` is part of `input`. */
export interface GeminiTokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Queries with which the provider's servers have searched; at least one if the answer rests on a search. */
  readonly searches: number;
}

/** Counts are null while the answer has not reported them. */
type GeminiUsage = UsageReader<GeminiTokenCounts | null>;

/**
 * Maximum length in characters: an event contains content and usage, and a written file is the content of one event.
 */
const MAX_CHARS = 8 * 1024 * 1024;

/** Creates a reader for an answer of the Gemini API with this content type. */
export function createGeminiUsage(contentType: string): GeminiUsage {
  if (!contentType.includes('text/event-stream')) return createAnswerReader(MAX_CHARS, readAnswer);
  const { read, counts, isComplete } = createEventCounter();
  const push = createEventData(MAX_CHARS, (data) => {
    read(parseJsonObject(data));
  });
  return { push, counts, isComplete };
}

/**
 * Reads the text so far: a whole answer, or a list of what would be events in a stream, up to the last complete item.
 */
function readAnswer(text: string): Pick<GeminiUsage, 'counts' | 'isComplete'> {
  const events = createEventCounter();
  const whole = tryJson(text.startsWith('[') && text.endsWith('}') ? `${text}]` : text);
  for (const event of Array.isArray(whole) ? (whole as readonly unknown[]) : [whole]) events.read(asObject(event));
  return events;
}

/** Creates a counter: every event contains the sums so far, or omits some. */
function createEventCounter() {
  let counts: GeminiTokenCounts | null = null;
  // An event with content is at least one token, which is the estimate for an answer that breaks off.
  let pieces = 0;
  const queries = new Set<string>();
  let isGrounded = false;
  let isComplete = false;
  return {
    read: (event: JsonObject | null): void => {
      const candidates = event?.['candidates'];
      if (candidates !== undefined) pieces += 1;
      for (const one of asArray(candidates)) {
        const grounding = asObject(asObject(one)?.['groundingMetadata']);
        isGrounded ||= grounding !== null && Object.keys(grounding).length > 0;
        for (const query of asArray(grounding?.['webSearchQueries'])) queries.add(String(query));
      }
      isComplete ||=
        Array.isArray(candidates) && candidates.some((one) => asObject(one)?.['finishReason'] !== undefined);
      const usage = asObject(event?.['usageMetadata']);
      if (usage !== null) counts = mergeCounts(counts, countsIn(usage));
    },
    counts: (): GeminiTokenCounts | null =>
      counts === null
        ? null
        : { ...counts, output: Math.max(counts.output, pieces), searches: Math.max(queries.size, isGrounded ? 1 : 0) },
    isComplete: () => isComplete,
  };
}

/**
 * Returns the counts. Cached tokens are reported as part of the prompt, and the rest of the total beyond the parts was
 * generated.
 */
function countsIn(usage: JsonObject): GeminiTokenCounts {
  const count = (name: string): number => asAmount(usage[name]) ?? 0;
  const input = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const output = count('candidatesTokenCount') + count('thoughtsTokenCount');
  return {
    input,
    cached: Math.min(count('cachedContentTokenCount'), input),
    output: Math.max(output, count('totalTokenCount') - input),
    searches: 0,
  };
}
