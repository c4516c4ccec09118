import type { ReadableComments } from '../../core/people/comments.ts';
import type { GateDeps } from '../deps.ts';
import { trusts } from './trust.ts';

/** GitHub answers for ten issues in one request; a run hardly gets to more than this. */
const MAX_ISSUES = 50;

/** An issue whose comments are wanted, as they were `until` then: when the work was asked for. */
export interface CommentsWanted {
  readonly number: number;
  readonly until: number;
}

/** What the agent gets to read of the comments, by issue; whether somebody counts is asked as the rules want to know it. */
export async function readComments(
  deps: Pick<GateDeps, 'config' | 'forge'>,
  wanted: readonly CommentsWanted[],
): Promise<ReadonlyMap<number, ReadableComments>> {
  const { commentsFrom } = deps.config;
  if (commentsFrom === 'nobody' || wanted.length === 0) return new Map();
  const first = wanted.slice(0, MAX_ISSUES);
  const found = await deps.forge.commentsOf(first.map(({ number }) => number));
  // Brings a Markdown parser along.
  const { readableComments } = await import('../../core/people/comments.ts');
  const reading = readableComments(
    first.map(({ number, until }) => ({ number, until, comments: found.get(number) ?? [] })),
    commentsFrom,
  );
  let step = reading.next();
  while (step.done !== true) step = reading.next(await trusts(deps, step.value));
  return step.value;
}
