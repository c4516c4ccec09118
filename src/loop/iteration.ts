import type { Analysis } from '../core/analysis/analysis.ts';
import { describeAgentFailure } from '../core/analysis/failure-words.ts';
import { compareChecklists, tasksOfNewItems } from '../core/tasks/checklist.ts';
import { recordAnswer } from '../core/feedback/answered.ts';
import { beginRound } from '../core/feedback/rounds.ts';
import { addRun, withLeftOutFiles } from '../core/lane/change.ts';
import { addIterationToRun, type RunSoFar } from '../core/lane/decide.ts';
import { classifyRefused } from '../core/lane/denials.ts';
import type { Evidence, TreeSnapshot, Verification } from '../core/evidence.ts';
import { toRootTask } from '../core/folder.ts';
import { recordIteration, countEntryCalls, type JournalEntry, serializeEntry } from '../core/journal/journal.ts';
import { joinRepetition, type StepOutput } from '../core/pipeline/step-output.ts';
import type { StepRecord } from '../core/pipeline/step-record.ts';
import { compareWithBase, markBeyondBase } from '../core/lane/base/compare-failures.ts';
import { beginIteration, beginSteps, settleIteration } from '../core/lane/settle/settle.ts';
import { recordDoneCommit } from '../core/lane/settle/settle-published.ts';
import { listPassedOverAgents } from '../core/agents/providers.ts';
import { resetSession } from '../core/lane/session.ts';
import type { LaneState } from '../core/lane/state/state.ts';
import type { CallUsage } from '../core/lane/ledger.ts';
import type { FileTask } from '../core/tasks/files/form/root-plan.ts';
import { OUTSIDE_WORK_TREE } from '../core/work-tree/answers.ts';
import { NO_TESTS } from '../core/proof/test-report.ts';
import { countTasks, getProgress, formatTasksDone } from '../core/tasks/queue.ts';
import { isPromptTask } from '../core/tasks/ids.ts';
import { isListedTask, nameOfTask } from '../core/tasks/task.ts';
import { pickOneOfEachReason, isPartOfTask } from '../core/review/left-out.ts';
import { needsVerification } from '../core/lane/verdict/verdict.ts';
import { callAgent, addUsage, settingOfPlainCall, type Iteration } from './call.ts';
import { type CommitResult, commitWork, joinCommits } from './commits.ts';
import { confirmRedBase, redactAndBound, verifyHere } from './verification.ts';
import { runSteps } from './pipeline/run-steps.ts';
import type { BegunIteration } from './pipeline/agent-step.ts';
import type { LoopDeps } from './deps.ts';
import { markEntries, readSetAsideFiles, readFileTasks, takeDoneMarker } from './marks.ts';
import type { Work } from '../handover/intake.ts';

/** Maximum number of withheld files in the evidence. */
const MAX_WITHHELD_NAMED = 20;

/** Maximum number of ignored files and folders in the evidence. */
const MAX_IGNORED_NAMED = 5;

/**
 * Makes one agent call or runs the steps of the pipeline, with evidence and analysis. Each part is on disk before the
 * next begins.
 */
export async function runIteration(
  deps: LoopDeps,
  iteration: Iteration,
): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { task } = iteration.step;
  const { all, done } = countTasks(iteration.work.tasks, iteration.work.state.tasks);
  const finished = await deps.log.group(
    `Iteration ${String(iteration.soFar.iterations + 1)}/${String(deps.config.policy.maxIterations)} · ${formatTasksDone(done, all)} · ${isListedTask(task) ? `${nameOfTask(task)}: ` : ''}${task.title}`,
    async () => {
      const before = await deps.repository.snapshot();
      const taskTree = taskTreeOf(iteration, before);
      const begin = deps.pipeline === null ? beginIteration : beginSteps;
      const called = begin(
        iteration.work.state,
        { taskId: task.id, tree: taskTree, agent: iteration.step.agent },
        deps.config.policy,
        iteration.startedAt,
      );
      const { isForgotten } = iteration.turn;
      const then = getProgress(iteration.work.state.tasks, task.id);
      const ready = { ...called, feedback: beginRound(called.feedback, task.id, then) };
      const begun: Work = {
        ...iteration.work,
        state: isForgotten ? resetSession(ready, 'unknown_session', iteration.startedAt) : ready,
      };
      // Charge the call and record it before it is made, so that a killed run gets no call for free.
      deps.record(begun);
      const listed = await readFileTasks(deps, begun.tasks);
      const aside = await readSetAsideFiles(deps);
      const made = await runCallOrSteps(deps, { ...iteration, work: begun, before, listed, ...aside });
      // The marker is a message to the loop, so remove it before the content is measured.
      const markedLast = await takeDoneMarker(deps, aside);
      const left = await deps.repository.snapshot();
      const listedAfter = await readFileTasks(deps, begun.tasks);
      const { output, earlier } = made;
      const doneMarker = made.doneMarker ?? markedLast;
      const { work: worked, committed: last } = await commitWork(
        deps,
        { ...iteration, work: made.work },
        { before: made.base, after: left, summary: output.analysis.signal.summary },
      );
      const committed = joinCommits(earlier, last);
      deps.record(worked);
      const concluded = await conclude(
        deps,
        { ...iteration, work: worked },
        { before, after: committed.published, taskTree, listed, listedAfter, committed, ...made, doneMarker },
      );
      const marked = await markEntries(deps, concluded.work, iteration.opened);
      if (marked !== concluded.work) deps.record(marked);
      return { ...concluded, work: marked };
    },
  );
  // Print this outside of the log group, so that people who keep the group closed still see the result of each
  // iteration.
  const entry = finished.work.journal.at(-1);
  if (entry !== undefined) deps.narrate(entry, finished.work);
  return finished;
}

/**
 * Returns the tree with which a task's progress is compared: the present content when the task begins, or that of the
 * base.
 */
function taskTreeOf({ work, step, opened }: Iteration, before: TreeSnapshot): string {
  // After a lost state or a faster run, the branch has commits that the state does not know and that may belong to this
  // task, so compare the task's progress with the base.
  const { startedTree, attempts } = getProgress(work.state.tasks, step.task.id);
  const unknown =
    startedTree === null &&
    attempts === 0 &&
    work.stateBefore.lastRun?.published?.head !== opened.head &&
    opened.ahead > 0;
  return unknown ? opened.baseTree : before.tree;
}

/** The result of an iteration's calls and steps, before its last commit. */
interface IterationResult {
  /** The work with every charged call and every commit so far. */
  readonly work: Work;
  readonly output: StepOutput;
  /** Usage of the only call, as it is booked; null if each step of the pipeline has its own usage. */
  readonly usage: CallUsage | null;
  readonly sessionDroppedAt: number | null;
  readonly madeAgain: JournalEntry['madeAgain'];
  /** Path of the marker that a step made, which is already removed; null if none, or no pipeline. */
  readonly doneMarker: string | null;
  /** Records of the pipeline's steps; empty without a pipeline. */
  readonly steps: readonly StepRecord[];
  /** Commits that were made between steps. */
  readonly earlier: readonly CommitResult[];
  /** The content with which the last commit is compared. */
  readonly base: TreeSnapshot;
}

async function runCallOrSteps(deps: LoopDeps, iteration: Iteration & BegunIteration): Promise<IterationResult> {
  if (deps.pipeline === null) {
    const setting = settingOfPlainCall(deps, iteration);
    const { agentRun, work, usage, sessionDroppedAt, failed } = await callAgent(deps, iteration, {
      listed: iteration.listed,
      notes: iteration.notes,
      setting,
      treeBefore: iteration.before.tree,
    });
    return {
      work,
      output: failed === null ? agentRun : joinRepetition(failed.agentRun, agentRun),
      usage: failed === null ? usage : addUsage(failed.usage, usage),
      sessionDroppedAt,
      madeAgain:
        failed === null ? null : { at: failed.usage.endedAt, why: deps.redact(describeAgentFailure(failed.agentRun)) },
      doneMarker: null,
      steps: [],
      earlier: [],
      base: iteration.before,
    };
  }
  const walked = await runSteps(deps, deps.pipeline, iteration);
  const { together: output, records: steps, committed: earlier, base, work, sessionDroppedAt, doneMarker } = walked;
  // Leave `madeAgain` null, because the record of each step already has both calls.
  return { work, output, usage: null, sessionDroppedAt, madeAgain: null, doneMarker, steps, earlier, base };
}

interface Finished extends Pick<IterationResult, 'output' | 'usage' | 'sessionDroppedAt' | 'madeAgain' | 'steps'> {
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  readonly taskTree: string;
  /** The items of the task files, before and after the call. */
  readonly listed: readonly FileTask[];
  readonly listedAfter: readonly FileTask[];
  readonly doneMarker: string | null;
  readonly committed: CommitResult;
}

async function conclude(
  deps: LoopDeps,
  { work, soFar, step, turn, startedAt }: Iteration,
  made: Finished,
): Promise<{ readonly work: Work; readonly soFar: RunSoFar }> {
  const { policy } = deps.config;
  const { before, after, taskTree, listed, listedAfter, output, usage, doneMarker, sessionDroppedAt, committed } = made;
  const analysis = redactAndBound<Analysis>(output.analysis, deps.redact);
  const steps = redactAndBound<readonly StepRecord[]>(made.steps, deps.redact);
  const items = {
    before: listed,
    after: listedAfter,
    taskId: step.task.id,
    tasks: work.tasks,
    progress: work.state.tasks,
  };
  const checklist = compareChecklists(items);
  const claimed = { analysis, evidence: { before, after, checklist, doneMarker } };
  const { verification: unbound, report } = needsVerification(work.state, claimed, policy)
    ? await verifyHere(deps, work)
    : { verification: { kind: 'not-run' } as const, report: NO_TESTS };
  const verification = redactAndBound<Verification>(unbound, deps.redact);
  const redBase = await confirmRedBase(deps, work, { verification, report });
  const change = await deps.repository.compare(before, after);
  const leftOut = [...committed.withheldNow, ...committed.besideNow.map((path) => ({ path, why: OUTSIDE_WORK_TREE }))];
  const withheld = work.withheld.filter(({ path }) => leftOut.some((one) => one.path === path));
  const isUncounted = withheld.length < work.withheld.length || committed.publishedPaths.length > 0;
  // Name ignored files, such as packages and builds, only if the agent reports changes and none are visible.
  const isUnseen = before.tree === after.tree && !isUncounted && (analysis.signal.filesModified ?? 0) > 0;
  const beside = [
    ...committed.beside.map(({ name }) => name),
    ...(isUnseen ? committed.newlyIgnored.slice(0, MAX_IGNORED_NAMED).map((path) => `${path} (git ignores it)`) : []),
  ];
  const evidence: Evidence = {
    before,
    after,
    ...change,
    files: change.files.map(deps.redact),
    withheld: namedFirst(
      committed.withheldNow.map(({ path }) => deps.redact(path)),
      getProgress(work.state.tasks, step.task.id).refused?.files ?? [],
    ),
    withheldHere: nameWithheldHere(
      committed.withheld.map((file) => ({
        path: deps.redact(file.path).slice(0, 1000),
        why: deps.redact(file.why).slice(0, 500),
        part: isPartOfTask(file, `${step.task.title}\n${step.task.body}`),
      })),
    ),
    ...(isUncounted && before.tree === after.tree ? { uncounted: true } : {}),
    ...(beside.length === 0
      ? {}
      : { beside: beside.slice(0, MAX_WITHHELD_NAMED).map((name) => deps.redact(name).slice(0, 200)) }),
    ...(committed.marked.length === 0
      ? {}
      : { marked: committed.marked.slice(0, MAX_WITHHELD_NAMED).map((path) => deps.redact(path).slice(0, 1000)) }),
    end: output.end,
    outputChars: output.outputChars,
    fencedBlock: output.fencedBlock,
    verification: markBeyondBase(redBase, compareWithBase(redBase, verification, report), deps.config.verify),
    checklist,
    doneMarker,
    ...(usage === null ? {} : { call: usage }),
    steps,
    merge: committed.merge,
    ...(output.failedServers.length === 0 ? {} : { failedServers: output.failedServers.slice(0, 20).map(deps.redact) }),
    ...(committed.lockFiles.length === 0 ? {} : { lockFiles: committed.lockFiles }),
  };
  const now = deps.clock.now();
  // Entries that the agent added are work of the lane like any other, so add them to this run's tasks.
  const found = tasksOfNewItems(items)
    .filter(({ id }) => deps.redact(id) === id)
    .map((item) => toRootTask(deps.config.workingDirectory, item));
  const tasks = [...work.tasks, ...found];
  const denials = classifyRefused({ analysis, evidence }, policy, turn.opened.agent.kindOfDenial);
  const facts = { task: step.task, tasks, analysis, denials, evidence, startedAt };
  const settled = settleIteration({ ...work.state, redBase }, facts, policy, now);
  const entry: JournalEntry = {
    version: 1,
    lane: work.lane.id,
    iteration: soFar.iterations + 1,
    taskId: step.task.id,
    taskTitle: deps.redact(step.task.title),
    agent: step.agent,
    passedOver: listPassedOverAgents(policy.agents, work.state.providers, step.agent, startedAt),
    startedAt,
    taskTree,
    sessionDroppedAt: sessionDroppedAt ?? (turn.isForgotten ? startedAt : null),
    madeAgain: made.madeAgain,
    endedAt: now,
    analysis,
    evidence,
    found,
    commit: committed.commit,
    verdict: settled.verdict,
    lines: settled.verdict.taskDone || isPromptTask(step.task.id) ? await linesOfBranch(deps) : null,
  };
  const { taskDone, alsoDone } = settled.verdict;
  const titleOf = (id: string): string => tasks.find((task) => task.id === id)?.title ?? '';
  const counted = recordIteration(settled.state, entry, titleOf);
  const booked = withLeftOut(deps, work, { state: counted, leftOut, published: committed.publishedPaths });
  const finished = recordDoneCommit(booked, [...(taskDone ? [step.task.id] : []), ...alsoDone], committed.head);
  const state = recordAnswer(finished, entry);
  const done: Work = { ...work, tasks, state, withheld, journal: [...work.journal, entry], endedAt: now };
  deps.appendJournal(serializeEntry(entry));
  deps.record(done);
  const told = { analysis, verdict: settled.verdict, end: output.end, steps };
  return { work: done, soFar: addIterationToRun(soFar, told, countEntryCalls(entry)) };
}

/** Returns the withheld paths that are named: those that the task is about first, then one of each reason. */
function nameWithheldHere(files: NonNullable<Evidence['withheldHere']>): NonNullable<Evidence['withheldHere']> {
  const named = pickOneOfEachReason(
    [...files].sort((a, b) => Number(b.part) - Number(a.part)),
    MAX_WITHHELD_NAMED,
  );
  const countOf = (list: typeof files, why: string): number => list.filter((one) => one.why === why).length;
  return named.map((file, at) => {
    const isFirst = named.findIndex(({ why }) => why === file.why) === at;
    const more = isFirst ? countOf(files, file.why) - countOf(named, file.why) : 0;
    return more === 0 ? file : { ...file, more };
  });
}

/** Returns the withheld paths, up to the maximum; those that decide the task come first. */
function namedFirst(paths: readonly string[], deciding: readonly string[]): readonly string[] {
  const first = paths.filter((path) => deciding.includes(path));
  return [...new Set([...first, ...paths])].slice(0, MAX_WITHHELD_NAMED);
}

/**
 * Returns the state with the files that were left out of the branch. Redacts paths before it cuts them, because a cut
 * secret is not recognized.
 */
function withLeftOut(
  { redact }: LoopDeps,
  { stateBefore, lane, withheld }: Work,
  {
    state,
    leftOut,
    published,
  }: { readonly state: LaneState; readonly leftOut: Work['withheld']; readonly published: readonly string[] },
): LaneState {
  const change = withLeftOutFiles(state.change, {
    begun: addRun(stateBefore.change, lane.start.kind !== 'continue'),
    ofRun: withheld.map(({ path }) => redact(path)),
    now: leftOut.map(({ path, why }) => ({ path: redact(path), why: redact(why) })),
    published: published.map(redact),
  });
  return { ...state, change };
}

/**
 * Returns the number of lines to review so far, which decides whether another task begins; null if it is unknown or
 * unlimited.
 */
async function linesOfBranch({ repository, config, signal }: LoopDeps): Promise<number | null> {
  if (config.policy.maxLinesPerPr === 0 || signal.aborted) return null;
  return repository.review().then(
    (review) => review?.lines ?? null,
    () => null,
  );
}
