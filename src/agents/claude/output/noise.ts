import { decodeKept } from '../../reading/capped-bytes.ts';
import { LINE_FEED } from '../../reading/line-ends.ts';
import { CARRIAGE_RETURN, SPACE } from './line-bytes.ts';

/** So much of a line is enough to tell noise from prose. */
const LOOK_CHARS = 256;
const MIN_PROSE_CHARS = 12;

/** Whether the last line announces what comes next; blank ones leave it at that. */
export function announces(lines: Uint8Array, before: boolean): boolean {
  let end = lines.length;
  while (end > 0 && (lines[end - 1] ?? 0) <= SPACE) end -= 1;
  if (end === 0) return before;
  if (lines[end - 1] !== COLON) return false;
  const start = lines.lastIndexOf(LINE_FEED, end - 1) + 1;
  const line = lines.subarray(Math.max(start, end - LOOK_CHARS), end);
  return hasProse(line) && !LOG.test(decodeKept({ head: line, tail: null }));
}

const COLON = 0x3a;

/** Whether one of the lines is a sentence, as far as its beginning shows. */
export function hasProse(lines: Uint8Array): boolean {
  return hasLongLine(lines) && PROSE.test(decodeKept({ head: lines, tail: null }));
}

/** A cheap look: tiny lines cost more to decode than to read. */
function hasLongLine(lines: Uint8Array): boolean {
  let start = 0;
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] === LINE_FEED) start = at + 1;
    else if (at - start >= MIN_PROSE_CHARS - 1 && lines[at] !== CARRIAGE_RETURN) return true;
  }
  return false;
}

/** Lines that package managers, runtimes and loggers print around an answer. */
const TOOL_NOISE = String.raw`[^\S\n]*(?:(?:npm|npx|yarn|pnpm|bun|node|warn|warning|notice|info|debug|deprecat\w*|trace)\b|\(node:|\(use |\[|\d{4}-\d\d-\d\d|[>$#]\s)`;
/** The small words that make sentences; `Starting up…` and `Done in 3s.` have none. */
const SENTENCE = String.raw`\b(?:i|we|it|this|that|these|those|the|both|is|are|was|were|so|as|what|which|here)\b`;
const PROSE = new RegExp(
  String.raw`(?:^|\n)(?=[^\r\n]{${String(MIN_PROSE_CHARS)}})(?!${TOOL_NOISE})[^\n]{0,${String(LOOK_CHARS)}}?${SENTENCE}`,
  'i',
);
/** `Using the settings of this container:` says what a tool does, `Running it prints this:` what somebody saw. */
const LOG =
  /^\s*[A-Z][a-z]+ing\b(?!.*\b(?:i|we|it|is|are|was|were|what|here|(?:print|output|show|return|give|say|report|write)\w*|gave|wrote|said)\b)/i;
