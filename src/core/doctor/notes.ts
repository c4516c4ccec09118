/** Names that a line of a code block begins with when it is a shell's. */
const SHELLS = ['', 'sh', 'bash', 'shell', 'console', 'zsh', 'text'];
const MAX_COMMANDS = 50;

/** Commands that notes for an agent name: lines of shell blocks, indented lines, and `Tests: \`npm test\``. */
export function commandsIn(markdown: string): readonly string[] {
  const found: string[] = [];
  let fence: { readonly mark: string; readonly isShell: boolean } | null = null;
  for (const line of markdown.split(/\r?\n/)) {
    const [, mark = '', language = ''] = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line) ?? [];
    if (fence !== null) {
      if (mark.startsWith(fence.mark)) fence = null;
      else if (fence.isShell) found.push(line);
    } else if (mark !== '') fence = { mark, isShell: SHELLS.includes(language.toLowerCase()) };
    else if (/^(?: {4}|\t)/.test(line) && !/^\s+[-*+\d]/.test(line)) found.push(line);
    else {
      const named = /^[^`]*:\**\s*`([^`]+)`[\s.]*$/.exec(line)?.[1];
      if (named !== undefined) found.push(named);
    }
  }
  return found
    .map((line) => line.trim().replace(/^\$\s+/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
    .slice(0, MAX_COMMANDS);
}
