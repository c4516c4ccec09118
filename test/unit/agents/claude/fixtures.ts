import { KNOWN_SIGNALS } from '../../../../src/core/analysis/done-signals.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { buildAnalysisSchema, buildPrintedAnalysis, type Analysis } from '../../../../src/core/analysis/analysis.ts';
import { createOutputReader, type ReaderOptions } from '../../../../src/agents/claude/output/reader.ts';
import { analyzeTranscript } from '../../../../src/core/analysis/analyze.ts';

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
const isPublishedShape = ajv.compile(buildAnalysisSchema());

export const NOW = Date.parse('2026-11-21T12:00:00Z');

/** Returns the analysis, after checking that it matches the published JSON Schema. */
export function analyzeAt(output: string | Uint8Array, now = NOW): Analysis {
  const analysis = analyzeChunks([typeof output === 'string' ? new TextEncoder().encode(output) : output], now);
  if (!isPublishedShape(JSON.parse(JSON.stringify(buildPrintedAnalysis(analysis)))))
    throw new Error(`The published JSON Schema refuses it: ${JSON.stringify(isPublishedShape.errors)}`);
  return analysis;
}

/** Returns the analysis of an output that arrives in chunks. */
export function analyzeChunks(
  chunks: Iterable<Uint8Array>,
  now = NOW,
  onEvent: ReaderOptions['onEvent'] = null,
): Analysis {
  const reader = createOutputReader({ now, onEvent });
  for (const chunk of chunks) reader.push(chunk);
  return analyzeTranscript(reader.end(), KNOWN_SIGNALS.done).analysis;
}

/** Splits the output into chunks of `size` bytes. */
export function* inChunks(output: string, size: number): Generator<Uint8Array> {
  const bytes = new TextEncoder().encode(output);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

export function block(...fields: string[]): string {
  return ['---RALPH_STATUS---', ...fields, '---END_RALPH_STATUS---'].join('\n');
}

type Fields = Record<string, unknown>;

/** Returns a result line of the CLI in the form of its `--output-format json`. */
export function resultLine(result: string, more: Fields = {}): string {
  return JSON.stringify({
    duration_api_ms: 7,
    session_id: 's-1',
    is_error: false,
    num_turns: 3,
    subtype: 'success',
    result,
    type: 'result',
    ...more,
  });
}

export function failedLine(result: string, more: Fields = {}): string {
  return resultLine(result, { is_error: true, ...more });
}

export const INIT = JSON.stringify({ type: 'system', subtype: 'init', session_id: 's-1', tools: ['Bash'] });

export function assistantLine(text: string, more: Fields = {}): string {
  return JSON.stringify({
    type: 'assistant',
    message: { model: 'claude', content: [{ type: 'text', text }] },
    parent_tool_use_id: null,
    session_id: 's-1',
    ...more,
  });
}

export function toolUseLine(id: string, name: string, input: Fields): string {
  return JSON.stringify({
    type: 'assistant',
    message: { model: 'claude', content: [{ type: 'tool_use', id, name, input }] },
    parent_tool_use_id: null,
    session_id: 's-1',
  });
}

export function toolResultLine(content: string): string {
  return JSON.stringify({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] },
    parent_tool_use_id: null,
    session_id: 's-1',
  });
}

export function syntheticLine(text: string, error: string): string {
  return JSON.stringify({
    type: 'assistant',
    message: { model: '<synthetic>', content: [{ type: 'text', text }] },
    parent_tool_use_id: null,
    session_id: 's-1',
    error,
  });
}

export function rateLimitLine(info: Fields): string {
  return JSON.stringify({ type: 'rate_limit_event', rate_limit_info: info, session_id: 's-1' });
}

export function jsonLines(...lines: string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Returns the message as plain text, as the CLI's JSON object and as the end of a stream. */
export function inEveryFormat(message: string): readonly (readonly [string, string])[] {
  return [
    ['text', message],
    ['json', resultLine(message)],
    ['jsonl', jsonLines(INIT, assistantLine(message), resultLine(message))],
  ];
}
