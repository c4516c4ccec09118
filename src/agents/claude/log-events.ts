import type { StreamEvent } from './events/stream-event.ts';
import { logLine } from '../../processes/log-line.ts';

/** Longest line that an event adds to the log, in characters. */
const MAX_LINE = 300;

/** What a person who follows the job reads of an event: a single line, or nothing. */
export function lineOf(event: StreamEvent): string {
  return logLine(describe(event), MAX_LINE);
}

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
      return '';
    case 'retry':
      return `the API answered ${event.status ?? 'with an error'}: try ${event.attempt} of ${event.maxRetries}`;
    case 'result':
      return event.failed ? `agent failed: ${event.text}` : `agent done after ${event.turns ?? '?'} turns`;
  }
}
