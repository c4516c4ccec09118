import type { StreamEvent } from './events/stream-event.ts';
import { logLine } from '../../processes/log-line.ts';
import type { CallEvent } from '../cli/call-event.ts';

/** Longest line that an event adds to the log, in characters. */
const MAX_LINE = 300;

/** What an event of the stream means to who runs the CLI, with what a person who follows the job reads of it. */
export function callEventOf(event: StreamEvent): CallEvent {
  if (event.kind === 'servers' || event.kind === 'tasks') return { ...event, line: '' };
  const line = logLine(describe(event), MAX_LINE);
  if (event.kind === 'result') return { kind: 'result', line };
  if (event.kind !== 'retry') return { kind: 'work', line };
  const { status, error, delayMs } = event;
  const cause = error !== null && NAME.test(error) ? error : null;
  return { kind: 'retry', line, retry: { status, cause, waitMs: delayMs } };
}

/** Of an error, such as `rate_limit`. */
const NAME = /^\w{1,40}$/;

function describe(event: StreamEvent): string {
  switch (event.kind) {
    case 'text':
      return `${event.nested ? 'subagent: ' : ''}${event.text}`;
    case 'tool-use':
      return `${event.nested ? 'subagent: ' : ''}→ ${event.name} ${event.input}`;
    case 'tool-result':
      return event.failed ? '← failed' : '';
    case 'denied':
      return `denied: ${event.tool}`;
    case 'unshown':
    case 'servers':
    case 'tasks':
      return '';
    case 'retry':
      return `the API answered ${event.status ?? 'with an error'}: try ${event.attempt} of ${event.maxRetries}`;
    case 'result':
      return event.failed ? `agent failed: ${event.text}` : `agent done after ${event.turns ?? '?'} turns`;
  }
}
