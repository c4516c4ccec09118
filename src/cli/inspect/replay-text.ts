import { andMore } from '../../core/text/lists.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Journal } from '../../core/journal/parse-journal.ts';
import type { Difference, WhatIf } from '../../core/journal/replay.ts';
import { count } from '../../report/format.ts';
import { plainLine } from '../plain-line.ts';
import type { ReplayResult } from './replay-schema.ts';

const MAX_DIFFERENCES = 10;

/** A replay as a person reads it. */
export function renderReplay({ start, entries }: Journal, result: ReplayResult): string {
  const answered = (after: number): readonly string[] =>
    result.answers.filter((answer) => answer.after === after).map(renderAnswer);
  const { differences, outcome } = result;
  const decisions = entries.length + (outcome === null ? 0 : 1);
  return [
    `Journal of ${plainLine(start.lane)}, started ${new Date(start.startedAt).toISOString()}, ${count(entries.length, 'iteration')}.`,
    ...entries.flatMap((entry, index) => [...answered(index), renderEntry(entry)]),
    ...answered(entries.length),
    outcome === null
      ? 'The journal has no end: the run was killed, failed, or still continues.'
      : `End: ${renderOutcome(outcome)}`,
    result.chain.kind === 'intact'
      ? `Each line carries the hash of the one before. Hash of the last line: ${result.chain.last}`
      : `An earlier version wrote this journal: its lines carry no hashes. Hash of the last line: ${result.chain.last}`,
    ...(result.torn ? ['The last line is cut off, and left out.'] : []),
    '',
    ...(differences.length === 0
      ? [`${count(decisions, 'decision')} made again: the same.`]
      : renderDifferences(differences)),
    ...(result.whatIf === null ? [] : ['', ...renderWhatIf(result.whatIf, result)]),
    '',
  ].join('\n');
}

function renderEntry({ iteration, taskId, taskTitle, verdict }: JournalEntry): string {
  const facts = [
    verdict.progress ? 'progress' : 'no progress',
    ...(verdict.taskDone ? ['task done'] : []),
    ...(verdict.alsoDone.length > 0 ? [`also done: ${verdict.alsoDone.length}`] : []),
    ...(verdict.testOnly ? ['tests only'] : []),
    ...(verdict.questionOnly ? ['only a question'] : []),
    ...(verdict.countedDenials > 0 ? ['denied'] : []),
    ...(verdict.discrepancies.length > 0 ? ['discrepancy'] : []),
    ...(verdict.vetoes.length > 0 ? ['vetoed'] : []),
    `circuit ${verdict.circuit}`,
  ];
  return `  ${String(iteration).padStart(3)}  ${plainLine(`${taskId}: ${taskTitle}`)} · ${facts.join(', ')}`;
}

function renderAnswer({ tasks, result, commit }: ReplayResult['answers'][number]): string {
  const at = plainLine(commit.slice(0, 7));
  const what = result === 'changed' ? `changed in ${at}` : `${result === null ? 'done' : 'nothing changed'} at ${at}`;
  return `    –  ${plainLine(tasks.join(', '))} · answered without a call, ${what}`;
}

function renderDifferences(differences: readonly Difference[]): readonly string[] {
  const shown = differences.slice(0, MAX_DIFFERENCES);
  return [
    `${count(differences.length, 'decision')} ${differences.length === 1 ? 'differs' : 'differ'} from the record:`,
    ...shown.map(
      ({ line, of, recorded, replayed }) =>
        `  line ${String(line)}: ${of} was ${renderValue(recorded)}, and is ${renderValue(replayed)} now`,
    ),
    ...(differences.length > shown.length ? [` ${andMore(differences.length - shown.length)}`] : []),
  ];
}

function renderWhatIf(
  answer: NonNullable<ReplayResult['whatIf']>,
  { iterations, outcome }: ReplayResult,
): readonly string[] {
  const set = Object.entries(answer.set)
    .map(([name, value]) => `${name}=${plainLine(value)}`)
    .join(' ');
  return [
    `What if ${set}:`,
    `  ${describeAnswer(answer)}`,
    `  It was: ${outcome === null ? 'no recorded end' : renderOutcome(outcome)}, after ${count(iterations, 'iteration')}.`,
  ];
}

function describeAnswer(answer: WhatIf): string {
  const after = count(answer.iterations, 'iteration');
  switch (answer.kind) {
    case 'ended':
      return `It would have ended after ${after}: ${renderOutcome(answer.outcome)}.`;
    case 'waits':
      return `After ${after} it would have waited: ${renderOutcome(answer.outcome)}; the journal does not say what would have come of that.`;
    case 'other-task':
      return `After ${after} it would have worked on ${plainLine(answer.taskId)}; the journal does not say what would have come of that.`;
    case 'goes-on':
      return `After ${after} it would have continued with ${plainLine(answer.taskId)}; the journal does not say what would have come of that.`;
  }
}

function renderOutcome(outcome: Outcome): string {
  const more =
    outcome.kind === 'parked'
      ? `, until ${new Date(outcome.resumeAt).toISOString()}`
      : outcome.reason === 'circuit_open'
        ? `, ${outcome.circuitReason}`
        : '';
  return `${outcome.kind} (${outcome.reason}${more})`;
}

function renderValue(value: unknown): string {
  return plainLine(JSON.stringify(value));
}
