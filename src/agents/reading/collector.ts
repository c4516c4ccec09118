import type { AgentError, Denial } from '../../core/analysis/analysis.ts';
import type { Transcript } from '../../core/analysis/transcript.ts';
import { capped } from '../../core/text/cut.ts';
import { oneLine } from '../../core/text/one-line.ts';
import type { AgentEvent, Dialect } from './agent-event.ts';
import { createDenial } from './denials.ts';
import { asAmount } from './json.ts';
import { createPendingCalls } from './pending-calls.ts';
import { timeOf, type Clock } from './clock.ts';
import { classifyFailure, errorInText, resetOf, usageLimitOf } from './failure.ts';

/** Collects the events of one process; memory does not grow with their number. */
interface EventCollector {
  add(event: AgentEvent): void;
  /** What they come to, with `text`, which was printed beside them. */
  transcript(text: string): Transcript;
}

/** `now`: from when reset times are understood. `tokensBefore`: what the session had used before this process, for a CLI that prints sums of sessions; null: nothing, or unknown. */
export interface CollectorOptions {
  readonly dialect: Dialect;
  readonly now: Clock;
  readonly tokensBefore: number | null;
}

const MAX_DENIALS = 500;
/** So much text of one message is kept, of its beginning and its end. */
const MAX_TEXT_CHARS = 1024 * 1024;
const KEPT_CHARS = MAX_TEXT_CHARS / 4;

/** A call has ended well only if the CLI says so: an output without an end is a failure, whatever its exit code. */
export function createEventCollector({ dialect, now, tokensBefore }: CollectorOptions): EventCollector {
  let hasEvents = false;
  let finalMessage = '';
  let isOpen = false;
  /** Null while nothing says how the call ended. */
  let end: Extract<AgentEvent, { kind: 'end' }> | null = null;
  let lastRetry: string | null = null;
  let sessionId: string | null = null;
  let turns: number | null = null;
  let tokens: number | null = null;
  let sessionTokens: number | null = null;
  let costUsd: number | null = null;
  const denials: Denial[] = [];
  const calls = createPendingCalls<Pick<Extract<AgentEvent, { kind: 'tool-use' }>, 'tool' | 'command'>>();

  return { add, transcript };

  function add(event: AgentEvent): void {
    hasEvents ||= event.kind !== 'retry';
    switch (event.kind) {
      case 'session':
        sessionId = event.id;
        return;
      case 'used':
        tokens = (tokens ?? 0) + event.tokens;
        if (event.costUsd !== null) costUsd = (costUsd ?? 0) + event.costUsd;
        return;
      case 'session-used':
        sessionTokens = event.tokens;
        return;
      case 'servers':
        return;
      case 'retry':
        lastRetry = event.cause;
        return;
      case 'end':
        end = event;
        isOpen = false;
        return;
      default:
        goOn(event);
    }
  }

  /** The agent works, so whatever was reported before did not end the call. */
  function goOn(
    event: Exclude<AgentEvent, { kind: 'session' | 'used' | 'session-used' | 'servers' | 'retry' | 'end' }>,
  ): void {
    end = null;
    lastRetry = null;
    const isPiece = event.kind === 'piece';
    if (event.kind === 'text') finalMessage = event.text;
    else if (isPiece) finalMessage = shortened(isOpen ? finalMessage + event.text : event.text);
    else if (event.kind === 'turns') turns = (turns ?? 0) + event.more;
    else if (event.kind === 'tool-use') remember(event);
    else if (event.kind === 'denied') deny(event);
    isOpen = isPiece;
  }

  function remember({ id, tool, command }: Extract<AgentEvent, { kind: 'tool-use' }>): void {
    if (id === null) return;
    calls.add(id, { tool, command: command === null ? null : capped(command, 2_000) });
  }

  function deny({ id, tool, command }: Extract<AgentEvent, { kind: 'denied' }>): void {
    const call = calls.of(id);
    if (denials.length < MAX_DENIALS)
      denials.push(createDenial(tool ?? call?.tool ?? 'unknown', command ?? call?.command ?? null));
  }

  function transcript(text: string): Transcript {
    const failure = end?.failure ?? null;
    const reported = failure && classifyFailure(failure, dialect);
    return {
      format: hasEvents ? 'jsonl' : 'text',
      finalMessage,
      finished: end !== null,
      agentError: end === null ? withoutEnd(text) : reported,
      usageLimit: failure && reported && usageLimitOf(failure, reported.kind, resetOf(failure, timeOf(now))),
      denials,
      askedPerson: denials.some(({ tool }) => tool === dialect.questionTool),
      sessionId,
      // Sums of what is not believable may be no number any more.
      turns: asAmount(turns),
      tokens: asAmount(sessionTokens === null ? tokens : sinceBefore(sessionTokens)),
      costUsd: asAmount(costUsd),
    };
  }

  /** A smaller sum is that of a new session. */
  function sinceBefore(sum: number): number {
    return tokensBefore === null || tokensBefore > sum ? sum : sum - tokensBefore;
  }

  function withoutEnd(text: string): AgentError {
    const own = errorInText(text, dialect);
    if (own !== null) return own;
    const words = lastRetry === null ? oneLine(text, MAX_WORDS_CHARS) : `it tried again after: ${lastRetry}`;
    return {
      kind: 'other',
      text: `The agent's output ends without a result${words === '' ? '' : `; ${oneLine(words, MAX_WORDS_CHARS)}`}`,
    };
  }
}

const MAX_WORDS_CHARS = 500;

function shortened(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, KEPT_CHARS)} … ${text.slice(-KEPT_CHARS)}`;
}
