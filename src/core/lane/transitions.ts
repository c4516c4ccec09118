import { z } from 'zod';
import type { Immutable } from '../immutable.ts';
import { instant } from '../numbers.ts';
import { cut } from '../text/cut.ts';

export const MAX_TRANSITIONS = 50;
/** Longer words and reasons are cut. */
const MAX_CHARS = 200;

/** What a transition is about. */
export const transitionSubjects = ['circuit', 'session', 'task', 'pause', 'park', 'state', 'agent'] as const;

const word = z.string().max(MAX_CHARS);

export const transitionSchema = z.object({
  at: instant,
  subject: z.enum(transitionSubjects),
  from: word,
  to: word,
  reason: word,
});

export type Transition = Immutable<z.infer<typeof transitionSchema>>;

/** The state with one more transition; the oldest beyond `maxTransitions` go. */
export function withTransition<State extends { readonly transitions: readonly Transition[] }>(
  state: State,
  transition: Transition,
): State {
  const entry = { ...transition, reason: cut(transition.reason, MAX_CHARS) };
  return { ...state, transitions: [...state.transitions, entry].slice(-MAX_TRANSITIONS) };
}
