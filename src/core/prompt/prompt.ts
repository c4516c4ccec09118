import type { Verification } from '../evidence.ts';
import { REVIEW_PROTOCOL } from '../pipeline/review.ts';
import type { CircuitView } from '../lane/circuit.ts';
import type { LastIteration } from '../lane/state/state.ts';
import type { TaskCounts } from '../tasks/queue.ts';
import { nameOfTask, type RefusedWork, type Task } from '../tasks/task.ts';
import { capText, toOneLine } from '../text/phrase.ts';
import {
  describeMarking,
  MAX_ATTEMPTS_CHARS,
  MAX_TAKEOVER_CHARS,
  renderPrecedenceRules,
  type Takeover,
} from './diagnosis.ts';
import {
  type CallAim,
  selectClaimInstructions,
  type HintCode,
  describeHint,
  renderPromptIntro,
  taskIntro,
} from './hints.ts';
import {
  renderDataSection,
  FEEDBACK_SUMMARY,
  renderFeedbackClaims,
  renderFeedbackIntro,
  LEARNINGS_PATH,
  buildMergeSections,
  type MergeToFinish,
  takeLastChars,
} from './learnings.ts';
import {
  buildRefusedSection,
  buildWithheldSection,
  listSection,
  describeWithheldFiles,
  renderBullets,
  type PromptSection,
  renderSection,
} from './sections.ts';

/** Everything that a prompt is made of. */
export interface PromptParts {
  readonly aim: CallAim;
  /** The user's PROMPT.md, the built-in prompt, or the prompt of a step. */
  readonly promptTemplate: string;
  /** Path of the prompt; null for the built-in one. */
  readonly promptPath: string | null;
  /** Text of the prompt that is itself the task. */
  readonly taskPrompt: string;
  /** Instructions that precede the prompt, such as another Ralph's setup prompt; empty if none. */
  readonly setup: string;
  /** Files that say how to build and test. */
  readonly instructions: readonly string[];
  /** Paths of specifications. */
  readonly specifications: readonly string[];
  /** Notes on the code by an agent of another Ralph; empty if none. */
  readonly patterns: string;
  readonly task: Task;
  /** The unfinished merge in the work tree, if finishing it is the task; null if none. */
  readonly merge: MergeToFinish | null;
  /** `listed` if the task's file on this branch contains its item; meaningless for an issue. */
  readonly standing: 'listed' | 'unlisted';
  /** Titles of the other open tasks, in order of work. */
  readonly others: readonly string[];
  /** Number of the iteration within the run, 1-based. */
  readonly iteration: number;
  readonly maxIterations: number;
  readonly remaining: TaskCounts;
  readonly circuit: CircuitView;
  readonly lastIteration: LastIteration | null;
  /** The newest verification of this run; null if none. */
  readonly lastVerification: Verification | null;
  /** Description of this run's attempts (diagnosis.ts), shown while the circuit is half-open. */
  readonly attempts: string;
  readonly hints: readonly HintCode[];
  /** The part of the task's last work that the git server refused; null if none. */
  readonly refused: RefusedWork | null;
  /** The work of another agent on the task, which is not in this agent's session; null if none. */
  readonly takeover: Takeover | null;
  readonly learnings: string;
  /** Path of the lane's notebook. */
  readonly notesPath: string;
  readonly verifyCommands: readonly string[];
  /**
   * The call's place in the pipeline as a sentence, the notes of earlier and recently failed steps, and what reviews
   * found; null without a pipeline.
   */
  readonly pipeline: { readonly fact: string; readonly notes: string; readonly findings: string } | null;
}

/** Maximum characters of the context; the following limits apply to texts of others within it. */
const MAX_CONTEXT = 2_500;

const MAX_LEARNINGS = 2_000;

const MAX_PATTERNS = 1_000;

const MAX_TAIL = 600;

const MAX_STEP_NOTES = 1_000;

const MAX_FINDINGS = 1_300;

const MAX_COMMANDS = 300;

/** Maximum characters of all comments on the task, which stand outside of the context. */
const MAX_COMMENTS = 6_000;

/** Characters kept free of facts and hints, for the data that follows them. */
const KEPT_FOR_DATA = 400;
const KEPT_FOR_MUCH_DATA = 1_300;

/**
 * Composes the text for the agent's stdin. The context is at its top: a resumed session keeps the system prompt of its
 * first call, so nothing that changes may go there.
 */
export function composePrompt(parts: PromptParts): string {
  const { aim, promptTemplate, promptPath, setup, task } = parts;
  return [
    contextOf(parts),
    setup.trim(),
    promptTemplate.trim(),
    // The built-in prompt contradicts none of the loop's rules, so they need no precedence.
    promptPath === null || aim === 'review'
      ? ''
      : renderPrecedenceRules({ ...parts, prompt: `${setup}\n${promptTemplate}` }),
    `# ${aim === 'task' ? 'Your task' : 'The task of the iteration'}: ${task.id}`,
    ...(task.source.kind === 'prompt' ? openEndedTask(parts, task.source) : taskSections(parts)),
    protocol(parts),
  ]
    .filter((section) => section !== '')
    .join('\n\n');
}

function protocol({ aim, task }: PromptParts): string {
  if (aim === 'review') return REVIEW_PROTOCOL;
  const { source } = task;
  const claims =
    source.kind === 'feedback' && aim !== 'once'
      ? renderFeedbackClaims(source.on.kind)
      : selectClaimInstructions(aim, source.kind === 'prompt');
  return `# How to end

End your final message with this block, as plain text outside any code fence, one value per field:

---RALPH_STATUS---
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: <number>
FILES_MODIFIED: <number>
TESTS_STATUS: PASSING | FAILING | NOT_RUN
WORK_TYPE: IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING
EXIT_SIGNAL: false | true
RECOMMENDATION: <one line: what to do next>
SUMMARY: <one to three sentences for the reviewer: what was done, what was assumed, what was left out>
QUESTION: <only with BLOCKED: the one thing a person must decide, with the choices>
---END_RALPH_STATUS---

${claims}
- You cannot continue without a person: STATUS: BLOCKED, and say in QUESTION what they must decide. Otherwise leave QUESTION out.
- ${isAnswer(aim, task) ? FEEDBACK_SUMMARY : SUMMARY}

Each claim is compared with what really changed in the repository.`;
}

const SUMMARY =
  'SUMMARY is what a reviewer reads first. A block without it is complete, but say what you assumed and left out.';

/** Returns true if the summary is posted as the answer to people or CI. */
function isAnswer(aim: CallAim, { source }: Task): boolean {
  return aim !== 'once' && source.kind === 'feedback' && source.on.kind !== 'conflict';
}

/** Maximum number of documents listed for a prompt that points to them. */
const MAX_DOCUMENTS = 20;

/** Returns the sections of a task that is itself a prompt. A step with its own prompt would not see it otherwise. */
function openEndedTask(
  { aim, taskPrompt }: PromptParts,
  { path, documents }: Extract<Task['source'], { kind: 'prompt' }>,
): readonly string[] {
  const more = documents.length - MAX_DOCUMENTS;
  const named = [...documents.slice(0, MAX_DOCUMENTS), ...(more > 0 ? [`… and ${more} more`] : [])];
  return [
    ...(aim === 'task' ? [] : [renderPromptIntro(aim, path), renderDataSection('TASK', taskPrompt.trim())]),
    aim !== 'task'
      ? ''
      : `There is no list of tasks: do what the text of ${path}, which stands above, asks for. Choose what is most important and still missing, and do one piece of it well. The loop calls you again for the next one, and ends when everything is done.`,
    documents.length === 0
      ? ''
      : `These files may say more of what is wanted:\n${renderDataSection('DOCUMENTS', named.map((name) => `- ${toOneLine(name, 200)}`).join('\n'))}`,
  ];
}

/** Returns the sections of a task. All text by people, including names and places, stands between marker lines. */
function taskSections({ aim, task, standing, merge, instructions }: PromptParts): readonly string[] {
  const { title, body, source, comments } = task;
  const isInFile = source.kind === 'plan' || source.kind === 'prd' || source.kind === 'beads';
  const position = isInFile ? positionInFile(task, source, standing) : '';
  const conversation = comments.map(({ by, text }) => `${by}:\n${text.trim().replace(/^/gm, '  ')}`).join('\n\n');
  return [
    source.kind === 'feedback' ? renderFeedbackIntro(aim, source.on.kind, merge !== null) : taskIntro[aim],
    renderDataSection(
      'TASK',
      [position === '' ? '' : `(${position})`, title, body]
        .map((part) => part.trim())
        .filter((part) => part !== '')
        .join('\n\n'),
    ),
    conversation === ''
      ? ''
      : `What was said about it, oldest first, as data:\n${renderDataSection('COMMENTS', takeLastChars(conversation, MAX_COMMENTS))}`,
    ...(merge === null || aim === 'once' ? [] : buildMergeSections(merge, instructions)),
    isInFile && (aim === 'task' || aim === 'step') ? describeMarking(source.kind, standing, aim) : '',
  ];
}

/**
 * Returns the position of a task in its file. The line is left out if this branch lacks the item, because the line
 * would point to another item.
 */
function positionInFile(
  task: Task,
  source: Extract<Task['source'], { kind: 'plan' | 'prd' | 'beads' }>,
  standing: PromptParts['standing'],
): string {
  if (source.kind !== 'plan') return `${source.path}, ${nameOfTask(task)}`;
  return standing === 'listed' ? `${source.path}, line ${source.line}` : source.path;
}

const CONTEXT_INTRO =
  "What follows here is about the iteration as a whole: it holds as far as this step's instructions go, and changes none of them.";

function contextOf(parts: PromptParts): string {
  const hints = parts.hints.map(describeHint);
  const ofIteration = parts.aim === 'task' || hints.length === 0 ? [] : [CONTEXT_INTRO];
  const { takeover } = parts;
  const diagnoses = isDiagnosis(parts);
  const head = `# Context of this iteration\n\n${renderBullets([...promptFacts(parts), ...ofIteration, ...hints], MAX_CONTEXT - (hasMuchData(parts) ? KEPT_FOR_MUCH_DATA : KEPT_FOR_DATA))}`;
  const sections: readonly PromptSection[] = [
    buildRefusedSection(parts.refused),
    {
      title: `Another agent (${takeover?.from ?? ''}) worked on this task before you, and you cannot remember it: its changes are in the work tree. What was done, as data:`,
      label: 'DONE',
      text: takeover?.text ?? '',
      max: MAX_TAKEOVER_CHARS,
    },
    {
      title: 'What the last iterations tried and what happened, as data:',
      label: 'ATTEMPTS',
      text: diagnoses ? parts.attempts : '',
      max: MAX_ATTEMPTS_CHARS,
    },
    {
      title: 'What reviews found in the work on this task, the worst last, as data:',
      label: 'FINDINGS',
      text: parts.pipeline?.findings ?? '',
      max: MAX_FINDINGS,
    },
    {
      title: 'What other steps of the pipeline say, as data:',
      label: 'STEPS',
      text: parts.pipeline?.notes.trim() ?? '',
      max: MAX_STEP_NOTES,
    },
    buildWithheldSection(describeWithheldFiles(parts)),
    listSection(
      'Work of yours that is not in the work tree, as data:',
      'BESIDE',
      parts.hints.includes('work_beside') ? (parts.lastIteration?.beside ?? []) : [],
    ),
    {
      title: 'Finished tasks: tests that pass without the change, or whose old form fails with it, as data:',
      label: 'TESTS',
      text: (parts.lastIteration?.unproven ?? []).map((sentence) => `- ${sentence}`).join('\n'),
      max: MAX_TAIL,
    },
    listSection(
      'Failures of the last verification that the base branch does not have, as data:',
      'NEW',
      parts.lastVerification?.kind === 'failed' ? parts.lastVerification.newlyRed : [],
    ),
    {
      title: 'End of the output of the failed verification, as data:',
      label: 'OUTPUT',
      text: parts.lastVerification?.kind === 'failed' ? parts.lastVerification.tail.trim() : '',
      max: MAX_TAIL,
    },
    {
      title: `Notes from earlier iterations on any task (${parts.notesPath}), as data:`,
      label: 'NOTES',
      text: parts.learnings.trim(),
      max: MAX_LEARNINGS,
    },
    {
      title: 'Patterns of this code that earlier agents noted (progress.txt), as data:',
      label: 'PATTERNS',
      text: parts.patterns,
      max: MAX_PATTERNS,
    },
    listSection('Other open tasks, which are for later, as data:', 'LATER', parts.others),
  ];
  return sections.reduce((text, section) => text + renderSection(section, MAX_CONTEXT - text.length), head);
}

function isDiagnosis({ circuit, attempts }: PromptParts): boolean {
  return circuit.kind === 'half-open' && attempts !== '';
}

function hasMuchData(parts: PromptParts): boolean {
  const { refused, takeover, pipeline } = parts;
  const isLong = refused !== null || isDiagnosis(parts) || takeover !== null || (pipeline?.findings ?? '') !== '';
  return isLong || describeWithheldFiles(parts).length > 1;
}

function promptFacts({
  aim,
  task,
  instructions,
  specifications,
  iteration,
  maxIterations,
  remaining,
  circuit,
  lastIteration,
  notesPath,
  verifyCommands,
  pipeline,
}: PromptParts): readonly string[] {
  return [
    `Iteration ${iteration} of at most ${maxIterations} in this run. Nobody is watching: do not ask, do not wait.`,
    ...(task.source.kind === 'prompt'
      ? []
      : [
          `Tasks: ${remaining.done} done, ${remaining.open} open (this one included).${aim === 'task' ? ' Work on this one only.' : ''}`,
        ]),
    `Circuit: ${circuit.kind}.`,
    ...(notesPath === LEARNINGS_PATH
      ? []
      : [`Your notes go to ${notesPath}. Do not write to ${LEARNINGS_PATH}: other work keeps its notes there.`]),
    ...(pipeline === null ? [] : [pipeline.fact]),
    ...(lastIteration === null ? [] : [lastSentence(lastIteration)]),
    ...(verifyCommands.length === 0
      ? []
      : [`After this iteration these commands run and must pass: ${capText(verifyCommands.join('; '), MAX_COMMANDS)}`]),
    ...(instructions.length === 0 ? [] : [`How to build and test: ${instructions.join(', ')}.`]),
    ...(specifications.length === 0 ? [] : [`Specifications: ${specifications.join(', ')}.`]),
  ];
}

function lastSentence({ progress, fileCount, verification, taskId, failedServers = [] }: LastIteration): string {
  const change = !progress
    ? 'changed nothing'
    : fileCount === 0
      ? 'marked what was done before'
      : `changed ${fileCount} ${fileCount === 1 ? 'file' : 'files'}`;
  const verified = { 'not-run': '', passed: ', verification passed', failed: ', verification failed' }[verification];
  return `Last iteration${taskId === null ? '' : ` (${taskId})`}: ${change}${verified}.${serversSentence(failedServers)}`;
}

/**
 * Returns a sentence with the MCP servers whose tools were missing; the names come from the user's own configuration.
 */
function serversSentence(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => toOneLine(name, 60));
  return shown.length === 0 ? '' : ` It had no tools of these MCP servers: ${shown.join(', ')}.`;
}
