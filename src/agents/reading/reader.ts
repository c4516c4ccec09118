import type { AgentError, Denial, Transcript, TranscriptReader } from '../../core/analysis/analysis.ts';
import { capText, toOneLine } from '../../core/text/phrase.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { type AgentEvent, createDenial, type Dialect } from './agent-event.ts';
import { asAmount, asObject } from './json-value.ts';
import {
  findLineEnd,
  type InstantSource,
  createCappedBytes,
  createPendingCalls,
  decodeKept,
  endsObject,
  type KeptBytes,
  readClock,
} from './capped-bytes.ts';
import { classifyFailure, findErrorInText, findResetTime, findUsageLimit } from './failure.ts';

/** Collects the events of one process; memory does not grow with their number. */
interface EventCollector {
  add(event: AgentEvent): void;
  /** Returns the transcript of the events and of `text`, which was printed between them. */
  transcript(text: string): Transcript;
}

/**
 * `now` is the reference time for relative reset times. `tokensBefore` is the session's usage before this process, for
 * a CLI that prints the totals of sessions; it is null for other CLIs, or if it is unknown.
 */
interface CollectorOptions {
  readonly dialect: Dialect;
  readonly now: InstantSource;
  readonly tokensBefore: number | null;
}

const MAX_DENIALS = 500;

/** Maximum length of one message's kept text in characters, from its beginning and its end. */
const MAX_TEXT_CHARS = 1024 * 1024;

const KEPT_CHARS = MAX_TEXT_CHARS / 4;

const MAX_WORDS_CHARS = 500;

/** `onEvent` gets the events as they come, or is null. */
interface ReaderOptions extends CollectorOptions {
  readonly onEvent: ((event: AgentEvent) => void) | null;
}

/**
 * Length in bytes from which a line is examined before parsing; for shorter ones this would cost as much as parsing.
 */
const LONG_LINE_BYTES = 1024;

/** Number of bytes that are examined to decide whether a line must be parsed. */
const LOOK_BYTES = 512;

const MAX_TEXT_BYTES = 16 * 1024;

/**
 * Creates a reader for the JSON lines of a CLI. One reader reads one stream: stderr gets a reader of its own. Time is
 * linear in the bytes; memory does not grow with the length of the output, and a line is kept up to 5 MiB. `take` adds
 * an event that follows from several lines.
 */
export function createAgentReader({
  onEvent,
  ...options
}: ReaderOptions): TranscriptReader & { readonly take: (event: AgentEvent) => void } {
  const { dialect } = options;
  const parse = dialect.createParser();
  const collector = createDialectCollector(options);
  const pending = createCappedBytes();
  /** The beginning of the text outside events. */
  let text = '';
  return { push, end, take };

  function push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      const behind = findLineEnd(chunk, at);
      const line = chunk.subarray(at, behind === -1 ? chunk.length : behind);
      at += line.length;
      if (pending.length() === 0 && behind !== -1) takeLine({ head: line, tail: null });
      else pending.append(line);
      if (pending.length() > 0 && behind !== -1) takePending();
    }
  }

  function takePending(): void {
    takeLine(pending.kept());
    pending.clear();
  }

  function takeLine(line: KeptBytes): void {
    if (isUnread(line)) return take(ACTIVITY);
    const decoded = decodeKept(line).trim();
    if (decoded === '') return;
    const object = decoded.startsWith('{') ? asObject(tryJson(decoded)) : null;
    const events = object && parse(object);
    if (events === null) takeText(decoded);
    else events.forEach(take);
  }

  /** Returns true if the line need not be parsed; a truncated line always must be. */
  function isUnread(line: KeptBytes): boolean {
    if (line.head.length < LONG_LINE_BYTES || !endsObject(line)) return false;
    return dialect.unread.test(latin1.decode(line.head.subarray(0, LOOK_BYTES)));
  }

  function takeText(line: string): void {
    const retry = dialect.parseText(line);
    if (retry !== null) take(retry);
    else if (text.length < MAX_TEXT_BYTES) text += `${line.slice(0, MAX_TEXT_BYTES)}\n`;
  }

  function take(event: AgentEvent): void {
    collector.add(event);
    onEvent?.(event);
  }

  function end(): Transcript {
    if (pending.length() > 0) takePending();
    return collector.transcript(text);
  }
}

const ACTIVITY: AgentEvent = { kind: 'activity' };

const latin1 = new TextDecoder('latin1');

/**
 * Creates a collector. A call has ended well only if the CLI says so: an output without an end is a failure, regardless
 * of the exit code.
 */
function createDialectCollector({ dialect, now, tokensBefore }: CollectorOptions): EventCollector {
  let hasEvents = false;
  let finalMessage = '';
  let isOpen = false;
  /** The reported end of the call; null while no event reports one. */
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
        if (event.tokens !== null) tokens = (tokens ?? 0) + event.tokens;
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
        takeSignOfWork(event);
    }
  }

  /** Takes a sign of work, and clears the end: an earlier report did not end the call. */
  function takeSignOfWork(
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
    calls.add(id, { tool, command: command === null ? null : capText(command, 2_000) });
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
      usageLimit: failure && reported && findUsageLimit(failure, reported.kind, findResetTime(failure, readClock(now))),
      denials,
      askedPerson: denials.some(({ tool }) => tool === dialect.questionTool),
      sessionId,
      // Check the sums again: those of implausible amounts may no longer be finite numbers.
      turns: asAmount(turns),
      tokens: asAmount(sessionTokens === null ? tokens : sinceBefore(sessionTokens)),
      costUsd: asAmount(costUsd),
    };
  }

  /** Returns the usage since the start; a smaller sum belongs to a new session. */
  function sinceBefore(sum: number): number {
    return tokensBefore === null || tokensBefore > sum ? sum : sum - tokensBefore;
  }

  function withoutEnd(text: string): AgentError {
    const own = findErrorInText(text, dialect);
    if (own !== null) return own;
    const words = lastRetry === null ? toOneLine(text, MAX_WORDS_CHARS) : `it tried again after: ${lastRetry}`;
    return {
      kind: 'other',
      text: `The agent's output ends without a result${words === '' ? '' : `; ${toOneLine(words, MAX_WORDS_CHARS)}`}`,
    };
  }
}

function shortened(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, KEPT_CHARS)} … ${text.slice(-KEPT_CHARS)}`;
}
