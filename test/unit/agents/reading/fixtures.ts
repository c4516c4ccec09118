import { readdirSync, readFileSync } from 'node:fs';
import { KNOWN_SIGNALS } from '../../../../src/core/analysis/done-signals.ts';
import { analyze } from '../../../../src/core/analysis/analyze.ts';
import type { Analysis } from '../../../../src/core/analysis/analysis.ts';
import type { AgentEvent, Dialect } from '../../../../src/agents/reading/agent-event.ts';
import { createAgentReader } from '../../../../src/agents/reading/reader.ts';

export const NOW = Date.parse('2026-11-22T09:00:00Z');

interface Asked {
  readonly now?: number;
  readonly tokensBefore?: number;
}

/** What comes of an output of the CLI that prints in this dialect. */
export function analyzeIn(dialect: Dialect, output: string | Uint8Array | readonly Uint8Array[], asked: Asked = {}) {
  return readIn(dialect, output, asked).analysis;
}

/** The analysis, and the events that were seen on the way. */
export function readIn(
  dialect: Dialect,
  output: string | Uint8Array | readonly Uint8Array[],
  { now = NOW, tokensBefore }: Asked = {},
): { readonly analysis: Analysis; readonly finalMessage: string; readonly events: readonly AgentEvent[] } {
  const events: AgentEvent[] = [];
  const reader = createAgentReader({
    dialect,
    now,
    tokensBefore: tokensBefore ?? null,
    onEvent: (event) => void events.push(event),
  });
  const bytes = typeof output === 'string' ? new TextEncoder().encode(output) : output;
  for (const chunk of bytes instanceof Uint8Array ? [bytes] : bytes) reader.push(chunk);
  const transcript = reader.end();
  return { analysis: analyze(transcript, KNOWN_SIGNALS.done).analysis, finalMessage: transcript.finalMessage, events };
}

const samples = new URL('../../../samples/agents/', import.meta.url);

/** Names of what was recorded of the agent. */
export function recordingsOf(agent: string): readonly string[] {
  return readdirSync(new URL(`${agent}/`, samples)).sort();
}

export function recording(agent: string, name: string): string {
  return readFileSync(new URL(`${agent}/${name}`, samples), 'utf8');
}

export function jsonLines(...events: readonly object[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** The kinds of events, neighbours of one kind once. */
export function kindsOf(events: readonly AgentEvent[]): readonly string[] {
  return events.map(({ kind }) => kind).filter((kind, at, all) => kind !== all[at - 1]);
}
