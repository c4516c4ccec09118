import { nameOfTask, type Task } from '../../core/tasks/task.ts';
import type { CommandWords } from '../../core/people/command.ts';
import { flatten } from '../../core/text/one-line.ts';
import { prose, taskLink } from '../markdown.ts';

/** A step's readers: of a log, of a page on GitHub, or of a terminal beside a checkout. */
export type Target = 'log' | 'markdown' | 'terminal';

/** One thing that a person can do next, or that happens without them. `joint` joins it to the step before, and one without begins a sentence; `lead` stands in front of it, such as `to continue, `. */
export type NextStep = Deed & { readonly joint?: string; readonly lead?: string };

type Deed =
  | { readonly kind: Exclude<Kind, 'command'>; readonly what: Words }
  /** `on`: the threads in which it is commented; `byHand`: the workflow takes it as an input, too. */
  | { readonly kind: 'command'; readonly command: Command; readonly on: readonly string[]; readonly byHand: boolean };

/** Words of a sentence with code in `backticks`; a task among them is linked where it has a page. */
type Words = readonly (string | Task)[];

/** A command in the words in which people give it, `retry` with the task that is meant. */
type Command = CommandWords | `retry ${string}`;

/** The kinds of steps, each with the words that it begins with. */
export const KINDS = {
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
type Kind = keyof typeof KINDS;

/** Makes a step of one of the kinds but `command`. */
export function step(kind: Exclude<Kind, 'command'>, what: string | Words = '', joint?: string): NextStep {
  return { kind, what: typeof what === 'string' ? [what] : what, ...(joint === undefined ? {} : { joint }) };
}

/** Makes a step of a command, commented `on` threads. */
export function command(name: Command, on: readonly string[] = [], byHand = false): NextStep {
  return { kind: 'command', command: name, on, byHand };
}

/** Renders the steps as sentences in one line. */
export function renderSteps(steps: readonly NextStep[], target: Target): string {
  return renderStepList(steps, target).join(' ');
}

/** Renders the steps, one sentence an item. */
export function renderStepList(steps: readonly NextStep[], target: Target): readonly string[] {
  const starts = steps.flatMap(({ joint }, at) => (at === 0 || joint === undefined ? [at] : []));
  return starts.map((start, at) => renderSentence(steps.slice(start, starts[at + 1]), target));
}

/** Renders a command for where it is given: as a comment on GitHub, or in a shell. */
export function renderCommand(given: Command, target: Target): string {
  return writeWords(target === 'terminal' ? `ralph ${given}` : `\`/ralph ${given}\``, target);
}

/** Renders the command that continues a lane which a pause or an open circuit holds. */
export function renderContinuation(heldBy: 'pause' | 'circuit', target: Target): string {
  return renderCommand(heldBy === 'pause' ? 'resume' : target === 'terminal' ? 'reset circuit' : 'retry', target);
}

function renderSentence(steps: readonly NextStep[], target: Target): string {
  const parts: Words = steps.flatMap((one, at) => [
    at === 0 ? '' : (one.joint ?? ''),
    one.lead ?? '',
    ...clauseOf(one, target),
  ]);
  const line = [...parts, '.']
    .map((part) => (typeof part === 'string' ? writeWords(part, target) : nameFor(part, target)))
    .join('');
  // Behind `Next: ` in a terminal.
  return target === 'terminal' ? line : `${line.charAt(0).toUpperCase()}${line.slice(1)}`;
}

/** Writes words of ours with the blanks around them. */
function writeWords(words: string, target: Target): string {
  return words.replace(/\S(?:[^]*\S)?/, (own) =>
    target === 'markdown' ? prose(own, 1000) : flatten(own).replaceAll('`', ''),
  );
}

function nameFor(task: Task, target: Target): string {
  return target === 'markdown' ? taskLink(task) : nameOfTask(task);
}

function clauseOf(one: NextStep, target: Target): Words {
  if (one.kind === 'rerun' && target === 'terminal') return ['run again', ...one.what];
  if (one.kind !== 'command') return [KINDS[one.kind], ...one.what];
  const { command: given, on, byHand } = one;
  if (target === 'terminal') return [`ralph ${given}`];
  const [name = ''] = given.split(' ');
  const atHand = `run the workflow by hand with the command \`${name}\``;
  const comment = `${KINDS.command}\`/ralph ${given}\`${on.length === 0 ? '' : ` on ${on.join(' or ')}`}`;
  if (!byHand) return [comment];
  if (on.length > 0) return [`${comment}, or ${atHand}`];
  // The input of the workflow names no task.
  return name === given
    ? [atHand]
    : [`${atHand} (for all that failed or is blocked), or \`ralph ${given}\` in a checkout (for this one)`];
}

/** Returns where a person writes what a task asks for, behind other words. An item of the plan is known by its title. */
export function whereToWrite(task: Task): Words {
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
  check: 'a review of the pull request',
  conflict: 'a review of the pull request',
} as const;
