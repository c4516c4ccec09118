import { promptAmong, PROMPT_PLACES, ROOT_LOOP, ROOT_PROMPTS } from '../prompt/places.ts';
import { oneLine } from '../text/phrase.ts';
import { taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { promptTaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';

type Texts = Readonly<Record<string, string>>;

/** Specifications that every prompt points to, whether or not it names them. */
const SPECIFICATIONS: readonly string[] = ['specs/**', '.ralph/specs/**', '.ralph/SPECS_INDEX.md'];
/** A prompt names no more documents that count. */
const MAX_NAMED = 50;
const MAX_NAME_CHARS = 200;
const MAX_TITLE_CHARS = 120;

/** What to read first to know the prompt, and what it points to without a word: paths, with `**` for all below a folder. */
export function promptFiles(promptFile: string): readonly string[] {
  return [...promptOrNot(promptFile), ...SPECIFICATIONS];
}

/** Files that may be the prompt, and those that tell whether they are. */
function promptOrNot(promptFile: string): readonly string[] {
  return [...new Set([promptFile, ...PROMPT_PLACES, ...ROOT_LOOP, ...ROOT_PROMPTS])];
}

/** Paths of documents (`.md`, `.txt` and the like) that the prompt names: what it asks for may stand there. Files of tasks and the notes of agents are none. */
export function documentsNamed(texts: Texts, promptFile: string): readonly string[] {
  const prompt = promptAmong(texts, promptFile);
  if (prompt === null) return [];
  const found = [...prompt.text.matchAll(DOCUMENT)].flatMap(([, name = '']) => {
    const path = name.replace(/^(?:@?\.\/|@(?=[^/]*\/))/, '');
    // `@specs/api.md` is a way to write it; a file at the root may really be called `@AGENT.md`.
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

/** What agents write as they work: a change of it asks for nothing. */
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
 * The prompt as one open-ended task; null: there is no prompt. `texts`: what `promptFiles` and `documentsNamed` name and
 * the checkout has. Another text in any of them is another task. `sha256`: text → its hash, in hex digits.
 */
export function promptTask(
  texts: Texts,
  { promptFile, sha256 }: { readonly promptFile: string; readonly sha256: (text: string) => string },
): Task | null {
  const prompt = promptAmong(texts, promptFile);
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
    // Whatever has a list comes first, and nothing waits for what has no end of its own.
    optional: true,
    obstacle: null,
  };
}

/** The prompt, unless a list says what to do, done or not: then it is told with each task of the list, and is not one itself. */
export function promptBeside(prompt: Task | null, listed: readonly Pick<Task, 'optional'>[]): readonly Task[] {
  return prompt !== null && listed.every(({ optional }) => optional) ? [prompt] : [];
}

/** The first heading, or the name of the file. */
function titleOf(prompt: string, path: string): string {
  const heading = /^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$/m.exec(prompt)?.[1] ?? '';
  const title = oneLine(heading, MAX_TITLE_CHARS);
  return title === '' ? path.replace(/^.*\//, '') : title;
}
