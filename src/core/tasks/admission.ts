import type { LaneState } from '../lane/state/state.ts';
import { withTransition } from '../lane/session.ts';
import {
  type ApprovalNotice,
  type Consent,
  buildApprovalNotice,
  warnOfTooManyPeople,
  warnOfChanges,
  warnOfUnaskedIssues,
  warnOfUntrustedLabels,
} from '../people/consent.ts';
import { hasLabel } from '../people/labels.ts';
import { compareIssueNumbers, findLabelObstacle, taskOfIssue, type IssueText, type TaskIssue } from './issue-task.ts';
import { resetProgress, sortByPriority, getProgress, listTasksWithinReach } from './queue.ts';
import { type TaskId, taskIdOfIssue, type TaskSourceName } from './ids.ts';
import { issueOfTask, isFinished, isSettled, type Task } from './task.ts';
import {
  applyWaitAnswer,
  noWaitFacts,
  settleWaiting,
  type WaitAnswer,
  type WaitFacts,
  type WaitQuestion,
} from './waiting.ts';

/** The candidates for tasks of a lane. */
export interface Candidates {
  readonly issues: readonly TaskIssue[];
  readonly fileTasks: readonly Task[];
  /** The sources in the order in which tasks of the same priority are worked on. */
  readonly sources: readonly TaskSourceName[];
  /** True if a person named this one issue: it is judged regardless of its position. */
  readonly isByName: boolean;
  /** Text of the one issue when its label was just added; null if it is unknown. */
  readonly approvedText: IssueText | null;
}

/** The rules that the inputs set for the run. */
export interface AdmissionRules {
  readonly taskLabel: string;
  readonly maxIterations: number;
}

/**
 * The knowledge so far about a lane's tasks. Plain data: `decideAdmissionStep` reads it, `applyAdmissionAnswer` returns
 * the next one.
 */
export interface Admission {
  readonly candidates: Candidates;
  readonly rules: AdmissionRules;
  /** The state in which requested tasks are open again. */
  readonly state: LaneState;
  /** Consents by issue number; `gone` if the issue was deleted. */
  readonly consents: ReadonlyMap<number, Consent | 'gone'>;
  /** Number of people that were looked up in this run. */
  readonly peopleAsked: number;
  readonly waits: WaitFacts;
}

/** The next question: the consents to these issues, or what tasks wait for. */
export type AdmissionQuestion = { readonly kind: 'consents'; readonly of: readonly TaskIssue[] } | WaitQuestion;

/** A question with its results by issue number. `now` is the instant of the look-up in ms. */
export type AdmissionAnswer =
  | (Extract<AdmissionQuestion, { kind: 'consents' }> & {
      readonly found: ReadonlyMap<number, Consent>;
      readonly peopleAsked: number;
      readonly now: number;
    })
  | WaitAnswer;

/** The tasks of a lane that may be worked on now. */
export interface JudgedTasks {
  /** The tasks in the order of work. */
  readonly tasks: readonly Task[];
  readonly state: LaneState;
  /** Texts of the issues that may be worked on, with the person who asked for each. */
  readonly approved: ReadonlyMap<TaskId, ApprovedIssue>;
  readonly notices: readonly ApprovalNotice[];
  readonly warnings: readonly string[];
}

/** An issue whose text may be worked on, and the last person who asked for it. */
export interface ApprovedIssue {
  readonly number: number;
  readonly text: IssueText;
  readonly by: string;
  readonly at: number;
}

/** Number of issues judged beyond those that a run can get to: a few may turn out not to be tasks. */
const SPARE_ISSUES = 5;
/** Number of issues judged at once after the first question: as many as GitHub answers for in one request. */
const ISSUES_PER_QUESTION = 50;
/**
 * Maximum number of people looked up in a run: write permission takes a request per person who labelled or changed an
 * issue.
 */
const MAX_PEOPLE = 100;

/** Starts to judge which candidates are eligible; `decideAdmissionStep` asks for the missing facts. */
export function beginAdmission(candidates: Candidates, state: LaneState, rules: AdmissionRules): Admission {
  return { candidates, rules, state, consents: new Map(), peopleAsked: 0, waits: noWaitFacts };
}

/**
 * Returns the next question, or the judged tasks. Only as many issues are judged as a run can get to, and all settled
 * ones, since somebody may have requested them again.
 */
export function decideAdmissionStep(
  admission: Admission,
): AdmissionQuestion | { readonly kind: 'judged'; readonly judged: JudgedTasks } {
  const { candidates, consents, state } = admission;
  const { issues } = candidates;
  // Dependencies are in the approved text, which must be known first.
  if (isCoveredByEvent(admission) && consents.size < issues.length) return { kind: 'consents', of: issues };

  const settled = settleWaiting(admission.waits, {
    tasks: tasksSoFar(admission),
    issues: new Map(issues.map((issue) => [issue.number, { ...issue, ...workedText(admission, issue) }])),
    isDone: (id) => isFinishedTask(state, id),
  });
  if (settled.kind !== 'settled') return settled;
  const wanted = issuesToJudge(admission, settled.tasks);
  if (wanted.length > 0 && admission.peopleAsked < MAX_PEOPLE) return { kind: 'consents', of: wanted };
  const warnings = wanted.length === 0 ? settled.warnings : [...settled.warnings, warnOfTooManyPeople(MAX_PEOPLE)];
  return { kind: 'judged', judged: judged(admission, settled.tasks, warnings) };
}

/** Returns the admission with the answer to its last question. */
export function applyAdmissionAnswer(admission: Admission, answer: AdmissionAnswer): Admission {
  if (answer.kind !== 'consents') return { ...admission, waits: applyWaitAnswer(admission.waits, answer) };
  const { now } = answer;
  const judgedTasks = answer.of.map(({ number }) => {
    const consent = answer.found.get(number) ?? 'gone';
    return { number, consent: isCoveredByEvent(admission) ? trustEvent(consent, now) : consent };
  });
  return {
    ...admission,
    state: judgedTasks.reduce(
      (state, { number, consent }) => reopenIfAskedAgain(state, taskIdOfIssue(number), { consent, now }),
      admission.state,
    ),
    consents: new Map([...admission.consents, ...judgedTasks.map(({ number, consent }) => [number, consent] as const)]),
    peopleAsked: answer.peopleAsked,
  };
}

/** Returns true if the event that began the run carries the approved text, so that later changes do not matter. */
function isCoveredByEvent({ candidates }: Admission): boolean {
  return candidates.approvedText !== null;
}

/** Returns the tasks as far as they are known: unjudged ones count as approved. */
function tasksSoFar(admission: Admission): readonly Task[] {
  const { candidates, consents } = admission;
  const ofIssues = candidates.issues.flatMap((issue): readonly Task[] => {
    const consent = consents.get(issue.number);
    if (consent === 'gone' || consent?.kind === 'never') return [];
    const waits = consent?.kind === 'changed' && !isCoveredByEvent(admission);
    return [{ ...taskOfIssue(issue), obstacle: waits ? 'needs-approval' : null }];
  });
  const all = [...ofIssues.sort(compareIssueNumbers), ...candidates.fileTasks];
  return sortByPriority(candidates.sources.flatMap((source) => all.filter((task) => sourceNameOf(task) === source)));
}

/** Returns the text of an issue that may be worked on, as far as it is known. */
function workedText({ candidates, consents }: Admission, { number, title, body }: TaskIssue): IssueText {
  const consent = consents.get(number);
  const isChanged = consent !== undefined && consent !== 'gone' && consent.kind === 'changed';
  return (isChanged ? candidates.approvedText : null) ?? { title, body };
}

/** Returns the issues that must be judged before anything is decided; empty if enough is known. */
function issuesToJudge(
  { candidates, consents, rules, state }: Admission,
  tasks: readonly Task[],
): readonly TaskIssue[] {
  const isFirst = consents.size === 0;
  const issues = new Map(candidates.issues.map((issue) => [taskIdOfIssue(issue.number), issue]));
  const isUnknown = (id: TaskId): boolean => {
    const issue = issues.get(id);
    return issue !== undefined && !consents.has(issue.number);
  };
  const unknown = tasks.filter(({ id }) => isUnknown(id));
  const must = new Set([
    ...listTasksWithinReach(tasks, state.tasks, rules.maxIterations).filter(isUnknown),
    ...unknown
      .filter(({ id }) => candidates.isByName || (isFirst && isSettled(getProgress(state.tasks, id))))
      .map(({ id }) => id),
  ]);
  if (must.size === 0 && !isFirst) return [];
  // One request covers up to `ISSUES_PER_QUESTION` issues, so the next ones are judged along with it.
  const size = isFirst ? must.size + SPARE_ISSUES : Math.max(must.size, ISSUES_PER_QUESTION);
  for (const { id, obstacle } of unknown) if (must.size < size && obstacle === null) must.add(id);
  return [...must].flatMap((id) => issues.get(id) ?? []);
}

/** Accepts the run's own label event if GitHub does not list it yet: then only the text of the event is accepted. */
function trustEvent(consent: Consent | 'gone', now: number): Consent | 'gone' {
  if (consent === 'gone' || consent.kind !== 'never' || consent.by !== null) return consent;
  return { kind: 'changed', by: '', askedAt: now, editor: null, at: now, isNoticed: true };
}

/** Returns the state in which a settled task is open again if somebody requested it since its text was approved. */
function reopenIfAskedAgain(
  state: LaneState,
  id: TaskId,
  { consent, now }: { readonly consent: Consent | 'gone'; readonly now: number },
): LaneState {
  const settled = getProgress(state.tasks, id);
  const before = settled.approval;
  if (before === undefined || consent === 'gone' || consent.kind === 'never' || !isSettled(settled)) return state;
  if ((consent.kind === 'given' ? consent.at : consent.askedAt) <= before.at) return state;
  return withTransition(
    { ...state, tasks: { ...state.tasks, [id]: resetProgress(settled) } },
    { at: now, subject: 'task', from: `${id} ${settled.state}`, to: 'todo', reason: 'asked_again' },
  );
}

function judged(admission: Admission, tasks: readonly Task[], warnings: readonly string[]): JudgedTasks {
  const { candidates, consents, rules, state } = admission;
  const { taskLabel } = rules;
  const issues = new Map(candidates.issues.map((issue) => [issue.number, issue]));
  const approved = new Map<TaskId, ApprovedIssue>();
  const notices: ApprovalNotice[] = [];
  const strangers: { number: number; by: string | null }[] = [];
  const unasked: number[] = [];
  const changed: { number: number; editor: string | null }[] = [];
  const outdated: number[] = [];
  for (const [number, consent] of consents) {
    const issue = issues.get(number);
    if (issue === undefined || consent === 'gone') continue;
    const id = taskIdOfIssue(number);
    const { title, body } = workedText(admission, issue);
    if (consent.kind === 'never' && hasLabel(issue.labels, taskLabel)) strangers.push({ number, by: consent.by });
    else if (consent.kind === 'never') unasked.push(number);
    else if (consent.kind === 'given')
      approved.set(id, { number, text: { title, body }, by: consent.by, at: consent.at });
    else if (isCoveredByEvent(admission)) {
      approved.set(id, { number, text: { title, body }, by: consent.by, at: consent.askedAt });
      if (title !== issue.title || body !== issue.body) outdated.push(number);
    } else if (!isFinishedTask(state, id)) {
      changed.push({ number, editor: consent.editor });
      const notice = buildApprovalNotice(issue, consent);
      if (notice !== null) notices.push(notice);
    }
  }
  const isJudged = (task: Task): boolean => {
    const number = issueOfTask(task);
    return number === null || consents.has(number) || isFinishedTask(state, task.id);
  };
  return {
    tasks: tasks.map((task) => ({
      ...task,
      obstacle: task.obstacle ?? (isJudged(task) ? null : (findLabelObstacle(task) ?? 'unchecked')),
    })),
    state,
    approved,
    notices,
    warnings: [
      ...warnOfUntrustedLabels(taskLabel, strangers),
      ...warnOfUnaskedIssues(taskLabel, unasked),
      ...warnOfChanges(taskLabel, changed),
      ...outdated.map(
        (number) =>
          `The text of #${number} was changed after the label "${taskLabel}" was added; Ralph works on the earlier text.`,
      ),
      ...warnings,
    ],
  };
}

function isFinishedTask({ tasks }: LaneState, id: TaskId): boolean {
  return isFinished(getProgress(tasks, id));
}

function sourceNameOf({ source }: Task): TaskSourceName | null {
  if (source.kind === 'feedback') return null;
  return source.kind === 'issue' ? 'issues' : source.kind;
}
