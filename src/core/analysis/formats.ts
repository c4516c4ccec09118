import type { Analysis } from './analysis.ts';
import { decodeKept } from './capped-bytes.ts';
import type { Kept } from './capped-bytes.ts';
import type { CliEvent } from './cli-event.ts';
import { asArray, asObject, tryParseJson } from './json.ts';
import { createJsonWalker } from './json-walker.ts';
import { closesFence, fenceOpenedBy } from './markdown-code.ts';

export type Format = Analysis['format'];

/** Watches the pieces of an output go by and says in the end what they were. */
export interface FormatWitness {
  sawEvent(event: CliEvent, from: 'line' | 'element'): void;
  /** A whole JSON object that is no event of the CLI. */
  sawObject(): void;
  sawText(line: Kept): void;
  /** Whether what comes now is quoted in a Markdown fence, and so no event. A fence after the first event is noise. */
  inFence(): boolean;
  eventCount(): number;
  /** `text`: the output up to its second event. */
  format(text: string): Format;
}

/** So much of a line tells noise from prose. */
const LOOK_BYTES = 256;

export function createFormatWitness(): FormatWitness {
  let events = 0;
  let onlyResults = true;
  let inArray = false;
  let objects = 0;
  let texts = 0;
  let fence: string | null = null;
  const prose = { before: false, after: false };

  return { sawEvent, sawObject: () => void (objects += 1), sawText, inFence: () => fence !== null && events === 0, eventCount: () => events, format };

  function sawEvent(event: CliEvent, from: 'line' | 'element'): void {
    events += 1;
    onlyResults &&= event.kind === 'result';
    inArray ||= from === 'element';
  }

  function sawText(line: Kept): void {
    if (events > 1) return;
    texts += 1;
    const side = events === 0 ? 'before' : 'after';
    const mayBeFence = events === 0 && (line.head.includes(BACKTICK) || line.head.includes(TILDE));
    if (prose[side] && !mayBeFence) return;
    for (const words of decodeKept({ head: line.head.subarray(0, LOOK_BYTES), tail: null }).split('\n')) {
      if (events === 0) fence = fence === null ? fenceOpenedBy(words) : closesFence(words, fence) ? null : fence;
      prose[side] ||= !TOOL_NOISE.test(words);
    }
  }

  function format(text: string): Format {
    if (inArray) return 'json-array';
    if (events > 1) return 'jsonl';
    // One object between two pieces of prose is a quotation.
    if (events === 1 && !(prose.before && prose.after)) return onlyResults ? 'json' : 'jsonl';
    if (events === 0 && objects > 1 && texts === 0) return 'jsonl';
    return formatOfText(text);
  }
}

const BACKTICK = 0x60;
const TILDE = 0x7e;

/** Lines that package managers, runtimes and loggers print around an answer, and blank ones. */
const TOOL_NOISE = /^\s*(?:$|(?:npm|npx|yarn|pnpm|bun|node|warn|warning|notice|info|debug|deprecat|trace)\b|\(node:|\(use |\[|\d{4}-\d\d-\d\d|[>$#]\s)/i;

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
  const value = tryParseJson(text);
  return asObject(value) !== null || asArray(value).length > 0;
}

function isCutOff(text: string): boolean {
  return createJsonWalker().walk(new TextEncoder().encode(text), 0).kind === 'open';
}
