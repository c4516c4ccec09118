import type { AgentEvent } from './agent-event.ts';

export const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Ids go back to the CLI as an argument, so only what can be one is taken. */
export function sessionEvents(value: unknown, form: RegExp): readonly AgentEvent[] {
  return typeof value === 'string' && form.test(value) ? [{ kind: 'session', id: value }] : [];
}
