import { createEventData } from '../../reading/agent-event.ts';

/** Tokens of one answer; `cached` is a part of `input`. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Reads the usage in an answer of the Gemini API while it passes. */
export interface UsageReader {
  push(text: string): void;
  /** null: the answer has not said. */
  counts(): TokenCounts | null;
  /** Whether that is of the whole answer. */
  isComplete(): boolean;
}

/** An event tells content and usage together, and a file that is written is content of one event. */
const MAX_CHARS = 8 * 1024 * 1024;

/** For an answer of this content type. */
export function createUsageReader(contentType: string): UsageReader {
  return contentType.includes('text/event-stream') ? createStreamReader() : createAnswerReader();
}

function createStreamReader(): UsageReader {
  const events = createEventCounter();
  const push = createEventData(MAX_CHARS, (data) => {
    events.read(parsed(data));
  });
  return { push, counts: events.counts, isComplete: events.isComplete };
}

/** One answer, or the list of what would have been events. */
function createAnswerReader(): UsageReader {
  let answer = '';
  let isTooLong = false;
  const told = () => {
    const events = createEventCounter();
    // Asked while it passes, too: a list is read as far as it has come, if it has come to the end of an item.
    const text = answer.trim();
    const whole = text.startsWith('[') && text.endsWith('}') ? parsed(`${text}]`) : parsed(text);
    for (const event of Array.isArray(whole) ? (whole as readonly unknown[]) : [whole]) events.read(event);
    return events;
  };
  return {
    push(text) {
      isTooLong ||= answer.length + text.length > MAX_CHARS;
      answer = isTooLong ? '' : answer + text;
    },
    counts: () => told().counts(),
    isComplete: () => told().isComplete(),
  };
}

/** Every event tells the sums so far, or leaves some out. */
function createEventCounter() {
  let counts: TokenCounts | null = null;
  // An event with content is a token at least: what is known of an answer that breaks off.
  let pieces = 0;
  let isComplete = false;
  return {
    read: (event: unknown): void => {
      const candidates = fieldOf(event, 'candidates');
      if (candidates !== undefined) pieces += 1;
      isComplete ||= Array.isArray(candidates) && candidates.some((one) => fieldOf(one, 'finishReason') !== undefined);
      const usage = fieldOf(event, 'usageMetadata');
      if (typeof usage === 'object' && usage !== null) counts = merged(counts, countsIn(usage));
    },
    counts: (): TokenCounts | null => (counts === null ? null : { ...counts, output: Math.max(counts.output, pieces) }),
    isComplete: () => isComplete,
  };
}

/** What is cached is told as a part of the prompt. What the total holds beyond the parts has been generated. */
function countsIn(usage: object): TokenCounts {
  const count = (name: string): number => {
    const value = fieldOf(usage, name);
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
  };
  const input = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const output = count('candidatesTokenCount') + count('thoughtsTokenCount');
  return {
    input,
    cached: Math.min(count('cachedContentTokenCount'), input),
    output: Math.max(output, count('totalTokenCount') - input),
  };
}

function merged(a: TokenCounts | null, b: TokenCounts): TokenCounts {
  return a === null
    ? b
    : { input: Math.max(a.input, b.input), cached: Math.max(a.cached, b.cached), output: Math.max(a.output, b.output) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
