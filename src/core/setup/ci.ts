/** The name by which GitHub knows a workflow that checks pull requests, as a list of one; empty: it does not check any. `workflow_run` takes names and nothing else. */
export function checkName(path: string, text: string): readonly string[] {
  if (!checksPullRequests(text)) return [];
  const [, written = ''] = /^name:[ \t]*(.*?)[ \t]*(?:[ \t]#.*)?$/m.exec(text) ?? [];
  const name = unquoted(written);
  // A name over several lines, or of an expression, is for a person to copy.
  if (/^[|>]|\$\{\{/.test(name)) return [];
  return [name === '' ? path : name];
}

function unquoted(text: string): string {
  const [, double, single] = /^(?:"((?:[^"\\])*)"|'((?:[^']|'')*)')$/.exec(text) ?? [];
  return double ?? single?.replaceAll("''", "'") ?? text;
}

/** Whether it runs for pull requests, or for pushes to every branch. */
function checksPullRequests(text: string): boolean {
  const triggers = triggersOf(text);
  return triggers.some(
    ({ event, filter }) => event === 'pull_request' || (event === 'push' && !ELSEWHERE.test(filter)),
  );
}

/** Filters that keep pushes to most branches out. */
const ELSEWHERE = /\b(?:branches|tags)\b/;

/** What stands below `on:`, on one line or as a list or a map; `filter`: what stands below an event of a map. */
function triggersOf(text: string): readonly { readonly event: string; readonly filter: string }[] {
  const [, inline = '', block = ''] =
    /^["']?on["']?:[ \t]*([^\n]*)\n((?:[ \t]+[^\n]*(?:\n|$)|[ \t]*(?:#[^\n]*)?\n|-[^\n]*\n)*)/m.exec(text) ?? [];
  const named = inline.replace(/[ \t]#.*$/, '').match(/\w+/g) ?? [];
  if (named.length > 0) return named.map((event) => ({ event, filter: /\{/.test(inline) ? inline : '' }));
  const lines = block.split('\n').filter((line) => !/^\s*(?:#|$)/.test(line));
  const indent = /^\s*/.exec(lines[0] ?? '')?.[0] ?? '';
  const found: { event: string; filter: string }[] = [];
  for (const line of lines) {
    const event = line.startsWith(indent)
      ? /^(?:- *)?["']?(\w+)["']?:?/.exec(line.slice(indent.length))?.[1]
      : undefined;
    const last = found.at(-1);
    if (event !== undefined) found.push({ event, filter: line.slice(line.indexOf(event) + event.length) });
    else if (last !== undefined) last.filter += `\n${line}`;
  }
  return found;
}
