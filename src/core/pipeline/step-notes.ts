import { oneLine } from '../text/one-line.ts';
import type { StepRecord } from './step-record.ts';

const MAX_SAID_CHARS = 600;
const MAX_TAIL_CHARS = 400;
const MAX_NOTED = 5;

/** A step of this iteration that is over, and what its agent said; null: it has none. */
export interface EarlierStep {
  readonly record: Pick<StepRecord, 'name' | 'kind' | 'result' | 'tail'>;
  readonly said: string | null;
}

/** What the next agent reads of steps: those of its own iteration, else those that failed in the one before. Holds text of agents and commands: it is to be shown as data. */
export function stepNotes(earlier: readonly EarlierStep[], lastIteration: readonly StepRecord[]): string {
  const now = earlier
    .filter(({ record: { kind, result } }) => kind !== 'noop' && kind !== 'git-commit' && result.kind !== 'skipped')
    .map(({ record, said }) => note(record, said));
  const before = lastIteration
    .filter(({ result }) => result.kind === 'failed')
    .map((record) => `In the last iteration: ${note(record, null)}`);
  return [...(now.length === 0 ? before : []), ...now].slice(-MAX_NOTED).join('\n');
}

function note({ name, result, tail }: EarlierStep['record'], said: string | null): string {
  const words = said === null || said.trim() === '' ? '' : `: ${oneLine(said, MAX_SAID_CHARS)}`;
  const output = result.kind === 'failed' ? tail.trim().slice(-MAX_TAIL_CHARS) : '';
  return `Step ${name} ${resultWords(result)}${words}${output === '' ? '' : `\n${output}`}`;
}

/** What became of a step, in words. */
export function resultWords(result: StepRecord['result']): string {
  switch (result.kind) {
    case 'passed':
      return 'passed';
    case 'failed':
      return `failed (${result.why})`;
    case 'skipped':
      return result.why === 'done-once'
        ? 'was skipped: it has run before'
        : 'was skipped: its circuit is open after failures in a row';
    case 'not-reached':
      return `did not run: ${result.why}`;
  }
}
