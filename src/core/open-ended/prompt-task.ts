import { firstPromptIn, PROMPT_PLACES, ROOT_LOOP, ROOT_PROMPTS } from '../prompt/places.ts';
import { oneLine } from '../text/phrase.ts';
import { taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { promptTaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';

type Texts = Readonly<Record<string, string>>;

/** Specifications that every prompt refers to, even without naming them. */
const SPECIFICATIONS: readonly string[] = ['specs/**', '.ralph/specs/**', '.ralph/SPECS_INDEX.md'];
/** Maximum number of documents named by a prompt that count. */
const MAX_NAMED = 50;
const MAX_NAME_CHARS = 200;
const MAX_TITLE_CHARS = 120;

/** Returns the files to read first: the prompt and what it implicitly refers to, as paths, with `**` for everything below a folder. */
export function promptFiles(promptFile: string): readonly string[] {
  return [...promptOrNot(promptFile), ...SPECIFICATIONS];
}

/** Returns files that may be the prompt, and those that decide whether they are. */
function promptOrNot(promptFile: string): readonly string[] {
  return [...new Set([promptFile, ...PROMPT_PLACES, ...ROOT_LOOP, ...ROOT_PROMPTS])];
}

/**
 * Returns the paths of documents (`.md`, `.txt` and the like) that the prompt names, since they may contain the
 * request. Task files and agents' notes do not count.
 */
export function documentsNamed(texts: Texts, promptFile: string): readonly string[] {
  const prompt = firstPromptIn(texts, promptFile);
  if (prompt === null) return [];
  const found = [...prompt.text.matchAll(DOCUMENT)].flatMap(([, name = '']) => {
    const path = name.replace(/^(?:@?\.\/|@(?=[^/]*\/))/, '');
    // `@specs/api.md` is one way to write it; a file at the root may really be called `@AGENT.md`.
    return path.startsWith('@') ? [path, path.slice(1)] : [path];
  });
  return [...new Set(found)].filter((path) => isDocument(path, texts)).slice(0, MAX_NAMED);
}

const DOCUMENT =
  /(?<![\w@/.:-])(@?(?:[\w.-]{1,80}\/){0,6}[\w.@-]{1,80}\.(?:md|mdx|markdown|txt|rst|adoc|org))(?![\w/-])/gi;

function isDocument(path: string, texts: Texts): boolean {
  return (
    path.length <= MAX_NAME_CHARS &&
    !path.split('/').includes('..') &&
    !Object.hasOwn(texts, path) &&
    !isKeptByAgents(path)
  );
}

/** Tells whether agents write this file as they work: a change of it asks for nothing. */
function isKeptByAgents(path: string): boolean {
  const name = path.replace(/^.*\//, '').replace(/^@/, '').toLowerCase();
  return KEPT_BY_AGENTS.has(name) || Object.values(taskFilePaths).some((paths) => paths.includes(path));
}

const KEPT_BY_AGENTS: ReadonlySet<string> = new Set([
  'agent.md',
  'agents.md',
  'claude.md',
  'changelog.md',
  'fix_plan.md',
  'implementation_plan.md',
  'learnings.md',
  'learnings_archive.md',
  'progress.md',
  'progress.txt',
  'readme.md',
]);

/**
 * Returns the prompt as one open-ended task, or null if there is no prompt. `texts` are the files of `promptFiles` and
 * `documentsNamed` that the checkout has. A change in any of them makes another task. `sha256` returns the hash of a
 * text in hex digits.
 */
export function promptTask(
  texts: Texts,
  { promptFile, sha256 }: { readonly promptFile: string; readonly sha256: (text: string) => string },
): Task | null {
  const prompt = firstPromptIn(texts, promptFile);
  if (prompt === null) return null;
  const places = promptOrNot(promptFile);
  const documents = Object.keys(texts)
    .filter((path) => !places.includes(path))
    .sort();
  const content = [prompt.path, ...documents].map((path) => [path, texts[path]]);
  return {
    id: promptTaskId(sha256(JSON.stringify(content))),
    title: titleOf(prompt.text, prompt.path),
    body: '',
    source: { kind: 'prompt', path: prompt.path, documents },
    comments: [],
    priority: 1,
    dependsOn: [],
    // Listed tasks come first, and no other task waits for one without an end of its own.
    optional: true,
    obstacle: null,
  };
}

/** Returns the prompt, unless a list contains tasks, done or not: then it accompanies each task of the list and is not a task itself. */
export function promptBeside(prompt: Task | null, listed: readonly Pick<Task, 'optional'>[]): readonly Task[] {
  return prompt !== null && listed.every(({ optional }) => optional) ? [prompt] : [];
}

/** Returns the first heading, or the name of the file. */
function titleOf(prompt: string, path: string): string {
  const heading = /^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$/m.exec(prompt)?.[1] ?? '';
  const title = oneLine(heading, MAX_TITLE_CHARS);
  return title === '' ? path.replace(/^.*\//, '') : title;
}
