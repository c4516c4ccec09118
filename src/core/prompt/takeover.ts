import type { AgentName } from '../agent-names.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { hasWorked } from '../journal/worked.ts';
import type { TaskShare } from '../lane/change.ts';
import { cut } from '../text/cut.ts';
import { oneLine } from '../text/one-line.ts';
import { describeAttempt } from './diagnosis.ts';

/** Characters of the whole description; the prompt has no room for more. */
export const MAX_TAKEOVER_CHARS = 900;
const MAX_ITERATIONS = 3;
const MAX_WORDS_CHARS = 300;

/** What an agent that takes a task over cannot remember. `from`: who worked on it last; `text`: what was done, the words of agents within it: to be shown as data. */
export interface Takeover {
  readonly from: AgentName;
  readonly text: string;
}

/** What the agent of an iteration has to know of a task on which another one worked last; null: it worked on it itself, or nobody did. `entries`: of this run; what earlier runs did is in the task's share. */
export function describeTakeover(
  agent: AgentName,
  {
    taskId,
    entries,
    share,
  }: { readonly taskId: string; readonly entries: readonly JournalEntry[]; readonly share: TaskShare },
): Takeover | null {
  const from = share.agents.at(-1);
  if (from === undefined || from === agent) return null;
  const { iterations, summary, recommendation, question, verification } = share;
  const head = [
    `${iterations} ${iterations === 1 ? 'iteration' : 'iterations'} so far${verification === 'not-run' ? '' : `, verification ${verification}`}.`,
    ...said('It summed up', summary),
    ...said('It planned', recommendation),
    ...said('It asked', question),
  ].join('\n');
  const worked = entries.filter((entry) => entry.taskId === taskId && hasWorked(entry)).slice(-MAX_ITERATIONS);
  const texts = [head];
  let room = MAX_TAKEOVER_CHARS - head.length;
  for (const entry of worked.reverse()) {
    const text = describeAttempt(entry);
    if (text.length + 1 > room) break;
    // Oldest first, behind what holds for all of them.
    texts.splice(1, 0, text);
    room -= text.length + 1;
  }
  return { from, text: cut(texts.join('\n'), MAX_TAKEOVER_CHARS) };
}

function said(how: string, words: string | null): readonly string[] {
  return words === null ? [] : [`${how}: ${oneLine(words, MAX_WORDS_CHARS)}`];
}
