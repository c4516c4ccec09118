/** Where a repository's own prompt may be, first choice first, behind what the input `prompt-file` names. The last ones are those of other Ralphs. */
export const PROMPT_PLACES: readonly string[] = [
  '.ralph/PROMPT.md',
  'PROMPT.md',
  '.ralph/prompts/LOOP_PROMPT.md',
  'scripts/ralph/CLAUDE.md',
  'scripts/ralph/prompt.md',
];

/** The loop and the list of snarktank/ralph, which it may lay at the root. Beside both, and nowhere else, these are its prompts. */
export const ROOT_LOOP: readonly string[] = ['ralph.sh', 'prd.json'];

export const ROOT_PROMPTS: readonly string[] = ['CLAUDE.md', 'prompt.md'];

/** The prompt of a Ralph that prepares a project before its first iteration, and the file that says that it did. */
export const SETUP_PROMPT_PATH = '.ralph/prompts/SETUP_PROMPT.md';

export const SETUP_MARKER_PATH = '.ralph/.ralph_setup_done';

/** Where the instructions for building and testing may be, in the order in which they are named. */
export const INSTRUCTION_PLACES: readonly string[] = ['.ralph/AGENT.md', '.ralph/@AGENT.md', 'AGENT.md', '@AGENT.md'];

/** Folders and files of specifications. */
export const SPECIFICATION_PLACES: readonly string[] = ['.ralph/SPECS_INDEX.md', '.ralph/specs', 'specs'];

/** Logs in which another Ralph's agent keeps what it has learnt of the code. */
export const PROGRESS_PLACES: readonly string[] = ['.ralph/progress.txt', 'scripts/ralph/progress.txt', 'progress.txt'];

/** Where a run looks for the prompt. `promptFile`: the input `prompt-file`; `there`: names at the root, as far as `ROOT_LOOP` lists them. */
export function promptPlaces(promptFile: string, there: readonly string[]): readonly string[] {
  const isRootLoop = ROOT_LOOP.every((name) => there.includes(name));
  return [...new Set([promptFile, ...PROMPT_PLACES, ...(isRootLoop ? ROOT_PROMPTS : [])])];
}

/** Of these files, path → text, the one that is the prompt: the first that says anything; null: none does. Those of `ROOT_LOOP` are among them if they are there. */
export function promptAmong(
  texts: Readonly<Record<string, string>>,
  promptFile: string,
): { readonly path: string; readonly text: string } | null {
  for (const path of promptPlaces(promptFile, Object.keys(texts))) {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    if (text !== undefined && text.trim() !== '') return { path, text };
  }
  return null;
}

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
