import { expect, test } from 'vitest';
import { readdirSync, readFileSync } from 'node:fs';
import { KNOWN_SIGNALS } from '../../../../src/core/analysis/done-signals.ts';
import { analyzeTranscript } from '../../../../src/core/analysis/analyze.ts';
import { buildPrintedAnalysis, type Analysis } from '../../../../src/core/analysis/analysis.ts';
import type { AgentEvent, Dialect } from '../../../../src/agents/reading/agent-event.ts';
import { createAgentReader } from '../../../../src/agents/reading/reader.ts';

export const NOW = Date.parse('2026-11-22T09:00:00Z');

interface Asked {
  readonly now?: number;
  readonly tokensBefore?: number;
}

/** Analyzes an output of the CLI that prints in this dialect. */
export function analyzeIn(dialect: Dialect, output: string | Uint8Array | readonly Uint8Array[], asked: Asked = {}) {
  return readIn(dialect, output, asked).analysis;
}

/** Returns the analysis, and the events of the output. */
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
  const { analysis } = analyzeTranscript(transcript, KNOWN_SIGNALS.done);
  // This throws if the analysis does not match the published schema.
  buildPrintedAnalysis(analysis);
  return { analysis, finalMessage: transcript.finalMessage, events };
}

const samples = new URL('../../../samples/agents/', import.meta.url);

/** Returns the names of the agent's recordings. */
export function recordingsOf(agent: string): readonly string[] {
  return readdirSync(new URL(`${agent}/`, samples)).sort();
}

export function recording(agent: string, name: string): string {
  return readFileSync(new URL(`${agent}/${name}`, samples), 'utf8');
}

export function jsonLines(...events: readonly object[]): string {
  return events.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** Returns the kinds of events; consecutive equal kinds appear once. */
export function kindsOf(events: readonly AgentEvent[]): readonly string[] {
  return events.map(({ kind }) => kind).filter((kind, at, all) => kind !== all[at - 1]);
}

/** A call that ended well; fields that an agent does not report are left out of its rows. */
export const ended = { format: 'jsonl', agentError: null, usageLimit: null, costUsd: null, denials: [] };

/** Returns a call that failed without a limit. */
export function failed(kind: string, text: RegExp): object {
  return { ...ended, agentError: { kind, text: expect.stringMatching(text) } };
}

/** Returns a call that ended at a limit of the provider. */
export function limited(text: RegExp, resumeAt: string | null): object {
  return { ...failed('rate-limit', text), usageLimit: { window: 'unknown', resumeAt } };
}

/** Returns an error 429 whose text does not mention a limit. */
export function refused(text: RegExp): object {
  return { ...failed('rate-limit', text), usageLimit: { window: 'unknown', resumeAt: null, unconfirmed: true } };
}

export const NO_RESULT = /^The agent's output ends without a result/;

/** Tests the dialect with all recordings of the agent. */
export function testRecordings(agent: string, dialect: Dialect, expected: Readonly<Record<string, object>>): void {
  test('every recording is in the table', () => {
    expect(recordingsOf(agent)).toEqual(Object.keys(expected).sort());
  });

  test.each(Object.entries(expected))('%s', (name, analysis) => {
    expect(analyzeIn(dialect, recording(agent, name))).toMatchObject(analysis);
  });
}
