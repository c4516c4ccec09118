import { policyInputs } from '../../config/agent-inputs.ts';
import { parseLeftOutReason } from '../../core/review/left-out.ts';
import { cutText } from '../../core/text/phrase.ts';
import { isHashedId } from '../../core/tasks/ids.ts';
import {
  issueOfTask,
  isListedTask,
  isStuck,
  findMarkingFile,
  type Task,
  type TaskProgress,
} from '../../core/tasks/task.ts';
import type { RunReport, TaskReport } from '../../handover/report.ts';
import { listAllTasks, isQueue, listIterationsOn, selectLaneReport, pickVerification } from '../facts.ts';
import { namesOfAwaited, describeTaskSources } from '../sentences/waiting.ts';
import { listWithheldFrom } from '../sentences/ends/withheld.ts';
import {
  createCommandStep,
  type NextStep,
  suggestForFeedback,
  createReplyStep,
  createNextStep,
  describeWhereToWrite,
} from './step.ts';

/** Maximum number of protected paths that are named; the summary lists the others. */
const SHOWN_PATHS = 5;

/** Returns what a person can do about one task that was given up, set aside or needs them. */
export function suggestForTask(one: TaskReport, report: RunReport): readonly NextStep[] {
  const { task, progress } = one;
  const advice = adviceFor(progress);
  if (task.source.kind === 'feedback' && advice !== 'push_refused') {
    const allow = advice === 'withheld' ? allowSteps(one, report) : [];
    const [first, ...others] = stepsForSubject(one);
    const isFirstJoined = allow.length > 0 && first !== undefined;
    const steps = isFirstJoined ? [{ ...first, lead: 'if not, ', joint: '; ' }, ...others] : stepsForSubject(one);
    return [...verificationSteps(one, report), ...allow, ...steps];
  }
  const threads = threadsOf(task, report);
  const retry = createCommandStep(readableRetry(task), threads, threads.length === 0);
  if (findMarkingFile(task, progress) !== null) return [{ ...retry, lead: 'to try it, ' }];
  const raise = createNextStep('raise', `\`${policyInputs.maxIterationsPerTask.name}\``);
  const more: NextStep = { ...raise, lead: 'if it only needs more iterations, ' };
  const hasUsedIterations = advice === 'failed' && progress.reason !== 'ceiling';
  const before = verificationSteps(one, report);
  if (task.source.kind === 'issue')
    return [...before, ...replySteps(one, advice, report), ...(hasUsedIterations ? [more] : [])];
  return [
    ...before,
    ...(advice === 'withheld'
      ? withheldSteps(one, report)
      : adviceSteps(advice, describeWhereToWrite(task), createNextStep('finish', ['', task]))),
    ...(hasUsedIterations ? [more] : []),
    // The files that are allowed need no command.
    advice === 'withheld' ? { ...retry, joint: ', then ' } : { ...retry, lead: 'then ' },
    createNextStep('note', 'the task gets all its iterations again', ': '),
  ];
}

/** Returns the steps for an issue, on which one comment is the command and the answer. */
function replySteps(one: TaskReport, advice: Advice, report: RunReport): readonly NextStep[] {
  const { task } = one;
  const reply = (words: string): NextStep => createReplyStep(task, words);
  const otherwise = (words: string, lead: string): NextStep => ({ ...createReplyStep(task, words, '; '), lead });
  const retry: NextStep = { ...createCommandStep('retry', ['the issue']), joint: ' and ' };
  switch (advice) {
    case 'blocked':
      return [reply('your answer below')];
    case 'nothing_to_do':
      return [
        { ...createNextStep('close', ['', task]), lead: 'if nothing is missing, ' },
        otherwise('below it what is missing', 'otherwise '),
      ];
    case 'withheld': {
      const allow = allowSteps(one, report);
      return allow.length === 0
        ? [reply('below it how to do without them')]
        : [...allow, otherwise('below it how to do without them', 'if not, ')];
    }
    case 'push_refused':
      return [
        createNextStep('follow', 'the git server asks for'),
        retry,
        otherwise('below it how to do without', 'or '),
      ];
    case 'stuck':
      return [reply('below it what the agent should do differently')];
    case 'failed':
      return [
        createNextStep('simplify', 'the task smaller or clearer'),
        createReplyStep(task, 'below it what the agent should know', ', then '),
      ];
  }
}

/**
 * Returns the command that retries a task by a name that people can read. If the id is a hash, returns the command that
 * retries all that failed or is blocked.
 */
function readableRetry(task: Task): 'retry' | `retry ${string}` {
  const name = issueOfTask(task) ?? (isListedTask(task) && !isHashedId(task.id) ? task.id : null);
  return name === null ? 'retry' : `retry ${String(name)}`;
}

/** Returns what a person can do if no open task of the run can be worked on. */
export function suggestWhenBlocked(report: RunReport): readonly NextStep[] {
  const tasks = listAllTasks(report);
  const stuck = tasks.filter(({ progress }) => isStuck(progress));
  const outside = namesOfAwaited(tasks);
  if (stuck.length === 0) {
    if (tasks.some(({ task, progress }) => task.obstacle !== null && progress.state !== 'done'))
      return [createNextStep('follow', 'each line says'), lookAgain(report)];
    if (outside.length > 0) return [...dependencySteps(outside, report), lookAgain(report)];
  }
  const [one, ...others] = stuck;
  if (one !== undefined && others.length === 0) return suggestForTask(one, report);
  const worked = stuck.filter(({ task, progress }) => isListedTask(task) && findMarkingFile(task, progress) === null);
  const isAsked = stuck.some(({ task }) => !isListedTask(task));
  const threads = threadsOfAll(stuck, report);
  const retry = createCommandStep('retry', threads, threads.length === 0);
  // Tasks that were never tried in this run have no known problem, so only advise a retry.
  if (stuck.length > 0 && worked.length === 0 && !isAsked)
    return [{ ...retry, lead: `to try ${stuck.length === 1 ? 'it' : 'them'}, ` }];
  const needed = stuck.length === 0 ? ['blocked'] : worked.map(({ progress }) => adviceFor(progress));
  const hasIssue = stuck.length === 0 || worked.some(({ task }) => issueOfTask(task) !== null);
  const done = hasIssue ? createNextStep('close', 'the issue') : createNextStep('set', 'tick the task');
  const isRed = pickVerification(report).kind === 'failed';
  const steps: readonly NextStep[] = [
    ...(isAsked
      ? [createNextStep('push', 'a fix yourself'), createNextStep('say', 'more where it was asked', ', or ')]
      : []),
    ...ADVICE.filter((kind) => needed.includes(kind)).flatMap((kind) => {
      const where = kind === 'blocked' ? [` in the task's text${hasIssue ? ' or in a comment on its issue' : ''}`] : [];
      const own = adviceSteps(kind, where, done);
      return kind === 'failed' && isRed
        ? [createNextStep('fix', 'what makes `verify` fail'), ...own.map((other) => ({ ...other, joint: ', or ' }))]
        : own;
    }),
    { ...retry, lead: 'then ' },
  ];
  return steps.map((own, at) => (at === 0 ? own : { joint: '; ', ...own }));
}

const ADVICE = ['blocked', 'nothing_to_do', 'withheld', 'push_refused', 'stuck', 'failed'] as const;
type Advice = (typeof ADVICE)[number];

function adviceFor({ state, reason }: TaskProgress): Advice {
  if (state === 'failed') return state;
  if (state !== 'blocked') return 'stuck';
  return ADVICE.find((kind) => kind === reason) ?? state;
}

/**
 * Returns the steps that remove a task's obstacle. `where` is the place to write about it, or empty; `done` is the step
 * that marks the task as done.
 */
function adviceSteps(
  advice: Advice,
  where: ReturnType<typeof describeWhereToWrite>,
  done: NextStep,
): readonly NextStep[] {
  const say = (what: string, joint?: string): NextStep => createNextStep('say', [what, ...where], joint);
  switch (advice) {
    case 'blocked':
      return [createNextStep('answer', where)];
    case 'nothing_to_do':
      return [
        { ...done, lead: 'if nothing is missing, ' },
        { ...say('what is missing', '; '), lead: 'otherwise ' },
      ];
    case 'withheld':
      return [
        createNextStep('set', 'allow the files that are not published (`allow-protected-paths`)'),
        say(WITHOUT_THEM, ', or '),
      ];
    case 'push_refused':
      return [createNextStep('follow', 'the git server asks for'), say('how to do without', ', or ')];
    case 'stuck':
      return [say('what the agent should do differently')];
    case 'failed':
      return [
        createNextStep('simplify', 'the task smaller or clearer'),
        ...(where.length === 0 ? [] : [say('what the agent should know', ', or ')]),
      ];
  }
}

const WITHOUT_THEM = 'that the task should do without them';

function withheldSteps(one: TaskReport, report: RunReport): readonly NextStep[] {
  const allow = allowSteps(one, report);
  const without = createNextStep('say', [WITHOUT_THEM, ...describeWhereToWrite(one.task)]);
  return allow.length === 0 ? [without] : [...allow, { ...without, lead: 'if not, ', joint: '; ' }];
}

/**
 * Returns the steps that allow the files of a task, after which it continues by itself; empty unless all of them are
 * protected paths.
 */
function allowSteps(one: TaskReport, report: RunReport): readonly NextStep[] {
  const files = listWithheldFrom(one, report);
  const paths = files.filter(({ why }) => parseLeftOutReason(why) === 'protected').map(({ path }) => path);
  if (paths.length === 0 || paths.length < files.length) return [];
  const allowed = paths.slice(0, SHOWN_PATHS).map((path) => cutText(path, 100).replaceAll('`', "'"));
  const value = allowed.join(', ').replaceAll("'", "''");
  const allow = createNextStep('set', `add \`allow-protected-paths: '${value}'\` to the \`settings:\` of the workflow`);
  return [{ ...allow, lead: 'if Ralph may change them, ' }, createNextStep('wait', 'the next run continues', ': ')];
}

/** Mentions a verification that never passed, because it keeps every task from being done. */
function verificationSteps({ task }: TaskReport, report: RunReport): readonly NextStep[] {
  const ran = listIterationsOn(report, task.id)
    .map(({ evidence }) => evidence.verification)
    .filter(({ kind }) => kind !== 'not-run');
  const newest = ran.at(-1);
  if (newest?.kind !== 'failed' || ran.some(({ kind }) => kind !== 'failed')) return [];
  const command = cutText(newest.command, 80).replaceAll('`', "'");
  return [
    createNextStep('note', `\`verify\` never passed (\`${command}\`)`),
    ...[createNextStep('note', 'see what it printed', ': '), createNextStep('fix', 'it if it cannot pass', ', and ')],
  ];
}

function stepsForSubject({ task: { source }, progress }: TaskReport): readonly NextStep[] {
  if (source.kind !== 'feedback') return [];
  return suggestForFeedback(source.on.kind, progress.reason === 'feedback_rounds' ? 'used-up' : 'unknown');
}

/** Returns the threads in which a task can be retried; empty if it can only be retried by hand. */
function threadsOf(task: Task, report: RunReport): readonly string[] {
  return [
    ...(issueOfTask(task) === null ? [] : ['the issue']),
    ...((selectLaneReport(report)?.pullRequest ?? null) === null ? [] : ['the pull request']),
  ];
}

/**
 * Returns the threads for a retry of all tasks that failed or are blocked; empty if they can only be retried by hand.
 */
function threadsOfAll(stuck: readonly TaskReport[], report: RunReport): readonly string[] {
  if (stuck.some(({ task }) => !isListedTask(task))) return ['the pull request'];
  if (!isQueue(report)) return ['the issue'];
  if ((selectLaneReport(report)?.pullRequest ?? null) !== null) return ['the pull request'];
  return stuck.every(({ task }) => issueOfTask(task) !== null) ? ['its issue'] : [];
}

/** Returns the steps for dependencies outside of the lane. Ralph can work on issues of this repository only. */
function dependencySteps(outside: readonly string[], report: RunReport): readonly NextStep[] {
  const here = outside.filter((name) => name.startsWith('#'));
  const shown = `${here.slice(0, 5).join(', ')}${here.length > 5 ? ' and the others' : ''}`;
  const remove = createNextStep('set', 'remove the dependency', ', or ');
  if (here.length === 0)
    return [createNextStep('note', 'what they wait for is in another repository: close it there'), remove];
  const label = createNextStep('label', `${describeTaskSources(report).label} on ${shown}`);
  return [
    { ...label, lead: 'to have Ralph work on what they wait for, ' },
    createNextStep('close', 'it', '; or '),
    ...(here.length < outside.length
      ? [createNextStep('note', 'what is in another repository must be closed there', '; '), remove]
      : []),
  ];
}

function lookAgain(report: RunReport): NextStep {
  return isQueue(report)
    ? createNextStep('wait', 'the next run looks again', '; ')
    : { ...createCommandStep('run', ['the issue']), joint: '; then ' };
}
