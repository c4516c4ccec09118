import { serializeEvent, serializeStart } from '../core/journal/journal.ts';
import { addRun, withMeasuredSizes } from '../core/lane/change.ts';
import { buildVerificationSubject } from '../core/lane/verification.ts';
import { createRunSoFar } from '../core/lane/decide.ts';
import { type LoopAction, type LoopSituation, decideLoopAction, FACTS_AT_START } from '../core/loop/next-action.ts';
import {
  findNamedDocuments,
  listPromptFiles,
  createPromptTask,
  markDoneUnder,
  settleOpenEnded,
} from '../core/open-ended/prompt-task.ts';
import type { Outcome } from '../core/outcome.ts';
import { compactLearnings, locateNotebook } from '../core/prompt/learnings.ts';
import type { FileTask } from '../core/tasks/files/form/root-plan.ts';
import { isFinished, type Task } from '../core/tasks/task.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import { beginWork, type Work, type WorkIntake } from '../handover/intake.ts';
import type { FileTexts } from '../ports/repository.ts';
import { performAction, type RunNow } from './actions.ts';
import type { LoopDeps } from './deps.ts';
import { listFileSources } from './marks.ts';
import { FACTS_OF_PROPOSAL, proposeTasks, situationOfProposal } from './proposal.ts';
import { createTurns, openFirstAgent } from './turns.ts';
import { createOrderPoll } from './people/order-poll.ts';

/** A file to write; `old` is its published text, or null if the file does not exist. */
interface Rewrite {
  readonly path: string;
  readonly old: string | null;
  readonly text: string;
}

const PRD_PATH = '.ralph/prd.json';

/** The files to write. `obstacle` is the problem that keeps others from being written, or null if none. */
interface Rewrites {
  readonly rewrites: readonly Rewrite[];
  readonly obstacle: string | null;
}

/**
 * Turns an intake into work: iterates until a limit, a decision or a person ends the run. `decideLoopAction` decides
 * what to do next, and the loop performs it and asks again.
 */
export async function runIterations(given: LoopDeps, intake: WorkIntake): Promise<Work> {
  const leaveTree = await given.repository.checkOutTree(given.signal);
  try {
    const { policy } = given.config;
    const turns = createTurns(given);
    const first = await openFirstAgent(turns, { state: intake.state, policy, now: given.clock.now() });
    const work = begin(given, intake, { state: first.state, agent: first.opened.called });
    const soFar = createRunSoFar(work.state, work.startedAt);
    const isProposal = work.proposal !== null;
    const known = isProposal ? FACTS_OF_PROPOSAL : FACTS_AT_START;
    let run: RunNow = { work, soFar, policy, known, baseTests: null };
    const setting = { turns, askOrders: createOrderPoll(given), opened: intake.opened };
    for (;;) {
      // Waiting changes the limits of the run, so use its present policy.
      const deps: LoopDeps = { ...given, config: { ...given.config, policy: run.policy } };
      const situation = situationOf(deps, run);
      const action = decideLoopAction(isProposal ? situationOfProposal(situation) : situation);
      if (isProposal && action.kind === 'iterate')
        return recorded(deps, await proposeTasks(deps, run, { turns, action }));
      if (isProposal && action.kind === 'end') return breakOff(deps, run.work, action.ending.outcome);
      if (action.kind === 'end') return await concludeRun(deps, run.work, action);
      if (action.kind === 'break-off') return breakOff(deps, run.work, action.outcome);
      const next = await performAction({ ...setting, deps, run }, action);
      if (next.work !== run.work) deps.record(next.work);
      run = next;
    }
  } finally {
    await leaveTree();
  }
}

function situationOf(
  { clock, config, sha256, signal, ending, lookAtPeople, waitPolicy }: LoopDeps,
  { work, soFar, policy, known }: RunNow,
): LoopSituation {
  return {
    ...{ known, policy, run: soFar, state: work.state, tasks: work.tasks },
    now: clock.now(),
    cancelled: signal.aborted,
    endingBy: ending.aborted ? String(ending.reason) : null,
    head: buildVerificationSubject(config.verify, { commit: work.head, sha256 }),
    canLook: lookAtPeople !== null,
    unreserved: waitPolicy?.policy ?? null,
  };
}

/** Turns an intake into the work of a run that has not called the agent yet. `first` overrides parts of that work. */
export function beginLoop(intake: WorkIntake, now: number, first: Partial<Pick<Work, 'state' | 'agent'>> = {}): Work {
  const { start } = intake.lane;
  const remoteHead = start.kind === 'continue' ? start.remoteHead : null;
  const work: Work = { ...beginWork(intake, { remoteHead, shown: null }, now), isolationFrom: 'this-job', ...first };
  const change = addRun(work.state.change, start.kind !== 'continue');
  return work.proposal === null ? { ...work, state: { ...work.state, change } } : work;
}

function begin(deps: LoopDeps, intake: WorkIntake, first: Pick<Work, 'state' | 'agent'>): Work {
  const work = beginLoop(intake, deps.clock.now(), first);
  deps.record(work);
  deps.appendJournal(
    serializeStart({
      version: 1,
      lane: work.lane.id,
      startedAt: work.startedAt,
      policy: deps.config.policy,
      tasks: work.tasks,
      state: work.state,
    }),
  );
  return work;
}

/** Ends a run with the outcome that was decided. */
async function concludeRun(
  deps: LoopDeps,
  work: Work,
  { ending, waitSkippedBy }: Extract<LoopAction, { kind: 'end' }>,
): Promise<Work> {
  const { outcome, decidedAt, cancelled } = ending;
  const tidied = await tidy(deps, work);
  const settled = await endPrompt(deps, { ...tidied, outcome, endedAt: decidedAt, waitSkippedBy });
  const ended = await reviewed(deps, settled);
  deps.appendJournal(serializeEvent({ kind: 'end', version: 1, lane: work.lane.id, decidedAt, cancelled, outcome }));
  deps.record(ended);
  return ended;
}

/** Ends a run that cannot continue. Its journal has no decision to end. */
function breakOff(deps: LoopDeps, work: Work, outcome: Outcome): Work {
  return recorded(deps, { ...work, outcome, endedAt: deps.clock.now() });
}

function recorded(deps: LoopDeps, ended: Work): Work {
  deps.record(ended);
  return ended;
}

/**
 * Marks a finished prompt as done, also in the version that this branch has, so that merging the branch does not cause
 * new work.
 */
async function endPrompt(deps: LoopDeps, work: Work): Promise<Work> {
  const taskId = work.journal.at(-1)?.taskId ?? null;
  const { outcome, endedAt } = work;
  const state = settleOpenEnded(work.state, { outcome, taskId, commit: work.head }, endedAt);
  if (taskId === null || state === work.state) return { ...work, state };
  const merged = await publishedPrompt(deps).catch(() => null);
  return { ...work, state: merged === null ? state : markDoneUnder(state, taskId, merged.id) };
}

/** Returns the prompt with its documents as of the lane's newest commit, or null if there is no prompt. */
async function publishedPrompt(deps: Pick<LoopDeps, 'config' | 'repository' | 'sha256'>): Promise<Task | null> {
  const { config, repository, sha256 } = deps;
  const { promptFile } = config;
  const texts = await repository.publishedTexts(listPromptFiles(promptFile));
  const named = findNamedDocuments(texts, promptFile);
  const documents = named.length === 0 ? {} : await repository.publishedTexts(named);
  return createPromptTask({ ...documents, ...texts }, { promptFile, sha256 });
}

/** Measures everything on the branch, including the work of earlier runs, because the pull request covers all of it. */
async function reviewed({ repository, signal }: LoopDeps, work: Work): Promise<Work> {
  const review = signal.aborted ? null : await repository.review().catch(() => null);
  if (review === null) return work;
  const { change } = work.state;
  return { ...work, lookAt: review.lookAt, state: { ...work.state, change: withMeasuredSizes(change, review) } };
}

/**
 * Moves done entries of the prd and old notes into their archives, in a last commit of a run that has commits. Reads
 * only texts of the verified head, because the work tree may have changed. After a kill or a failure, the next run does
 * this.
 */
async function tidy(deps: LoopDeps, work: Work): Promise<Work> {
  if (!work.hasNewCommits || deps.signal.aborted) return work;
  try {
    const { rewrites, obstacle } = await rewritesOf(deps, work);
    if (obstacle !== null) deps.log.warning(obstacle);
    const warned: Work = obstacle === null ? work : { ...work, warnings: [...work.warnings, obstacle] };
    if (rewrites.length === 0) return warned;
    // Commit all or nothing. If an archive must not be published, for example because it repeats a key, the entries
    // moved into it would otherwise be lost.
    const { head, withheld } = await deps.repository.commitTexts({
      texts: Object.fromEntries(rewrites.map(({ path, text }) => [path, text])),
      message: 'Archive finished tasks and old notes',
      trailers: { 'Ralph-Run': deps.context.runId },
    });
    return { ...warned, head, withheld: [...work.withheld, ...withheld] };
  } catch (error) {
    deps.log.warning(
      `Finished tasks and old notes stay where they are, because they could not be archived: ${completeSentence(getErrorText(error))}`,
    );
    return work;
  }
}

/**
 * Lists each archive before the file from which its entries come, so that an entry is for a moment in both rather than
 * in neither.
 */
async function rewritesOf(deps: LoopDeps, work: Work): Promise<Rewrites> {
  const { rewrites, obstacle } = await archivedEntries(deps, work);
  return { rewrites: [...rewrites, ...(await compactedNotes(deps, work))], obstacle };
}

async function archivedEntries({ repository }: LoopDeps, { tasks, state }: Work): Promise<Rewrites> {
  if (!listFileSources(tasks).includes('prd')) return { rewrites: [], obstacle: null };
  const [{ findArchiveObstacle: archiveObstacle, archivePrd, PRD_ARCHIVE_PATH }, { parsePrd }] = await Promise.all([
    import('../core/tasks/files/prd-archive.ts'),
    import('../core/tasks/files/prd.ts'),
  ]);
  const texts = await repository.publishedTexts([PRD_PATH, PRD_ARCHIVE_PATH]);
  const prd = texts[PRD_PATH] ?? '';
  // Archive an entry only if its file marks it as done and the state says that its work was accepted.
  const isDone = ({ task, state: stateInFile }: FileTask): boolean =>
    stateInFile === 'done' && isFinished(getProgress(state.tasks, task.id));
  const done = parsePrd(PRD_PATH, prd).tasks.filter(isDone);
  const archive = texts[PRD_ARCHIVE_PATH] ?? null;
  const archived = archivePrd({ prd, archive }, new Set(done.map(({ task }) => task.id)));
  if (archived !== null)
    return {
      rewrites: [rewrite(texts, PRD_ARCHIVE_PATH, archived.archive), rewrite(texts, PRD_PATH, archived.prd)],
      obstacle: null,
    };
  const problem = done.length === 0 ? null : archiveObstacle(archive);
  return {
    rewrites: [],
    obstacle:
      problem === null
        ? null
        : [
            [problem.file, problem.line, problem.column].filter((part) => part !== null).join(':'),
            completeSentence(problem.message),
          ].join(' '),
  };
}

/** Shortens only the lane's own notebook: if two branches shortened the same file, their merges would conflict. */
async function compactedNotes({ repository }: LoopDeps, { lane }: Work): Promise<readonly Rewrite[]> {
  const { path, archive } = locateNotebook(lane.id);
  const texts = await repository.publishedTexts([path, archive]);
  const learnings = texts[path];
  const compacted = learnings === undefined ? null : compactLearnings(learnings, texts[archive] ?? '');
  return compacted === null
    ? []
    : [rewrite(texts, archive, compacted.archive), rewrite(texts, path, compacted.learnings)];
}

function rewrite(texts: FileTexts, path: string, text: string): Rewrite {
  return { path, old: texts[path] ?? null, text };
}
