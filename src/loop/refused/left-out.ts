import { serializeEvent } from '../../core/journal/journal.ts';
import { withLeftOutFiles } from '../../core/lane/change.ts';
import {
  type LeftOutWork,
  recordLeftOut,
  waitsAfterRefusal,
  withRenamedCommits,
} from '../../core/refusals/left-out.ts';
import type { LaneState } from '../../core/lane/state/state.ts';
import { explainRefusal, findRefusedPaths, type Refusal } from '../../core/refusals/refusal.ts';
import { isForPath } from '../../core/refusals/server-rules.ts';
import { listFirstNames, completeSentence } from '../../core/text/phrase.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import { getProgress } from '../../core/tasks/queue.ts';
import type { Work } from '../../handover/intake.ts';
import { judgeUnverifiedHead } from '../../handover/clear-head.ts';
import type { RefusedPath, Repository } from '../../ports/repository.ts';
import type { RemadeCommits, Remote } from '../../ports/remote.ts';
import type { LoopDeps } from '../deps.ts';

/** The dependencies of leaving content out of the branch. `repository` is null if the work tree is in another job. */
export interface LeaveOutDeps extends Pick<LoopDeps, 'config' | 'clock' | 'log' | 'redact'> {
  readonly remote: Pick<Remote, 'pathsByTask' | 'remakeCommitsWithout' | 'probePush'>;
  readonly repository: Pick<LoopDeps['repository'], 'takeHead' | 'snapshot'> | null;
  readonly appendJournal: LoopDeps['appendJournal'] | null;
  readonly record: LoopDeps['record'] | null;
}

/** The reason that is kept with each file that the server refused. */
const LEFT_OUT_BY_SERVER = 'the git server refused it';

/**
 * Removes refused content from the commits that the server does not have yet: the files that it names (`byFile`),
 * otherwise the work of one task if the others are accepted without it, otherwise all work. The rest stays as it was
 * committed.
 */
export async function leaveRefusedOut(
  deps: LeaveOutDeps,
  work: Work,
  { refusal, byFile }: { readonly refusal: Refusal; readonly byFile: boolean },
): Promise<Work> {
  const { remote } = deps;
  const range = { commit: work.head, since: work.remoteHead ?? work.base };
  const byTask = await remote.pathsByTask(range);
  const named = byFile ? findRefusedPaths(refusal, [...new Set(byTask.flatMap(({ paths }) => paths))]) : [];
  const remade = named.length === 0 ? null : await remote.remakeCommitsWithout({ ...range, paths: named });
  if (remade !== null) return withoutFiles(deps, work, { refusal, remade, paths: named });
  for (const { task, paths } of byTask.length > 1 ? byTask : []) {
    const without = await remote.remakeCommitsWithout({ ...range, paths });
    const isTaken =
      without !== null &&
      (await remote.probePush(work.lane.branch, { at: without.head, since: range.since })).kind === 'pushed';
    if (isTaken) return withoutTasks(deps, work, { refusal, remade: without, tasks: [task] });
  }
  const none = { head: range.since, places: placesOfUnpushed(work), tasks: [] };
  return withoutTasks(deps, work, { refusal, remade: none, tasks: byTask.map(({ task }) => task) });
}

async function withoutFiles(
  deps: LeaveOutDeps,
  work: Work,
  {
    refusal,
    remade,
    paths,
  }: { readonly refusal: Refusal; readonly remade: RemadeCommits; readonly paths: readonly string[] },
): Promise<Work> {
  const { log, redact } = deps;
  const words = redact(explainRefusal(refusal));
  const why = redact(`${LEFT_OUT_BY_SERVER}: ${refusal.words === '' ? refusal.meaning : refusal.words}`).slice(0, 250);
  const refused = paths.map((path): RefusedPath => ({ path, why, refusesAnyContent: isForPath(refusal.rule) }));
  // A task that waits for a person must not leave files in the work tree, which would look like work of the next task,
  // so remove them.
  const isLeft = remade.tasks.some((id) => waitsAfterRefusal(work.state, { files: paths }, id));
  const workTree = isLeft ? 'reset' : 'as-it-is';
  log.warning(
    `The git server refused ${listFirstNames(paths.map(redact))}, so ${paths.length === 1 ? 'it is' : 'they are'} left out of the branch and the rest is pushed. ${completeSentence(words)}`,
  );
  const tree = await takeHead(deps, { head: remade.head, refused, workTree });
  const left = { tasks: remade.tasks, files: paths.map(redact), words, tree };
  const state = recordLeftOutInJournal(deps, withRenamedCommits(work.state, remade.places), left);
  const change = withLeftOutFiles(state.change, {
    begun: work.stateBefore.change,
    ofRun: [],
    now: [...state.change.leftOut, ...refused].map(({ path, why: reason }) => ({ path: redact(path), why: reason })),
    published: [],
  });
  return recordedWork(deps, work, {
    head: remade.head,
    journal: withReplacedCommits(work, remade),
    state: { ...state, change },
    withheld: [...work.withheld, ...refused.map(({ path }) => ({ path, why }))],
  });
}

async function withoutTasks(
  deps: LeaveOutDeps,
  work: Work,
  {
    refusal,
    remade,
    tasks,
  }: { readonly refusal: Refusal; readonly remade: RemadeCommits; readonly tasks: readonly TaskId[] },
): Promise<Work> {
  const { log, redact } = deps;
  const words = redact(explainRefusal(refusal));
  log.warning(
    `The git server refused the commits for ${listFirstNames(tasks.map(redact))} and names no file that can be left out, so none of them is pushed, and a person is asked. ${completeSentence(words)}`,
  );
  const tree = await takeHead(deps, { head: remade.head, refused: [], workTree: 'reset' });
  const left = { tasks: tasks.filter((id) => id !== ''), files: [], words, tree };
  return recordedWork(deps, work, {
    head: remade.head,
    journal: withReplacedCommits(work, remade),
    state: recordLeftOutInJournal(deps, withRenamedCommits(work.state, remade.places), left),
    withheld: work.withheld,
  });
}

/** Records in the state and in the journal the content that the git server refused and the branch therefore lacks. */
export function recordLeftOutInJournal(
  { clock, appendJournal }: Pick<LeaveOutDeps, 'clock' | 'appendJournal'>,
  state: LaneState,
  left: LeftOutWork,
): LaneState {
  const leftOutAt = clock.now();
  appendJournal?.(serializeEvent({ kind: 'left-out', version: 1, lane: state.lane, leftOutAt, ...left }));
  return recordLeftOut(state, left, leftOutAt);
}

/**
 * Sets a task aside if the agent claims that it is done while its refused file is unchanged in the work tree, because
 * the push after another call would be refused in the same way.
 */
export async function setAsideIfStillRefused(deps: Omit<LeaveOutDeps, 'remote'>, work: Work): Promise<Work> {
  const last = work.journal.at(-1);
  if (last === undefined) return work;
  const { state, refused } = getProgress(work.state.tasks, last.taskId);
  const isThere = refused?.files.some((path) => last.evidence.withheld.includes(path)) ?? false;
  const isClaimed = last.verdict.discrepancies.length > 0;
  if (refused === undefined || state !== 'in-progress' || !isThere || !isClaimed) return work;
  const tree = await takeHead(deps, { head: work.head, refused: [], workTree: 'reset' });
  const left = { tasks: [last.taskId], files: refused.files, words: refused.words, tree };
  const next = { ...work, state: recordLeftOutInJournal(deps, work.state, left) };
  deps.record?.(next);
  return next;
}

/** Maps each commit that the server does not have to null, which means that the commit was left out. */
function placesOfUnpushed({ journal, lastPublished }: Work): RemadeCommits['places'] {
  const lost = journal.slice(lastPublished.iterations).flatMap(({ commit }) => (commit === null ? [] : [commit]));
  return Object.fromEntries(lost.map((id) => [id, null]));
}

async function takeHead(
  { repository }: Pick<LeaveOutDeps, 'repository'>,
  remade: Parameters<Repository['takeHead']>[0],
): Promise<string | null> {
  if (repository === null) return null;
  await repository.takeHead(remade);
  return (await repository.snapshot()).tree;
}

function withReplacedCommits({ journal }: Work, { places }: Pick<RemadeCommits, 'places'>): Work['journal'] {
  return journal.map((entry) => {
    const { commit } = entry;
    return commit !== null && Object.hasOwn(places, commit) ? { ...entry, commit: places[commit] ?? null } : entry;
  });
}

function recordedWork(
  deps: LeaveOutDeps,
  work: Work,
  now: Pick<Work, 'head' | 'journal' | 'state' | 'withheld'>,
): Work {
  const left = { ...work, ...now, hasNewCommits: now.head !== work.base };
  const next = deps.repository === null ? judgeUnverifiedHead(left, deps) : left;
  deps.record?.(next);
  return next;
}
