import { PROGRESS_PLACES } from './places.ts';

/** Of the logs that agents of another Ralph keep (path → text), the part that is for every later iteration: below `## Codebase Patterns`. Empty: there is none. */
export function codebasePatterns(texts: Readonly<Record<string, string>>): string {
  for (const path of PROGRESS_PLACES) {
    const text = Object.hasOwn(texts, path) ? (texts[path] ?? '') : '';
    const lines = text.split(/\r?\n/);
    const start = lines.findIndex((line) => /^#{1,6}[ \t]+codebase patterns\b/i.test(line));
    if (start === -1) continue;
    const rest = lines.slice(start + 1);
    const end = rest.findIndex((line) => /^(?:#{1,6}[ \t]|-{3,}[ \t]*$)/.test(line));
    const found = (end === -1 ? rest : rest.slice(0, end)).join('\n').trim();
    if (found !== '') return found;
  }
  return '';
}
