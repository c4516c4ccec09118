import { findFirstPrompt, PROMPT_PLACES, ROOT_LOOP, ROOT_PROMPTS } from '../prompt/places.ts';
import { toOneLine } from '../text/phrase.ts';
import { taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { formatPromptTaskId } from '../tasks/ids.ts';
import type { Task } from '../tasks/task.ts';

type Texts = Readonly<Record<string, string>>;

/** Specifications that every prompt refers to, even without naming them. */
const SPECIFICATIONS: readonly string[] = ['specs/**', '.ralph/specs/**', '.ralph/SPECS_INDEX.md'];
/** Maximum number of documents named by a prompt that count. */
const MAX_NAMED = 50;
const MAX_NAME_CHARS = 200;
const MAX_TITLE_CHARS = 120;

/**
 * Returns the paths to read first: the candidates for the prompt, and the specifications (`**` is everything below a
 * folder).
 */
export function listPromptFiles(promptFile: string): readonly string[] {
  return [...promptCandidates(promptFile), ...SPECIFICATIONS];
}

/**
 * Returns the files that can be the prompt, with those of another Ralph at the root whose presence makes `ROOT_PROMPTS`
 * count.
 */
function promptCandidates(promptFile: string): readonly string[] {
  return [...new Set([promptFile, ...PROMPT_PLACES, ...ROOT_LOOP, ...ROOT_PROMPTS])];
}

/**
 * Returns the paths of documents (such as `.md` and `.txt`) that the prompt names, since they may contain the request.
 * Task files and agents' notes do not count.
 */
export function findNamedDocuments(texts: Texts, promptFile: string): readonly string[] {
  const prompt = findFirstPrompt(texts, promptFile);
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

/** Returns true if agents keep this file up to date as they work, so that a change in it is not a new request. */
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
 * Returns the prompt as one open-ended task, or null if there is no prompt. `texts` are the files of `listPromptFiles`
 * and `findNamedDocuments` that the checkout has. The task's id is a hash of them, so a change in any of them is a new
 * task. `sha256` returns the hash of a text in hex digits.
 */
export function createPromptTask(
  texts: Texts,
  { promptFile, sha256 }: { readonly promptFile: string; readonly sha256: (text: string) => string },
): Task | null {
  const prompt = findFirstPrompt(texts, promptFile);
  if (prompt === null) return null;
  const places = promptCandidates(promptFile);
  const documents = Object.keys(texts)
    .filter((path) => !places.includes(path))
    .sort();
  const content = [prompt.path, ...documents].map((path) => [path, texts[path]]);
  return {
    id: formatPromptTaskId(sha256(JSON.stringify(content))),
    title: titleFromHeading(prompt.text, prompt.path),
    body: '',
    source: { kind: 'prompt', path: prompt.path, documents },
    comments: [],
    priority: 1,
    dependsOn: [],
    // Listed tasks come first, and none of them waits for an open-ended one.
    optional: true,
    obstacle: null,
  };
}

/**
 * Returns the prompt as the only task if no list contains tasks, done or not. Beside a list it only accompanies the
 * list's tasks.
 */
export function selectPromptTask(prompt: Task | null, listed: readonly Pick<Task, 'optional'>[]): readonly Task[] {
  return prompt !== null && listed.every(({ optional }) => optional) ? [prompt] : [];
}

/** Returns the first heading, or the name of the file. */
function titleFromHeading(prompt: string, path: string): string {
  const heading = /^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$/m.exec(prompt)?.[1] ?? '';
  const title = toOneLine(heading, MAX_TITLE_CHARS);
  return title === '' ? path.replace(/^.*\//, '') : title;
}
