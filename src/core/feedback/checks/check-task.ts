import type { ObjectId } from '../../evidence.ts';
import { cleanText, cleanTitle } from '../../text/clean.ts';
import { capped } from '../../text/cut.ts';
import { moreLine } from '../../text/lists.ts';
import { sentence } from '../../text/sentence.ts';
import type { Task } from '../../tasks/task.ts';
import { taskIdOfCheck } from './checks.ts';
import { logText, plainMessage } from './log-text.ts';
import type { Annotation, CheckDetails, CheckNow } from '../pull-request-now.ts';
import { FEEDBACK_PRIORITY } from '../subject.ts';

const MAX_NAME_CHARS = 100;
const MAX_ANNOTATIONS = 20;
const MAX_ANNOTATION_CHARS = 400;
const MAX_PATH_CHARS = 200;
const MAX_SUMMARY_CHARS = 2_000;

/** The head that a check failed on, and its pull request. */
interface CheckedHead {
  readonly pullRequest: number;
  /** Page of the pull request. */
  readonly url: string;
  readonly head: ObjectId;
}

/** A failed check as a task. Its texts are cleaned and capped; secrets in them are the caller's to hide. */
export function taskOfCheck(check: CheckNow, details: CheckDetails, { pullRequest, url, head }: CheckedHead): Task {
  const name = nameOf(check.name) || 'unnamed';
  return {
    id: taskIdOfCheck(check),
    title: titleOf(name, details),
    body: bodyOf(check, details),
    source: { kind: 'feedback', on: { kind: 'check', name, head }, pullRequest, url: check.url ?? url },
    comments: [],
    obstacle: null,
    priority: FEEDBACK_PRIORITY.check,
    dependsOn: [],
    optional: false,
  };
}

function titleOf(name: string, { job, step }: CheckDetails): string {
  const where = [nameOf(job ?? ''), nameOf(step ?? '')].filter((part) => part !== '' && part !== name);
  return `Check "${name}" fails${where.length === 0 ? '' : `: ${where.join(' / ')}`}`;
}

function bodyOf(check: CheckNow, { job, step, annotations, log, missing }: CheckDetails): string {
  const workflow = check.workflow === null ? '' : nameOf(check.workflow.path ?? check.workflow.name);
  const facts = [
    `Conclusion: ${nameOf(check.conclusion) || 'failure'}`,
    ...(workflow === '' ? [] : [`Workflow: ${workflow}`]),
    ...(nameOf(job ?? '') === '' ? [] : [`Job: ${nameOf(job ?? '')}`]),
    ...(nameOf(step ?? '') === '' ? [] : [`Step: ${nameOf(step ?? '')}`]),
  ];
  const end = logText(log ?? '');
  const summary = capped(cleanText(check.summary).text.trim(), MAX_SUMMARY_CHARS);
  return [
    facts.join('\n'),
    titled('Annotations:', annotationLines(annotations).join('\n')),
    titled('Summary:', summary),
    titled('End of the log:', end),
    missing === null ? '' : sentence(plainMessage(missing, MAX_ANNOTATION_CHARS)),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function titled(title: string, text: string): string {
  return text === '' ? '' : `${title}\n${text}`;
}

function annotationLines(annotations: readonly Annotation[]): readonly string[] {
  const shown = annotations.slice(0, MAX_ANNOTATIONS).map(annotationLine);
  return [...shown, ...moreLine(annotations.length - shown.length)];
}

function annotationLine({ path, line, level, message }: Annotation): string {
  const where = `${plainMessage(path, MAX_PATH_CHARS)}${line === null ? '' : `:${line}`}`;
  const grade = plainMessage(level, 20);
  return `- ${where}${grade === '' ? '' : ` (${grade})`}: ${plainMessage(message, MAX_ANNOTATION_CHARS)}`;
}

/** A name as one short line. */
function nameOf(raw: string): string {
  return capped(cleanTitle(raw).text, MAX_NAME_CHARS);
}
