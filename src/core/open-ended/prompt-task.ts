import { findFirstPrompt, PROMPT_PLACES, ROOT_LOOP, ROOT_PROMPTS } from '../prompt/places.ts';
import { toOneLine } from '../text/phrase.ts';
import { taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { formatPromptTaskId, isPromptTask, type TaskId } from '../tasks/ids.ts';
import { type Task, isFinished } from '../tasks/task.ts';
import { getProgress } from '../tasks/queue.ts';
import type { Outcome } from '../outcome.ts';
import type { LaneState } from '../lane/state/state.ts';
import { withTransition } from '../lane/session.ts';

type Texts = Readonly<Record<string, string>>;

/** Specifications that belong to every prompt, even if it does not name them. */
const SPECIFICATIONS: readonly string[] = ['specs/**', '.ralph/specs/**', '.ralph/SPECS_INDEX.md'];
/** Maximum number of named documents that are read. */
const MAX_NAMED = 50;
const MAX_NAME_CHARS = 200;
const MAX_TITLE_CHARS = 120;

/**
 * Returns the paths to read first: candidates for the prompt, and specifications (`**` matches everything in a folder).
 */
export function listPromptFiles(promptFile: string): readonly string[] {
  return [...promptCandidates(promptFile), ...SPECIFICATIONS];
}

/**
 * Returns the files that can be the prompt, and another Ralph's root files, without which `ROOT_PROMPTS` are ignored.
 */
function promptCandidates(promptFile: string): readonly string[] {
  return [...new Set([promptFile, ...PROMPT_PLACES, ...ROOT_LOOP, ...ROOT_PROMPTS])];
}

/**
 * Returns the paths of documents (such as `.md` and `.txt`) that the prompt names, because they may contain the
 * request. Task files and agents' notes are left out.
 */
export function findNamedDocuments(texts: Texts, promptFile: string): readonly string[] {
  const prompt = findFirstPrompt(texts, promptFile);
  if (prompt === null) return [];
  const found = [...prompt.text.matchAll(DOCUMENT)].flatMap(([, name = '']) => {
    const path = name.replace(/^(?:@?\.\/|@(?=[^/]*\/))/, '');
    // `@specs/api.md` is a way to reference a file, but a root file may really be called `@AGENT.md`, so both names are
    // tried.
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

/** Returns true if agents update this file as they work, so that a change in it is not a new request. */
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
 * Returns the prompt as one open-ended task, or null if there is no prompt. `texts` are the existing files of
 * `listPromptFiles` and `findNamedDocuments`. The task's id is a hash of these files, so a change in any of them makes
 * a new task. `sha256` returns a text's hash in hex digits.
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
    // Listed tasks come first and never wait for an open-ended task, so it is optional.
    optional: true,
    obstacle: null,
  };
}

/**
 * Returns the prompt as the only task if there are no required tasks, done or open; otherwise returns an empty list,
 * because the prompt then only accompanies the listed tasks.
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

/**
 * Returns true if the run ended because the agent claimed completion repeatedly. A prompt cannot be completed in any
 * other way.
 */
export function endsOpenEnded({ kind, reason }: Outcome): boolean {
  return kind === 'complete' && reason !== 'plan_complete';
}

/**
 * Returns the state at the end of a run that worked on `taskId`. If that task is a prompt and the run is complete, the
 * task is finished at `commit`.
 */
export function settleOpenEnded(
  state: LaneState,
  { outcome, taskId, commit }: { readonly outcome: Outcome; readonly taskId: TaskId | null; readonly commit: string },
  now: number,
): LaneState {
  if (taskId === null || !isPromptTask(taskId) || !endsOpenEnded(outcome)) return state;
  const before = getProgress(state.tasks, taskId);
  const finished = { ...before, state: 'finished' as const, reason: null, setAside: null, doneCommit: commit };
  return withTransition(
    { ...state, tasks: { ...state.tasks, [taskId]: finished }, currentTask: null },
    { at: now, subject: 'task', from: `${taskId} ${before.state}`, to: 'finished', reason: outcome.reason },
  );
}

/**
 * Returns the state with a finished task recorded under another id as well. A prompt's id changes with its documents,
 * and the run's own changes to them must not start the task again.
 */
export function markDoneUnder(state: LaneState, taskId: TaskId, other: TaskId): LaneState {
  const done = getProgress(state.tasks, taskId);
  return !isFinished(done) || other === taskId ? state : { ...state, tasks: { ...state.tasks, [other]: done } };
}
