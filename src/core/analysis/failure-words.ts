import type { AgentEnd } from '../evidence.ts';
import { oneLine } from '../text/one-line.ts';
import type { Analysis } from './analysis.ts';

const MAX_WORDS_CHARS = 300;

/** `the agent failed (exit code 1): its words`: how a call without a result, or with one that is an error, is described. The words are the agent's own. */
export function failureWords({
  analysis: { agentError },
  end,
}: {
  readonly analysis: Pick<Analysis, 'agentError'>;
  readonly end: AgentEnd;
}): string {
  const how = describeEnd(end);
  const words = agentError === null ? 'it gave no result' : oneLine(agentError.text, MAX_WORDS_CHARS);
  return `the agent failed${how === '' ? '' : ` (${how})`}: ${words}`;
}

function describeEnd(end: AgentEnd): string {
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
  }
}
