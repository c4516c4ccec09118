import type { TaskSourceName } from '../../config/config.ts';
import type { Consent } from '../../core/people/consent.ts';
import { noted, type LaneState } from '../../core/lane/state.ts';
import { inOrderOfWork, progressOf, withinReach } from '../../core/tasks/queue.ts';
import type { Task, TaskObstacle } from '../../core/tasks/task.ts';
import type { Issue } from '../../ports/forge.ts';
import type { GateDeps } from '../deps.ts';
import { judgeIssues, noticeFor, tooManyPeople, warnOfChanges, warnOfStrangers } from '../people/approvals.ts';
import type { ApprovalNotice } from '../../handover/intake.ts';
import { hashOfText, obstacleByLabel, taskOfIssue, type IssueText } from './tasks.ts';
import { accountsAsked } from '../people/trust.ts';
import { createWaiting } from './waiting.ts';
import { taskIdOfIssue, type TaskId } from '../../core/tasks/ids.ts';

/** What may become tasks of a lane. */
export interface Candidates {
  readonly issues: readonly Issue[];
  readonly fileTasks: readonly Task[];
  /** In the order in which tasks of the same priority are worked. */
  readonly sources: readonly TaskSourceName[];
  /** A person named this very issue: it is judged wherever it stands. */
  readonly isByName: boolean;
  /** Text of the one issue as its label was put on just now; null: not known. */
  readonly approvedText: IssueText | null;
}

/** Tasks of a lane as they may be worked now. */
export interface JudgedTasks {
  /** In the order of work. */
  readonly tasks: readonly Task[];
  /** The lane's state: what somebody asked for again is open again. */
  readonly state: LaneState;
  /** Texts of the issues that may be worked, with who asked for them. */
  readonly approved: ReadonlyMap<TaskId, ApprovedIssue>;
  readonly notices: readonly ApprovalNotice[];
  readonly warnings: readonly string[];
}

/** An issue whose text may be worked, and who asked for it last. */
export interface ApprovedIssue {
  readonly issue: Issue;
  readonly text: IssueText;
  readonly by: string;
  readonly at: number;
}

/** Some more are judged at once than can be worked: a few may turn out not to be tasks. */
const SPARE = 5;
/** From then on as many as GitHub tells of in one request. */
const AT_ONCE = 50;
/** Who may write is asked one by one: behind issues that so many people labelled or changed, no run looks further. */
const MAX_PEOPLE = 100;

/** Judges as many issues as this run can get to, and those that are settled: somebody may have asked for them again. */
export async function judgeTasks(run: GateDeps, candidates: Candidates, restored: LaneState): Promise<JudgedTasks> {
  const { config } = run;
  const waiting = createWaiting(run);
  const issues = new Map(candidates.issues.map((issue) => [taskIdOfIssue(issue.number), issue]));
  const consents = new Map<TaskId, Consent | 'gone'>();
  // The event that began the run says what was approved, whatever was changed a moment later.
  const isCoveredByEvent = candidates.approvedText !== null;
  let state = restored;
  // What it says that it waits for is said by the text that is worked: which one that is must be known first.
  if (isCoveredByEvent) await judge(candidates.issues);
  for (let round = 0; ; round += 1) {
    const { tasks, warnings } = await settle();
    const wanted = wantedNow(tasks, round === 0);
    if (wanted.length === 0) return result(tasks, warnings);
    if (round > 0 && accountsAsked(run.forge) >= MAX_PEOPLE)
      return result(tasks, [...warnings, tooManyPeople(MAX_PEOPLE)]);
    await judge(wanted);
  }

  /** The tasks as far as is known: who is not judged yet counts as approved. */
  async function settle(): ReturnType<ReturnType<typeof createWaiting>['settle']> {
    const ofIssues = [...issues.values()].map(taskOfIssue).flatMap((task): readonly Task[] => {
      const consent = consents.get(task.id);
      if (consent === 'gone' || consent?.kind === 'never') return [];
      return [{ ...task, obstacle: consent?.kind === 'changed' && !isCoveredByEvent ? 'needs-approval' : null }];
    });
    const all = [...ofIssues.sort(byNumber), ...candidates.fileTasks];
    const bySource = candidates.sources.flatMap((source) => all.filter((task) => sourceOf(task) === source));
    return waiting.settle(
      inOrderOfWork(bySource),
      new Map([...issues].map(([id, issue]) => [id, { ...issue, ...workedText(id, issue) }])),
      isDone,
    );
  }

  /** The text of an issue that may be worked, as far as is known. */
  function workedText(id: TaskId, issue: Issue): IssueText {
    const consent = consents.get(id);
    return consent !== undefined && consent !== 'gone' && consent.kind === 'changed'
      ? (candidates.approvedText ?? issue)
      : issue;
  }

  /** Issues that must be judged before anything is decided; empty when enough is known. */
  function wantedNow(tasks: readonly Task[], isFirst: boolean): readonly Issue[] {
    const unknown = (id: TaskId): boolean => issues.has(id) && !consents.has(id);
    const reach = withinReach(tasks, state.tasks, config.policy.maxIterations).filter(unknown);
    const settled = isFirst ? tasks.filter(({ id }) => unknown(id) && isSettled(id)).map(({ id }) => id) : [];
    const named = candidates.isByName ? tasks.filter(({ id }) => unknown(id)).map(({ id }) => id) : [];
    const must = new Set([...reach, ...settled, ...named]);
    if (must.size === 0 && !isFirst) return [];
    // A request that is made anyhow may as well ask about the next ones.
    const size = isFirst ? must.size + SPARE : Math.max(must.size, AT_ONCE);
    for (const { id, obstacle } of tasks) if (must.size < size && obstacle === null && unknown(id)) must.add(id);
    return [...must].flatMap((id) => issues.get(id) ?? []);
  }

  async function judge(wanted: readonly Issue[]): Promise<void> {
    const judged = await judgeIssues(run, wanted, state.approvals);
    for (const { number } of wanted) {
      const id = taskIdOfIssue(number);
      const consent = trustingTheEvent(judged.get(number) ?? 'gone');
      consents.set(id, consent);
      if (isAskedAgain(id, consent)) state = reopened(state, id, run.clock.now());
    }
  }

  /** GitHub told of the label, but does not list it yet: then its text counts, and no other. */
  function trustingTheEvent(consent: Consent | 'gone'): Consent | 'gone' {
    const isListed = consent === 'gone' || consent.kind !== 'never' || consent.by !== null;
    if (isListed || !isCoveredByEvent) return consent;
    const now = run.clock.now();
    return { kind: 'changed', by: '', askedAt: now, editor: null, at: now, isNoticed: true };
  }

  function result(tasks: readonly Task[], warnings: readonly string[]): JudgedTasks {
    const approved = new Map<TaskId, ApprovedIssue>();
    const notices: ApprovalNotice[] = [];
    const strangers: { number: number; by: string | null }[] = [];
    const changed: { number: number; editor: string | null }[] = [];
    for (const [id, consent] of consents) {
      const issue = issues.get(id);
      if (issue === undefined || consent === 'gone') continue;
      if (consent.kind === 'given') approved.set(id, { issue, text: issue, by: consent.by, at: consent.at });
      else if (consent.kind === 'never') strangers.push({ number: issue.number, by: consent.by });
      else if (candidates.approvedText !== null)
        approved.set(id, { issue, text: candidates.approvedText, by: consent.by, at: consent.askedAt });
      else if (!isDone(id)) {
        changed.push({ number: issue.number, editor: consent.editor });
        const notice = noticeFor(issue, consent);
        if (notice !== null) notices.push(notice);
      }
    }
    const worked = [...approved.values()].filter(({ issue, text }) => hashOfText(issue) !== hashOfText(text));
    return {
      tasks: tasks.map((task) => ({ ...task, obstacle: task.obstacle ?? obstacleOfUnjudged(task) })),
      state,
      approved,
      notices,
      warnings: [
        ...warnOfStrangers(config.taskLabel, strangers),
        ...warnOfChanges(config.taskLabel, changed),
        ...worked.map(
          ({ issue }) =>
            `The text of #${String(issue.number)} was changed since the label "${config.taskLabel}" was put on; it is worked as it was then.`,
        ),
        ...warnings,
      ],
    };
  }

  function obstacleOfUnjudged(task: Task): TaskObstacle | null {
    const isJudged = !issues.has(task.id) || consents.has(task.id) || isDone(task.id);
    return isJudged ? null : (obstacleByLabel(task) ?? 'unchecked');
  }

  function isDone(id: TaskId): boolean {
    return progressOf(state.tasks, id).state === 'done';
  }

  function isSettled(id: TaskId): boolean {
    return ['done', 'failed', 'blocked'].includes(progressOf(state.tasks, id).state);
  }

  function isAskedAgain(id: TaskId, consent: Consent | 'gone'): boolean {
    const before = Object.hasOwn(state.approvals, id) ? state.approvals[id] : undefined;
    if (before === undefined || consent === 'gone' || consent.kind === 'never' || !isSettled(id)) return false;
    return (consent.kind === 'given' ? consent.at : consent.askedAt) > before.at;
  }
}

function reopened(state: LaneState, id: TaskId, now: number): LaneState {
  const { [id]: settled, ...tasks } = state.tasks;
  return noted(
    { ...state, tasks },
    { at: now, subject: 'task', from: `${id} ${settled?.state ?? 'todo'}`, to: 'todo', reason: 'asked_again' },
  );
}

function sourceOf({ source }: Task): TaskSourceName {
  return source.kind === 'issue' ? 'issues' : source.kind;
}

function byNumber(a: Task, b: Task): number {
  const number = ({ source }: Task): number => (source.kind === 'issue' ? source.number : 0);
  return number(a) - number(b);
}
