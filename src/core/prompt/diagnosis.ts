import type { AgentEnd, Verification } from '../evidence.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { resultWords } from '../pipeline/step-notes.ts';
import { cut } from '../text/cut.ts';
import { andMore } from '../text/lists.ts';
import { oneLine } from '../text/one-line.ts';

/** Characters of the whole description; the prompt has no room for more. */
export const MAX_ATTEMPTS_CHARS = 700;
const MAX_ITERATIONS = 3;
const MAX_ITEMS = 3;
const MAX_ITEM_CHARS = 120;

/** What the last iterations of a run did and how they failed, oldest first. Holds text of the agent: it is to be shown as data. */
export function describeAttempts(journal: readonly JournalEntry[]): string {
  const attempts: string[] = [];
  let room = MAX_ATTEMPTS_CHARS;
  for (const attempt of journal.slice(-MAX_ITERATIONS).reverse().map(describeAttempt)) {
    // The newest is shown in any case, as far as it fits.
    if (attempts.length > 0 && attempt.length + 1 > room) break;
    attempts.unshift(cut(attempt, room));
    room -= attempt.length + 1;
  }
  return attempts.join('\n');
}

/** One iteration: what changed, and how it failed. */
export function describeAttempt({ iteration, taskId, analysis, evidence, verdict }: JournalEntry): string {
  const { agentError, denials, errors, signal } = analysis;
  const change = !verdict.progress
    ? 'changed nothing'
    : evidence.fileCount === 0
      ? 'marked what was done before'
      : `changed ${listed(evidence.files, evidence.fileCount)}`;
  const facts = [
    ...describeEnd(evidence.end),
    ...(agentError === null ? [] : [`the CLI failed (${agentError.kind}): ${short(agentError.text)}`]),
    ...(evidence.failedServers ?? []).slice(0, MAX_ITEMS).map((name) => `no tools of the MCP server ${short(name)}`),
    ...errors.slice(0, MAX_ITEMS).map(({ text }) => `error: ${short(text)}`),
    ...(denials.length === 0
      ? []
      : [
          `refused: ${listed(
            denials.map(({ tool, command }) => (command === null ? tool : `${tool} ${command}`)),
            denials.length,
          )}`,
        ]),
    ...verdict.discrepancies.map(short),
    ...describeVerification(evidence.verification),
    ...evidence.steps
      .filter(({ result }) => result.kind === 'failed')
      .map(({ name, result }) => `step ${short(name)} ${short(resultWords(result))}`),
    ...(signal.recommendation === null ? [] : [`it planned: ${short(signal.recommendation)}`]),
  ];
  return [`Iteration ${iteration} (${taskId}): ${change}.`, ...facts.map((fact) => `- ${fact}`)].join('\n');
}

function describeEnd(end: AgentEnd): readonly string[] {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? [] : [`ended with exit code ${end.code}`];
    case 'timeout':
      return ['ran out of time'];
    case 'stalled':
      return ['was ended because its CLI only retried'];
    case 'signalled':
      return [`was ended by ${end.signal}`];
    case 'cancelled':
      return ['was cancelled'];
    case 'withdrawn':
      return ['was ended because people took its task back'];
  }
}

function describeVerification(verification: Verification): readonly string[] {
  return verification.kind === 'failed'
    ? [`verification failed: ${short(verification.command)} (exit code ${verification.code ?? 'unknown'})`]
    : [];
}

function listed(items: readonly string[], count: number): string {
  return `${items.slice(0, MAX_ITEMS).map(short).join(', ')}${andMore(count - MAX_ITEMS)}`;
}

function short(text: string): string {
  return oneLine(text, MAX_ITEM_CHARS);
}
