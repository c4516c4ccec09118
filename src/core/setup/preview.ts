import type { FileChange } from './ownership.ts';

/** Renders a change as lines of a unified diff with a single hunk; empty if nothing changes. */
export function renderFileDiff(change: FileChange): readonly string[] {
  if (!('before' in change)) return [];
  const before = splitDiffLines(change.before ?? '');
  const after = 'after' in change ? splitDiffLines(change.after) : [];
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const from = Math.max(0, start - CONTEXT_LINES);
  const tail = Math.min(end, CONTEXT_LINES);
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  const kept = before.slice(from, start);
  const behind = before.slice(before.length - end, before.length - end + tail);
  const range = (lines: number): string => {
    const count = kept.length + lines + behind.length;
    return `${count === 0 ? 0 : from + 1},${count}`;
  };
  return [
    change.before === null ? '--- /dev/null' : `--- a/${change.path}`,
    change.kind === 'delete' ? '+++ /dev/null' : `+++ b/${change.path}`,
    `@@ -${range(removed.length)} +${range(added.length)} @@`,
    ...kept.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...behind.map((line) => ` ${line}`),
  ];
}

const CONTEXT_LINES = 3;

function splitDiffLines(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
