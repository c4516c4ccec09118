import type { Analysis } from '../../../core/analysis/analysis.ts';
import type { CliEvent } from '../events/cli-event.ts';
import { tryJson } from '../../../core/text/try-json.ts';
import { asArray, asObject } from '../../reading/json.ts';
import { createJsonWalker } from './json-walker.ts';
import { announces, hasProse } from './noise.ts';
import { holdsMarker } from '../../../core/analysis/status-block.ts';

type Format = Analysis['format'];

/** Watches the pieces of an output go by and says in the end what they were. */
export interface FormatWitness {
  sawEvent(event: CliEvent, from: 'line' | 'element'): void;
  /** A whole JSON object that is no event of the CLI. */
  sawObject(): void;
  /** One or more lines. */
  sawText(lines: Uint8Array): void;
  eventCount(): number;
  /** Whether the events may still turn out to be a part of a message that quotes them. */
  mayBeQuotation(): boolean;
  /** `text`: the output for as long as it may be a quotation, and from then on what is no event. */
  format(text: string): Format;
}

/** More events in a message are a quotation only if it begins with prose and has a status block of its own. */
const MAX_QUOTED_EVENTS = 10;

/**
 * Noise or quotation: what tools print around the CLI's events is short lines and logs. The events are a quotation in a message
 * if prose stands before and after them, if the line before them announces them (`It prints this:`), or if a status block stands outside them.
 */
export function createFormatWitness(): FormatWitness {
  let events = 0;
  let onlyResults = true;
  let inArray = false;
  let objects = 0;
  let hasText = false;
  let announced = false;
  const prose = { before: false, after: false };

  return { sawEvent, sawObject: () => void (objects += 1), sawText, eventCount: () => events, mayBeQuotation, format };

  function mayBeQuotation(): boolean {
    return events <= MAX_QUOTED_EVENTS;
  }

  function sawEvent(event: CliEvent, from: 'line' | 'element'): void {
    events += 1;
    onlyResults &&= event.kind === 'result';
    inArray ||= from === 'element';
  }

  function sawText(lines: Uint8Array): void {
    if (!mayBeQuotation()) return;
    hasText = true;
    if (events === 0) announced = announces(lines, announced);
    const side = events === 0 ? 'before' : 'after';
    if (!prose[side]) prose[side] = hasProse(lines);
  }

  function format(text: string): Format {
    if (events > 0 && isQuotation(text)) return 'text';
    if (inArray) return 'json-array';
    if (events > 1) return 'jsonl';
    if (events === 1) return onlyResults ? 'json' : 'jsonl';
    if (objects > 1 && !hasText) return 'jsonl';
    return formatOfText(text);
  }

  /** In the CLI's events a block's marker stands inside a string, never alone on a line. */
  function isQuotation(text: string): boolean {
    if (!mayBeQuotation()) return prose.before && holdsMarker(text);
    return (prose.before && prose.after) || announced || holdsMarker(text);
  }
}

/** An output without events: JSON that is foreign or was cut off keeps its format. */
function formatOfText(text: string): Format {
  const trimmed = text.trim();
  if (/^\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json';
  if (/^\[\s*\{\s*"/.test(trimmed) && isJsonSoFar(trimmed)) return 'json-array';
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1);
  return /^\{"(?:type|session_id|duration_api_ms)":/.test(lastLine) && isCutOff(lastLine) ? 'json' : 'text';
}

function isJsonSoFar(text: string): boolean {
  if (isCutOff(text)) return true;
  const value = tryJson(text);
  return asObject(value) !== null || asArray(value).length > 0;
}

function isCutOff(text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  return createJsonWalker().walk(bytes, 0, bytes.length).kind === 'open';
}
