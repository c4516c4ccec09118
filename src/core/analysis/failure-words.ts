import type { AgentEnd } from '../evidence.ts';
import { toOneLine } from '../text/phrase.ts';
import type { Analysis } from './analysis.ts';

const MAX_WORDS_CHARS = 300;

interface FailedCall {
  readonly analysis: Pick<Analysis, 'agentError'>;
  readonly end: AgentEnd;
}

/** Describes a failed call with the agent's own words: `the agent failed (exit code 1): its words`. */
export function describeAgentFailure(call: FailedCall): string {
  const { how, words } = describeFailure(call);
  return words === null ? how : `${how}: ${words}`;
}

/** The failure of a call. `words` are the agent's own words on one line; null if none. */
export interface CallFailure {
  readonly how: string;
  readonly words: string | null;
}

/** Describes how a call failed. */
export function describeFailure({ analysis: { agentError }, end }: FailedCall): CallFailure {
  const why = describeFailedEnd(end);
  if (agentError === null) return { how: `the agent failed (${why === '' ? 'no result' : why})`, words: null };
  return {
    how: `the agent failed${why === '' ? '' : ` (${why})`}`,
    words: toOneLine(agentError.text, MAX_WORDS_CHARS),
  };
}

function describeFailedEnd(end: AgentEnd): string {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? '' : `exit code ${end.code}`;
    case 'timeout':
      return 'out of time';
    case 'stalled':
      return 'it only retried';
    case 'signalled':
      return `ended by ${end.signal}`;
    case 'cancelled':
      return 'cancelled';
    case 'withdrawn':
      return 'its task was withdrawn';
  }
}
