import { renderSpokenText } from '../../core/analysis/spoken-text.ts';
import { toLogLine } from '../../processes/output-tail.ts';
import type { AgentEvent, Dialect, AgentFailure } from '../reading/agent-event.ts';
import { classifyFailure, findResetTime, findUsageLimit } from '../reading/failure.ts';
import { createAgentReader } from '../reading/reader.ts';
import type { CallEvent } from './stall-watch.ts';
import type { AgentCli, CallListener, CallReader } from './cli.ts';

/** Maximum length in characters of an event's line in the log. */
const MAX_LINE = 300;
/** Maximum length of a line on stderr that may report a retry. */
const MAX_ERROR_LINE = 16 * 1024;

/**
 * Opens a reader for a CLI that prints in a dialect. For `tokensBefore`, see CollectorOptions. `take` adds an event
 * that follows from several lines.
 */
export function openDialectReader(
  dialect: Dialect,
  { now, hear }: CallListener,
  tokensBefore: number | null,
): CallReader & Pick<ReturnType<typeof createAgentReader>, 'take'> {
  const reader = createAgentReader({
    dialect,
    now,
    tokensBefore,
    onEvent: (event) => {
      hear(describeCallEvent(event));
    },
  });
  // Read stderr as well, because some CLIs report retries only there.
  const errors = createLines((line) => {
    const retry = dialect.parseText(line);
    if (retry !== null) hear(describeCallEvent(retry));
  });
  return { ...reader, pushError: errors, end: () => reader.end(), conversation: null };
}

/** Returns the `judgeStall` of a CLI with this dialect. */
export function judgeStallIn(dialect: Dialect): AgentCli['judgeStall'] {
  return ({ text, status, now }) => {
    const failure: AgentFailure = { text, status, at: now };
    const agentError = classifyFailure(failure, dialect);
    return { agentError, usageLimit: findUsageLimit(failure, agentError.kind, findResetTime(failure, now)) };
  };
}

/** Converts an agent's event to a call event, with its line for the log. */
function describeCallEvent(event: AgentEvent): CallEvent {
  const line = toLogLine(describe(event), MAX_LINE);
  if (event.kind === 'end') return { kind: 'result', line };
  if (event.kind === 'servers') return { kind: 'servers', line: '', failed: event.failed };
  if (event.kind !== 'retry') return { kind: 'work', line };
  const { status, cause } = event;
  return { kind: 'retry', line, retry: { status, cause: toLogLine(cause, MAX_LINE), waitMs: null } };
}

function describe(event: AgentEvent): string {
  switch (event.kind) {
    case 'text':
      return renderSpokenText(event.text);
    case 'tool-use':
      return `→ ${event.tool} ${event.command ?? ''}`;
    case 'tool-result':
      return event.failed ? '← failed' : '';
    case 'denied':
      return `denied: ${event.tool ?? event.command ?? 'a tool'}`;
    case 'retry':
      return `the provider ${event.status === null ? 'gave no answer' : `answered HTTP ${String(event.status)}`}: the agent tries again`;
    case 'end':
      return event.failure === null ? 'agent done' : `agent failed: ${event.failure.text}`;
    default:
      return '';
  }
}

/** Splits bytes into whole lines; lines that are too long are left out. */
function createLines(take: (line: string) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_ERROR_LINE);
    lines.forEach(take);
  };
}
