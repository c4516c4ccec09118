import { findStatusBlock, hasBlockMarker } from './status-block.ts';

/** Renders an agent's message for people who follow a run: SUMMARY and QUESTION replace the status block. */
export function renderSpokenText(text: string): string {
  if (!hasBlockMarker(text)) return text;
  const lines = text.split(/\r\n?|\n/);
  const first = lines.findIndex(hasBlockMarker);
  const last = lines.findLastIndex(hasBlockMarker);
  // A block without an end marker extends to the end of the message, so nothing follows it.
  const end = last === first ? lines.length : last + 1;
  const { block } = findStatusBlock(lines.slice(first, end).map((line) => ({ text: line, within: 'prose' })));
  return [...lines.slice(0, first), block?.summary, block?.asks, ...lines.slice(end)]
    .filter((line): line is string => line !== undefined && line !== null && !FENCE_ALONE.test(line))
    .join('\n')
    .trim();
}

/** Matches a fence that some agents put around their block. */
const FENCE_ALONE = /^\s*(?:`{3,}|~{3,})(?:text|yaml)?\s*$/;
