import type { CliEvent, ToolUse } from './cli-event.ts';
import { capped } from '../../../core/text/cut.ts';
import { asString } from '../../reading/json.ts';

/** What a person following the run may see of the agent's stream, and whether it is at work. Texts are capped, not cleaned. `nested`: a subagent's. */
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
  /** The agent is at work on something that is not shown: a thought, a long result. */
  | { readonly kind: 'unshown' }
  | { readonly kind: 'servers'; readonly failed: readonly string[] }
  | { readonly kind: 'tasks'; readonly running: number | null; readonly more: number }
  | { readonly kind: 'result'; readonly failed: boolean; readonly text: string; readonly turns: number | null };

const MAX_TEXT_CHARS = 2_000;
const MAX_NAME_CHARS = 100;
const MAX_INPUT_CHARS = 300;

/** What a tool call is about: the first of these that its input has. */
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

/** The parts of an event that are worth showing, in order. */
export function streamEventsOf(event: CliEvent): readonly StreamEvent[] {
  switch (event.kind) {
    case 'assistant': {
      const { nested } = event;
      const text = event.text ?? event.failure?.text ?? '';
      return orUnshown([
        ...(text.trim() === '' ? [] : [textEvent(text, nested)]),
        ...event.tools.map((tool) => toolEvent(tool, nested)),
      ]);
    }
    case 'tool-results':
      return orUnshown(event.failed.map((failed) => ({ kind: 'tool-result', failed })));
    case 'denied':
      return [{ kind: 'denied', tool: capped(event.tool, MAX_NAME_CHARS) }];
    case 'retry':
      return [
        {
          kind: 'retry',
          attempt: event.attempt,
          maxRetries: event.maxRetries,
          delayMs: event.delayMs,
          status: event.status,
          error: event.error === null ? null : capped(event.error, MAX_NAME_CHARS),
        },
      ];
    case 'result': {
      const { failure, text, turns } = event.result;
      return [
        { kind: 'result', failed: failure !== null, text: capped(failure?.text ?? text ?? '', MAX_TEXT_CHARS), turns },
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

const UNSHOWN: StreamEvent = { kind: 'unshown' };

/** The events of what the agent did, of which there is always one. */
export function orUnshown(events: readonly StreamEvent[]): readonly StreamEvent[] {
  return events.length > 0 ? events : [UNSHOWN];
}

/** A line of output that is no event: what a plain-text agent says, or noise. */
export function textEvent(text: string, nested: boolean): StreamEvent {
  return { kind: 'text', nested, text: capped(text, MAX_TEXT_CHARS) };
}

function toolEvent({ name, input }: ToolUse, nested: boolean): StreamEvent {
  const shown = SHOWN_INPUTS.map((key) => asString(input[key])).find((value) => value !== null) ?? '';
  return { kind: 'tool-use', nested, name: capped(name, MAX_NAME_CHARS), input: capped(shown, MAX_INPUT_CHARS) };
}
