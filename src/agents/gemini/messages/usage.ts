import { tryJson } from '../../../core/text/try-json.ts';
import { createAnswerReader, mostOf, jsonObjectIn, type UsageReader } from '../../passing/usage.ts';
import { asAmount, asObject, createEventData, type JsonObject } from '../../reading/agent-event.ts';

/** Tokens of one answer; `cached` is a part of `input`. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** null: the answer has not said. */
type GeminiUsage = UsageReader<TokenCounts | null>;

/** An event tells content and usage together, and a file that is written is content of one event. */
const MAX_CHARS = 8 * 1024 * 1024;

/** Reads an answer of the Gemini API, of this content type. */
export function createGeminiUsage(contentType: string): GeminiUsage {
  if (!contentType.includes('text/event-stream')) return createAnswerReader(MAX_CHARS, readAnswer);
  const { read, counts, isComplete } = createEventCounter();
  const push = createEventData(MAX_CHARS, (data) => {
    read(jsonObjectIn(data));
  });
  return { push, counts, isComplete };
}

/** One answer, or the list of what would have been events, as far as it has come, if it has come to the end of an item. */
function readAnswer(text: string): Pick<GeminiUsage, 'counts' | 'isComplete'> {
  const events = createEventCounter();
  const whole = tryJson(text.startsWith('[') && text.endsWith('}') ? `${text}]` : text);
  for (const event of Array.isArray(whole) ? (whole as readonly unknown[]) : [whole]) events.read(asObject(event));
  return events;
}

/** Every event tells the sums so far, or leaves some out. */
function createEventCounter() {
  let counts: TokenCounts | null = null;
  // An event with content is a token at least: what is known of an answer that breaks off.
  let pieces = 0;
  let isComplete = false;
  return {
    read: (event: JsonObject | null): void => {
      const candidates = event?.['candidates'];
      if (candidates !== undefined) pieces += 1;
      isComplete ||=
        Array.isArray(candidates) && candidates.some((one) => asObject(one)?.['finishReason'] !== undefined);
      const usage = asObject(event?.['usageMetadata']);
      if (usage !== null) counts = mostOf(counts, countsIn(usage));
    },
    counts: (): TokenCounts | null => (counts === null ? null : { ...counts, output: Math.max(counts.output, pieces) }),
    isComplete: () => isComplete,
  };
}

/** What is cached is told as a part of the prompt. What the total holds beyond the parts has been generated. */
function countsIn(usage: JsonObject): TokenCounts {
  const count = (name: string): number => asAmount(usage[name]) ?? 0;
  const input = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const output = count('candidatesTokenCount') + count('thoughtsTokenCount');
  return {
    input,
    cached: Math.min(count('cachedContentTokenCount'), input),
    output: Math.max(output, count('totalTokenCount') - input),
  };
}
