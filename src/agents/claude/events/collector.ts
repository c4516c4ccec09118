import type { Denial, Transcript } from '../../../core/analysis/analysis.ts';
import { capText } from '../../../core/text/phrase.ts';
import { createDenial } from '../../reading/agent-event.ts';
import { asString } from '../../reading/json-value.ts';
import { createPendingCalls } from '../../reading/capped-bytes.ts';
import type { CliEvent, ClaudeFailure, RateLimit, ResultLine, ToolUse } from './cli-event.ts';
import { classifyClaudeFailure, parseFailureText, findClaudeLimit } from './failure.ts';

/**
 * The parts of the agent's stream that a person following the run may see, and signs of activity. Texts are capped, not
 * cleaned. `nested` is true for events of a subagent.
 */
export type StreamEvent =
  | { readonly kind: 'text'; readonly nested: boolean; readonly text: string }
  | { readonly kind: 'tool-use'; readonly nested: boolean; readonly name: string; readonly input: string }
  | { readonly kind: 'tool-result'; readonly failed: boolean }
  | { readonly kind: 'denied'; readonly tool: string }
  | {
      readonly kind: 'retry';
      readonly attempt: number;
      readonly maxRetries: number;
      readonly delayMs: number;
      readonly status: number | null;
      readonly error: string | null;
    }
  /** Activity that is not shown: a thought, a long result. */
  | { readonly kind: 'unshown' }
  | { readonly kind: 'servers'; readonly failed: readonly string[] }
  | { readonly kind: 'tasks'; readonly running: number | null; readonly more: number }
  | { readonly kind: 'result'; readonly failed: boolean; readonly text: string; readonly turns: number | null };

const MAX_TEXT_CHARS = 2_000;

const MAX_NAME_CHARS = 100;

const MAX_INPUT_CHARS = 300;

/** Input fields that describe a tool call; the first one present is shown. */
const SHOWN_INPUTS = [
  'command',
  'file_path',
  'notebook_path',
  'pattern',
  'path',
  'url',
  'query',
  'description',
  'prompt',
];

const UNSHOWN: StreamEvent = { kind: 'unshown' };

/** Collects the events of one process; memory does not grow with their number. */
interface EventCollector {
  add(event: CliEvent): void;
  /** Returns the transcript. `now` (ms) is the reference time for texts such as `resets 5pm`. */
  transcript(format: Transcript['format'], now: number): Transcript;
}

/** Returns the transcript of an output without events: it is the agent's message, or the CLI's own error. */
export function transcriptOfText(text: string, now: number): Transcript {
  const failure = parseFailureText(text);
  return {
    ...createEventCollector().transcript('text', now),
    finalMessage: text,
    finished: text.trim() !== '',
    agentError: failure && classifyClaudeFailure(failure),
    usageLimit: findClaudeLimit(failure, null, now),
  };
}

const MAX_DENIALS = 500;

/** Creates a collector for the events of one process. */
export function createEventCollector(): EventCollector {
  /** The last text of the current turn; null while nothing has happened in it. */
  let lastText: string | null = null;
  /** The failure of the last result, or of the end if the result is missing. */
  let failure: ClaudeFailure | null = null;
  /** The provider's limit in force at the end. */
  let rejected: RateLimit | null = null;
  let result: ResultLine | null = null;
  let sessionId: string | null = null;
  let totals: Totals = { turns: null, tokens: null, outputTokens: null, costSinceLastUsd: null };
  const denials: Denial[] = [];
  let deniedSinceResult: Denial[] = [];
  const commands = createPendingCalls<string>();

  return { add, transcript };

  function add(event: CliEvent): void {
    sessionId = event.session ?? sessionId;
    switch (event.kind) {
      case 'assistant':
        event.tools.forEach(rememberCommand);
        if (event.nested) return;
        // Set at least an empty text, because the result of an earlier turn is no longer the last message.
        lastText = event.text ?? lastText ?? '';
        if (event.failure) failure = event.failure;
        else clearFailure();
        return;
      case 'denied':
        if (deniedSinceResult.length < MAX_DENIALS)
          deniedSinceResult.push(createDenial(event.tool, commands.of(event.toolUseId)));
        return;
      case 'rate-limit':
        if (event.limit.rejected) rejected = laterOf(rejected, event.limit);
        else if (event.limit.type === rejected?.type) rejected = null;
        return;
      case 'result':
        finish(event.result);
        return;
      default:
    }
  }

  /** Clears the failure, because the agent spoke after it, so it did not end the call. */
  function clearFailure(): void {
    failure = null;
    rejected = null;
  }

  function finish(next: ResultLine): void {
    // Keep the error of the synthetic message, which says more than the result line that follows it.
    failure = next.failure && { ...next.failure, error: next.failure.error ?? failure?.error ?? null };
    if (failure === null) rejected = null;
    result = { ...next, text: next.text ?? lastText };
    totals = {
      turns: sum(totals.turns, next.turns),
      tokens: sum(totals.tokens, next.tokens),
      outputTokens: sum(totals.outputTokens, next.outputTokens),
      costSinceLastUsd: sum(totals.costSinceLastUsd, next.costSinceLastResultUsd),
    };
    denials.push(...next.denials.slice(0, MAX_DENIALS - denials.length));
    deniedSinceResult = [];
    lastText = null;
  }

  function rememberCommand({ id, input }: ToolUse): void {
    const command = asString(input['command']);
    if (id !== null && command !== null) commands.add(id, capText(command, 2_000));
  }

  function transcript(format: Transcript['format'], now: number): Transcript {
    const denied = [...denials, ...deniedSinceResult];
    return {
      format,
      finalMessage: lastText ?? result?.text ?? '',
      finished: result !== null,
      agentError: failure && classifyClaudeFailure(failure),
      usageLimit: findClaudeLimit(failure, rejected, now),
      denials: denied,
      askedPerson: denied.some(({ tool }) => tool === 'AskUserQuestion'),
      sessionId,
      turns: totals.turns,
      tokens: totals.tokens,
      outputTokens: totals.outputTokens,
      // Prefer the sum of the results' costs: in a resumed session, the total includes the cost of earlier processes.
      costUsd: totals.costSinceLastUsd ?? result?.totalCostUsd ?? null,
    };
  }
}

/** Returns the limit with the later reset, which decides how long to wait. */
function laterOf(limit: RateLimit | null, next: RateLimit): RateLimit {
  return (next.resetsAt ?? 0) >= (limit?.resetsAt ?? 0) ? next : (limit ?? next);
}

interface Totals {
  readonly turns: number | null;
  readonly tokens: number | null;
  readonly outputTokens: number | null;
  readonly costSinceLastUsd: number | null;
}

function sum(total: number | null, more: number | null): number | null {
  return more === null ? total : (total ?? 0) + more;
}

/** Returns the parts of an event that are worth showing, in order. */
export function selectStreamEvents(event: CliEvent): readonly StreamEvent[] {
  switch (event.kind) {
    case 'assistant': {
      const { nested } = event;
      const text = event.text ?? event.failure?.text ?? '';
      return ensureShownEvents([
        ...(text.trim() === '' ? [] : [buildTextEvent(text, nested)]),
        ...event.tools.map((tool) => toolEvent(tool, nested)),
      ]);
    }
    case 'tool-results':
      return ensureShownEvents(event.failed.map((failed) => ({ kind: 'tool-result', failed })));
    case 'denied':
      return [{ kind: 'denied', tool: capText(event.tool, MAX_NAME_CHARS) }];
    case 'retry':
      return [
        {
          kind: 'retry',
          attempt: event.attempt,
          maxRetries: event.maxRetries,
          delayMs: event.delayMs,
          status: event.status,
          error: event.error === null ? null : capText(event.error, MAX_NAME_CHARS),
        },
      ];
    case 'result': {
      const { failure, text, turns } = event.result;
      return [
        { kind: 'result', failed: failure !== null, text: capText(failure?.text ?? text ?? '', MAX_TEXT_CHARS), turns },
      ];
    }
    case 'servers':
      return [{ kind: 'servers', failed: event.failed }];
    case 'tasks':
      return [{ kind: 'tasks', running: event.running, more: event.more }];
    default:
      return [];
  }
}

/** Returns the events, or one `unshown` event if none. */
export function ensureShownEvents(events: readonly StreamEvent[]): readonly StreamEvent[] {
  return events.length > 0 ? events : [UNSHOWN];
}

/** Returns the event for a line of output that is not an event: a plain-text agent's words, or noise. */
export function buildTextEvent(text: string, nested: boolean): StreamEvent {
  return { kind: 'text', nested, text: capText(text, MAX_TEXT_CHARS) };
}

function toolEvent({ name, input }: ToolUse, nested: boolean): StreamEvent {
  const shown = SHOWN_INPUTS.map((key) => asString(input[key])).find((value) => value !== null) ?? '';
  return { kind: 'tool-use', nested, name: capText(name, MAX_NAME_CHARS), input: capText(shown, MAX_INPUT_CHARS) };
}
