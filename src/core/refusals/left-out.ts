import type { ObjectId } from '../evidence.ts';
import type { Feedback } from '../feedback/memory.ts';
import { getProgress, withChangedTasks } from '../tasks/queue.ts';
import type { TaskId } from '../tasks/ids.ts';
import {
  isFinished,
  MAX_NAMED_PATH_CHARS,
  MAX_NAMED_PATHS,
  MAX_SERVER_WORDS_CHARS,
  type TaskProgress,
} from '../tasks/task.ts';
import { capText } from '../text/phrase.ts';
import type { LaneState } from '../lane/state/state.ts';
import { withTransition } from '../lane/session.ts';

/** Number of refusals in a row after which a task waits for a person. */
const MAX_REFUSALS = 2;

/** The work that a push lost because the server refused its content, as the journal keeps it. */
export interface LeftOutWork {
  /** Tasks whose commits lost content. */
  readonly tasks: readonly TaskId[];
  /** Files that were left out; empty if all unpushed commits of the tasks were left out. */
  readonly files: readonly string[];
  /** The problem, the remedy and the server's words; redacted. */
  readonly words: string;
  /** Content of the work tree afterwards, as evidence measures it; null if not known. */
  readonly tree: ObjectId | null;
}

/** Returns true if a task waits for a person after the server has refused this part of it. */
export function waitsAfterRefusal(state: LaneState, { files }: Pick<LeftOutWork, 'files'>, id: TaskId): boolean {
  return files.length === 0 || (getProgress(state.tasks, id).refused?.times ?? 0) + 1 >= MAX_REFUSALS;
}

/**
 * Returns the state after the commits were rewritten without the refused content. Their tasks are not done: the next
 * prompt names the file and the server's words. If the file is not known, or the refusal repeats, a person must decide.
 */
export function recordLeftOut(state: LaneState, left: LeftOutWork, now: number): LaneState {
  const settled = left.tasks.reduce((next, id) => refuse(next, id, left, now), state);
  const { lastIteration, currentTask } = settled;
  const isOfLast = lastIteration !== null && left.tasks.includes(lastIteration.taskId ?? '');
  const goesOn = left.tasks.findLast((id) => getProgress(settled.tasks, id).state === 'in-progress') ?? null;
  return {
    ...settled,
    // A task in progress is continued before another task begins.
    currentTask: currentTask !== null && !left.tasks.includes(currentTask) ? currentTask : goesOn,
    feedback: withoutAnswers(settled.feedback, left.tasks),
    lastIteration:
      lastIteration === null
        ? null
        : {
            ...lastIteration,
            tree: left.tree ?? lastIteration.tree,
            hints: isOfLast
              ? [...new Set([...lastIteration.hints.filter((code) => code !== 'withheld'), 'push_refused' as const])]
              : lastIteration.hints,
          },
  };
}

function refuse(state: LaneState, id: TaskId, left: LeftOutWork, now: number): LaneState {
  const before = getProgress(state.tasks, id);
  const waits = waitsAfterRefusal(state, left, id);
  const task: TaskProgress = {
    ...before,
    state: waits ? 'blocked' : 'in-progress',
    reason: waits ? 'push_refused' : null,
    doneCommit: null,
    unmarked: undefined,
    refused: {
      times: (before.refused?.times ?? 0) + 1,
      words: capText(left.words, MAX_SERVER_WORDS_CHARS),
      files: left.files.slice(0, MAX_NAMED_PATHS).map((path) => capText(path, MAX_NAMED_PATH_CHARS)),
    },
  };
  return withTransition(
    { ...state, tasks: { ...state.tasks, [id]: task } },
    { at: now, subject: 'task', from: `${id} ${before.state}`, to: task.state, reason: 'push_refused' },
  );
}

/** Removes the answers to people or CI whose commits were lost. */
function withoutAnswers(feedback: Feedback, ids: readonly TaskId[]): Feedback {
  const items = Object.entries(feedback.items).map(
    ([id, item]) => [id, ids.includes(id) ? { ...item, answer: null } : item] as const,
  );
  return { ...feedback, items: Object.fromEntries(items) };
}

/**
 * Returns the state with the new ids of rewritten commits. `places`: old id → new id, null if the commit no longer
 * exists.
 */
export function withRenamedCommits(state: LaneState, places: Readonly<Record<ObjectId, ObjectId | null>>): LaneState {
  const newIdOf = (id: ObjectId | null): ObjectId | null =>
    id !== null && Object.hasOwn(places, id) ? (places[id] ?? null) : id;
  const tasks = Object.entries(state.tasks).map(
    ([id, progress]) => [id, { ...progress, doneCommit: newIdOf(progress.doneCommit) }] as const,
  );
  const shares = Object.entries(state.change.tasks).map(([id, share]) => {
    const commits = share.commits.map(newIdOf).filter((commit) => commit !== null);
    return [id, { ...share, commits, commitCount: share.commitCount - share.commits.length + commits.length }] as const;
  });
  return { ...state, tasks: Object.fromEntries(tasks), change: { ...state.change, tasks: Object.fromEntries(shares) } };
}

/** Returns the state after the server has accepted all commits: refusals of finished tasks are cleared. */
export function acceptWork(state: LaneState): LaneState {
  const isOver = (progress: TaskProgress): boolean => isFinished(progress) && progress.refused !== undefined;
  const over = Object.keys(state.tasks).filter((id) => isOver(getProgress(state.tasks, id)));
  if (over.length === 0) return state;
  return { ...state, tasks: withChangedTasks(state.tasks, over, (progress) => ({ ...progress, refused: undefined })) };
}
