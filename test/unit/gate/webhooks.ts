import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { meaningOfEvent } from '../../../src/gate/event/event-table.ts';
import type { DismissedEvent, EventInputs, Intent } from '../../../src/gate/event/intent.ts';

export type Payload = Readonly<Record<string, unknown>>;

/** GitHub's own examples, by event. */
export const examples = new Map(
  (
    JSON.parse(readFileSync(fileURLToPath(import.meta.resolve('@octokit/webhooks-examples')), 'utf8')) as {
      readonly name: string;
      readonly examples: readonly Payload[];
    }[]
  ).map(({ name, examples: of }) => [name, of]),
);

/** Returns the examples of one event, restricted to the type `action` unless it is null. */
export function examplesOf(name: string, action: string | null): readonly Payload[] {
  return (examples.get(name) ?? []).filter((payload) => action === null || payload.action === action);
}

/** Returns the payload with other values at some places; `issue.labels` is a path of two levels. */
export function changed(payload: Payload, values: Payload): Payload {
  return Object.entries(values).reduce((whole, [path, value]) => put(whole, path.split('.'), value), payload);
}

function put(whole: Payload, [key = '', ...rest]: readonly string[], value: unknown): Payload {
  return { ...whole, [key]: rest.length === 0 ? value : put((whole[key] ?? {}) as Payload, rest, value) };
}

/** Returns the request of an event, or the reason why the event makes no request. */
export function intentOf(event: Parameters<typeof meaningOfEvent>[0], inputs: EventInputs): Intent | DismissedEvent {
  const meaning = meaningOfEvent(event, inputs);
  return meaning.kind === 'for-us' ? meaning.intent : meaning;
}
