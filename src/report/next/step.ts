import type { FeedbackItem } from '../../core/feedback/memory.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { CommandWords } from '../../core/people/command.ts';
import { issueOfTask, nameOfTask, type Task } from '../../core/tasks/task.ts';
import { flattenText } from '../../core/text/phrase.ts';
import type { RunReport } from '../../handover/report.ts';
import {
  isQueue,
  listIterations,
  selectLaneReport,
  pickVerification,
  selectReportSetting,
  listLaneTasks,
  listSettingWarnings,
} from '../facts.ts';
import { formatInstantFrom } from '../format.ts';
import { renderProse, renderTaskLink } from '../markdown.ts';
import { describeObjections } from '../sentences/feedback.ts';

/** The place in which a step is read: a log, a page on GitHub, or a terminal next to a checkout. */
export type ReadingPlace = 'log' | 'markdown' | 'terminal';

/**
 * An action that a person can take next, or an event that needs nobody. `joint` joins the step to the one before (a
 * step without it begins a sentence). `lead` is text before the step, such as `to continue, `.
 */
export type NextStep = Deed & { readonly joint?: string; readonly lead?: string };

type Deed =
  | { readonly kind: Exclude<Kind, 'command'>; readonly what: Words }
  /**
   * A command. `on` contains the threads in which to comment. `byHand` is true if the workflow also accepts the command
   * as an input.
   */
  | { readonly kind: 'command'; readonly command: Command; readonly on: readonly string[]; readonly byHand: boolean };

/** Words of a sentence with code in `backticks`; a task among them becomes a link if it has a page. */
export type Words = readonly (string | Task)[];

/** A command as people write it; `retry` contains the task that it is for. */
type Command = CommandWords | `retry ${string}`;

/** The kinds of steps, each with the words that it begins with. */
export const STEP_OPENINGS = {
  command: 'comment ',
  rerun: 're-run the workflow',
  review: 'review ',
  merge: 'merge ',
  look: 'look at ',
  draft: 'switch auto-merge off and convert ',
  arm: 'switch auto-merge on again',
  fix: 'fix ',
  push: 'push ',
  answer: 'answer the agent',
  reply: 'reply in ',
  comment: 'reply on ',
  say: 'say ',
  simplify: 'make ',
  close: 'close ',
  finish: 'mark it as done in ',
  reopen: 'reopen ',
  resolve: 'resolve ',
  follow: 'do what ',
  decide: 'decide what needs a person',
  ask: 'ask ',
  label: 'put ',
  relabel: 'remove and re-add ',
  write: 'write ',
  raise: 'raise ',
  set: '',
  wait: '',
  note: '',
  nothing: 'nothing',
} as const;

type Kind = keyof typeof STEP_OPENINGS;

/** Creates a step of any kind but `command`. */
export function createNextStep(kind: Exclude<Kind, 'command'>, what: string | Words = '', joint?: string): NextStep {
  return { kind, what: typeof what === 'string' ? [what] : what, ...(joint === undefined ? {} : { joint }) };
}

/** Creates a step for a command, commented `on` threads. */
export function createCommandStep(name: Command, on: readonly string[] = [], byHand = false): NextStep {
  return { kind: 'command', command: name, on, byHand };
}

/** Renders the steps as sentences in one line. */
export function renderSteps(steps: readonly NextStep[], target: ReadingPlace): string {
  return buildStepList(steps, target).join(' ');
}

/** Builds the list of the steps, one sentence per item. */
export function buildStepList(steps: readonly NextStep[], target: ReadingPlace): readonly string[] {
  const starts = steps.flatMap(({ joint }, at) => (at === 0 || joint === undefined ? [at] : []));
  return starts.map((start, at) => renderSentence(steps.slice(start, starts[at + 1]), target));
}

/** Renders a command for the place in which it is given: as a comment on GitHub, or in a shell. */
export function renderCommand(given: Command, target: ReadingPlace): string {
  return writeWords(target === 'terminal' ? `ralph ${given}` : `\`/ralph ${given}\``, target);
}

/** Renders the command that continues a lane that a pause or an open circuit holds. */
export function renderContinuation(heldBy: 'pause' | 'circuit', target: ReadingPlace): string {
  return renderCommand(heldBy === 'pause' ? 'resume' : target === 'terminal' ? 'reset circuit' : 'retry', target);
}

function renderSentence(steps: readonly NextStep[], target: ReadingPlace): string {
  const parts: Words = steps.flatMap((one, at) => [
    at === 0 ? '' : (one.joint ?? ''),
    one.lead ?? '',
    ...clauseOf(one, target),
  ]);
  const line = renderWords([...parts, '.'], target);
  // A terminal prints the line after `Next: `, so it needs no capital.
  return target === 'terminal' ? line : `${line.charAt(0).toUpperCase()}${line.slice(1)}`;
}

/** Renders words for the place in which they are read. */
export function renderWords(words: Words, target: ReadingPlace): string {
  return words.map((part) => (typeof part === 'string' ? writeWords(part, target) : nameFor(part, target))).join('');
}

/** Writes our own words and keeps the blanks around them. */
function writeWords(words: string, target: ReadingPlace): string {
  return words.replace(/\S(?:[^]*\S)?/, (own) =>
    target === 'markdown' ? renderProse(own, 1000) : flattenText(own).replaceAll('`', ''),
  );
}

function nameFor(task: Task, target: ReadingPlace): string {
  return target === 'markdown' ? renderTaskLink(task) : nameOfTask(task);
}

function clauseOf(one: NextStep, target: ReadingPlace): Words {
  if (one.kind === 'rerun' && target === 'terminal') return ['run again', ...one.what];
  if (one.kind !== 'command') return [STEP_OPENINGS[one.kind], ...one.what];
  const { command: given, on, byHand } = one;
  if (target === 'terminal') return [`ralph ${given}`];
  const [name = ''] = given.split(' ');
  const atHand = `run the workflow by hand with the command \`${name}\``;
  const comment = `${STEP_OPENINGS.command}\`/ralph ${given}\`${on.length === 0 ? '' : ` on ${on.join(' or ')}`}`;
  if (!byHand) return [comment];
  if (on.length > 0) return [`${comment}, or ${atHand}`];
  // The workflow's input cannot name this task, so also give the command for a checkout.
  return name === given
    ? [atHand]
    : [`${atHand} (for all that failed or is blocked), or \`ralph ${given}\` in a checkout (for this one)`];
}

/**
 * Creates the step of answering on a task's issue with one comment, which contains the command and then the words for
 * the agent.
 */
export function createReplyStep(issue: Task, words: string, joint?: string): NextStep {
  return createNextStep('comment', [issue, ` with one comment: first line \`/ralph retry\`, ${words}`], joint);
}

/**
 * Returns the place where a person writes more about a task, as the end of a sentence. An item of the plan is
 * identified by its title.
 */
export function describeWhereToWrite(task: Task): Words {
  switch (task.source.kind) {
    case 'issue':
      return [': in the text of ', task, ' or in a comment on it'];
    case 'plan':
      return [': below the title in ', task, ' (another title makes it another task)'];
    case 'feedback':
      return [`: in ${REVIEW_PLACES[task.source.on.kind]}`];
    default:
      return [': in ', task];
  }
}

const REVIEW_PLACES = {
  thread: 'the thread',
  review: 'a new review',
  comment: 'a new comment',
  check: 'a review of the pull request',
  conflict: 'a review of the pull request',
} as const;

/**
 * Returns how a person continues with the requests on the pull request. `rounds` is `unknown` if more rounds may be
 * allowed.
 */
export function suggestForFeedback(kind: FeedbackItem['kind'], rounds: 'used-up' | 'unknown'): readonly NextStep[] {
  const retry = createCommandStep('retry', ['the pull request']);
  const push = createNextStep('push', 'a fix yourself (Ralph counts its rounds from there)');
  const orRetry: NextStep = { ...retry, joint: '; or ' };
  switch (kind) {
    case 'thread':
      if (rounds === 'unknown')
        return [
          ...[
            createNextStep('reply', 'the thread'),
            createNextStep('push', 'a fix yourself', ', '),
            createNextStep('resolve', 'the thread', ', or '),
          ],
          ...[createNextStep('note', 'if a reply starts nothing, its rounds are used up'), { ...retry, joint: ': ' }],
        ];
      return [
        ...[push, createNextStep('say', 'more in the thread', '; or '), { ...retry, joint: ', then ' }],
        createNextStep('resolve', 'the thread', '; or '),
      ];
    case 'review':
    case 'comment':
      return [push, createNextStep('say', `in a new ${kind} what is missing`, '; or '), orRetry];
    case 'check':
      return [push, orRetry];
    case 'conflict':
      return [createNextStep('merge', 'the base branch yourself and push'), orRetry];
  }
}

/**
 * Returns the steps for a feedback task once no more rounds are allowed. `stands` is true if the last answer is still
 * valid and may be enough.
 */
export function suggestAfterRounds(kind: FeedbackItem['kind'], stands: boolean): readonly NextStep[] {
  const steps = suggestForFeedback(kind, 'used-up');
  if (!stands) return steps;
  return [
    createNextStep('nothing', ENOUGH_IF[kind] ?? ', if that is what you wanted'),
    ...steps.map((one, at) => (at === 0 ? { ...one, lead: 'if not, ' } : one)),
  ];
}

const ENOUGH_IF: Readonly<Partial<Record<FeedbackItem['kind'], string>>> = {
  check: ', if the check passes now',
  conflict: ', if the pull request can be merged now',
};

/** Returns how the work gets into the base branch; objections to a merge come first. */
export function suggestMerge(report: RunReport): readonly NextStep[] {
  if (pickVerification(report).kind === 'failed')
    return [createNextStep('look', 'the failing tests before anything is merged')];
  const against = suggestForObjections(report);
  if (against.length > 0) return against;
  return selectLaneReport(report)?.checks?.unstarted === true
    ? [
        createNextStep('set', 'start the checks, which have not run'),
        createNextStep('review', 'the pull request', '; then '),
        AND_MERGE,
      ]
    : listSettingWarnings(report).length === 0
      ? [createNextStep('review', 'the pull request'), AND_MERGE]
      : [createNextStep('look', 'the warnings'), createNextStep('review', 'the pull request', ', then '), AND_MERGE];
}

const AND_MERGE = createNextStep('merge', 'it', ' and ');

/** Returns a step to look at the objections of people and CI to the pull request; empty if none is known. */
export function suggestForObjections(report: RunReport): readonly NextStep[] {
  const why = describeObjections(report);
  return why === '' ? [] : [createNextStep('look', `the pull request before anything is merged: ${why}`)];
}

/** A private repository without a paid plan has no drafts. */
const OR_DISMISS = '(where there are no drafts, dismiss the approval)';

/** Returns the steps that end the wait for a review. */
export function suggestReview(report: RunReport): readonly NextStep[] {
  const held = selectLaneReport(report)?.held ?? null;
  if (held === null || report.kind === 'worked')
    return [
      ...[createNextStep('review', 'and merge what is open'), createNextStep('close', 'it', ', or ')],
      createNextStep('wait', 'then the queue continues by itself', ': '),
    ];
  if (held.refusal !== null)
    return [
      ...[
        createNextStep('draft', `the pull request to a draft by hand ${OR_DISMISS}`),
        createNextStep('merge', 'it', ', or '),
      ],
      createNextStep('wait', 'then the next run continues', ': '),
    ];
  return [
    ...[createNextStep('merge', 'it'), createNextStep('wait', 'then work continues by itself', ': ')],
    { ...createNextStep('draft', `it to a draft ${OR_DISMISS}`), lead: 'to add more work first, ' },
    { ...createCommandStep('run'), joint: ', or ' },
  ];
}

/** Returns what people can do with a pull request that is ready: merge it, ask for more, or reject it. */
export function suggestWhenReady(report: RunReport): readonly NextStep[] {
  const [change, ...others] = stepsToChange(report);
  return [
    ...suggestMerge(report),
    ...(change === undefined ? [] : [{ ...change, lead: 'to request a change, ' }, ...others]),
    { ...createNextStep('close', 'the pull request'), lead: 'to reject it, ' },
  ];
}

/** Returns how to request a change. A done task stays done unless reviews are answered, so the change is new work. */
function stepsToChange(report: RunReport): readonly NextStep[] {
  if (selectReportSetting(report)?.answersReviews === true)
    return [createNextStep('review', 'it'), createNextStep('wait', 'Ralph answers each comment of a review', ': ')];
  if (!listLaneTasks(report).some(({ task }) => issueOfTask(task) !== null))
    return [createNextStep('set', 'add a task for it')];
  const own = isQueue(report) ? [createNextStep('wait', '(that opens a pull request of its own)', ' ')] : [];
  return [
    createNextStep('set', 'describe it in the issue'),
    { ...createCommandStep('run', ['the issue']), joint: ' and ' },
    ...own,
  ];
}

/** The steps after auto-merge was disabled, before new commits or where none came of it. */
export const STEPS_AFTER_DISARMING: readonly NextStep[] = [
  ...[createNextStep('review', 'any new commits'), { ...createNextStep('arm'), lead: 'then ' }],
  createNextStep('merge', 'the pull request', ', or '),
];

const RUN_TO_CONTINUE = createNextStep('rerun', ' to continue');

const THEN_RUN = createNextStep('rerun', '', ', then ');

const AND_RUN = createNextStep('rerun', '', ' and ');

const REVIEW_AND_MERGE = [createNextStep('review', 'the branch'), createNextStep('merge', 'it', ' and ')];

const NOTHING = [createNextStep('nothing', ' to do')];

/** Returns what a person can do after a run on their own machine, where nothing starts by itself. */
export function suggestAtHome(report: RunReport): readonly NextStep[] {
  const { outcome, endedAt: now } = report;
  switch (outcome.kind) {
    case 'complete':
      return REVIEW_AND_MERGE;
    case 'parked': {
      const run = createNextStep('rerun', ` after ${formatInstantFrom(outcome.resumeAt, now)}`);
      return selectReportSetting(report)?.policy.onLimit === 'park'
        ? [run, createNextStep('set', 'use --on-limit wait', ', or ')]
        : [run];
    }
    case 'limit':
      return [RUN_TO_CONTINUE];
    case 'paused':
      return outcome.reason === 'withdrawn' || outcome.by.startsWith('you')
        ? [RUN_TO_CONTINUE]
        : [createCommandStep('resume'), THEN_RUN];
    case 'cancelled':
      return listIterations(report).some(({ evidence }) => evidence.end.kind === 'cancelled')
        ? [RUN_TO_CONTINUE, createNextStep('note', 'the iteration that was running is lost', '; ')]
        : [RUN_TO_CONTINUE];
    case 'halted': {
      if (outcome.reason !== 'circuit_open') return [createNextStep('fix', 'the cause'), THEN_RUN];
      const probe = `without a reset one iteration tries again after ${formatInstantFrom(outcome.probeAt, now)}`;
      const reset: NextStep = { ...createCommandStep('reset circuit'), joint: ', then ' };
      return [createNextStep('fix', 'the cause'), reset, AND_RUN, createNextStep('wait', probe, '; ')];
    }
    case 'blocked':
      return outcome.reason === 'base_is_red'
        ? [createNextStep('fix', 'the base branch'), THEN_RUN]
        : [
            createNextStep('simplify', 'the open tasks clearer'),
            { ...createCommandStep('retry'), joint: ', then ' },
            AND_RUN,
          ];
    case 'idle':
      return IDLE[outcome.reason];
    case 'refused':
      return [createNextStep('rerun', ' when the other run has ended')];
    case 'failed':
      return [createNextStep('follow', 'the message says'), THEN_RUN];
  }
}

const IDLE: Readonly<Record<Extract<Outcome, { kind: 'idle' }>['reason'], readonly NextStep[]>> = {
  no_tasks: [
    createNextStep('set', 'add a task (ralph add "…") and commit it'),
    createNextStep('note', 'what is not committed is not seen', ': '),
  ],
  all_done: [createNextStep('merge', 'the branch'), createNextStep('set', 'add a task', ', or ')],
  waiting_for_review: [...REVIEW_AND_MERGE, createNextStep('raise', 'max-tasks-per-pr and max-lines-per-pr', ', or ')],
  no_such_label: [createNextStep('set', 'create the label, or set task-label to the one that you use')],
  not_for_us: NOTHING,
  answered: NOTHING,
  updated: NOTHING,
};
