/**
 * Places of a repository's own prompt in order of preference, after the input `prompt-file`. The last ones belong to
 * other Ralph programs.
 */
export const PROMPT_PLACES: readonly string[] = [
  '.ralph/PROMPT.md',
  'PROMPT.md',
  '.ralph/prompts/LOOP_PROMPT.md',
  'scripts/ralph/CLAUDE.md',
  'scripts/ralph/prompt.md',
];

/**
 * The loop and the list of snarktank/ralph at the root. `ROOT_PROMPTS` are prompts only if both of these files exist.
 */
export const ROOT_LOOP: readonly string[] = ['ralph.sh', 'prd.json'];

export const ROOT_PROMPTS: readonly string[] = ['CLAUDE.md', 'prompt.md'];

/** The prompt by which another Ralph prepares a project before its first iteration. */
export const SETUP_PROMPT_PATH = '.ralph/prompts/SETUP_PROMPT.md';

/** The file by which that Ralph marks that the setup prompt has run. */
export const SETUP_MARKER_PATH = '.ralph/.ralph_setup_done';

/** Places of instructions for building and testing, in the order in which they are named to the agent. */
export const INSTRUCTION_PLACES: readonly string[] = ['.ralph/AGENT.md', '.ralph/@AGENT.md', 'AGENT.md', '@AGENT.md'];

/** Folders and files of specifications. */
export const SPECIFICATION_PLACES: readonly string[] = ['.ralph/SPECS_INDEX.md', '.ralph/specs', 'specs'];

/** Logs in which another Ralph's agent keeps what it has learnt about the code. */
export const PROGRESS_PLACES: readonly string[] = ['.ralph/progress.txt', 'scripts/ralph/progress.txt', 'progress.txt'];

/**
 * Returns the places where a run looks for the prompt. `promptFile` is the input `prompt-file`; `there` are those names
 * of `ROOT_LOOP` that exist at the root.
 */
export function listPromptPlaces(promptFile: string, there: readonly string[]): readonly string[] {
  const isRootLoop = ROOT_LOOP.every((name) => there.includes(name));
  return [...new Set([promptFile, ...PROMPT_PLACES, ...(isRootLoop ? ROOT_PROMPTS : [])])];
}

/**
 * Returns the first non-empty prompt among these files (path → text); null if none. The files must include
 * those of `ROOT_LOOP` that exist.
 */
export function findFirstPrompt(
  texts: Readonly<Record<string, string>>,
  promptFile: string,
): { readonly path: string; readonly text: string } | null {
  for (const path of listPromptPlaces(promptFile, Object.keys(texts))) {
    const text = Object.hasOwn(texts, path) ? texts[path] : undefined;
    if (text !== undefined && text.trim() !== '') return { path, text };
  }
  return null;
}

/**
 * Returns the `## Codebase Patterns` sections of another Ralph's logs (path → text), which hold its lasting findings;
 * empty if none.
 */
export function selectCodebasePatterns(texts: Readonly<Record<string, string>>): string {
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
