import { LEFT_OUT, leftOutReasons, type LeftOutReason } from '../review/left-out.ts';
import type { Task } from '../tasks/task.ts';
import { capped } from '../text/cut.ts';
import { MAX_ANSWER_CHARS } from './memory.ts';

// What Ralph itself answers where no agent was asked: a closed set of sentence parts in which `backticks` mark code.

/** `came`: a commit was made for it, or nothing was left to do (`found`), or it must not be done (`refused`). */
export interface OwnAnswer {
  readonly came: 'made' | 'found' | 'refused';
  readonly words: string;
}

/** A suggestion that was committed as it stands. */
export const SUGGESTION_APPLIED: OwnAnswer = { came: 'made', words: 'Applied as suggested' };

/** A suggestion that changes nothing any more. */
export const ALREADY_THERE: OwnAnswer = { came: 'found', words: 'The file has this text already' };

/** A merge in which nothing but lock files conflicted, which were made again. */
export const MERGED_WITHOUT_CALL: OwnAnswer = { came: 'made', words: 'Merged, with its lock files made again' };

/** A suggestion that must not be published. */
export function suggestionWithheld(path: string, reason: LeftOutReason): OwnAnswer {
  return { came: 'refused', words: `Not applied: ${code(path)} is left out, because ${LEFT_OUT[reason]}` };
}

/** A conflict that is none any more. */
export function alreadyMerged(baseBranch: string): OwnAnswer {
  return { came: 'found', words: `The branch has the newest commit of ${code(baseBranch)} already` };
}

/** The answer of ours that these words are, among all that there are for such a task; null: they are not ours, whoever says that they are. */
export function ownAnswerIn(
  words: string | null,
  { source }: Pick<Task, 'source'>,
  baseBranch: string,
): OwnAnswer | null {
  const on = source.kind === 'feedback' ? source.on : null;
  const possible = on === null ? [] : ownAnswers(on, baseBranch);
  return possible.find((one) => capped(one.words, MAX_ANSWER_CHARS) === words) ?? null;
}

/** A new answer of ours has its place here. */
function ownAnswers(on: Extract<Task['source'], { kind: 'feedback' }>['on'], baseBranch: string): readonly OwnAnswer[] {
  switch (on.kind) {
    case 'thread':
      if (on.suggestion === null) return [];
      return [
        SUGGESTION_APPLIED,
        ALREADY_THERE,
        ...leftOutReasons.map((reason) => suggestionWithheld(on.path, reason)),
      ];
    case 'conflict':
      return [alreadyMerged(baseBranch), MERGED_WITHOUT_CALL];
    case 'review':
    case 'check':
      return [];
  }
}

function code(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}
