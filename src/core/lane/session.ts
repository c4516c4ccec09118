import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import { type Immutable, instant, type Policy } from '../policy.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import { cut } from '../text/phrase.ts';

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

export const sessionSchema = z.object({
  id: z.string().min(1).max(200),
  startedAt: instant,
  lastUsedAt: instant,
  taskId: storedTaskId.nullable(),
});

/** The agent's conversation, as a lane keeps it. */
export type Session = Immutable<z.infer<typeof sessionSchema>>;

export const restingSchema = z.partialRecord(z.enum(AGENT_NAMES), sessionSchema);

/** What these rules need of a lane's state. */
interface WithSession {
  readonly session: Session | null;
  readonly transitions: readonly Transition[];
}

/** What they need where several agents take turns: whose turn it is, and the conversations of the others. */
interface WithTurns extends WithSession {
  readonly agent: AgentName | null;
  readonly resting: Immutable<z.infer<typeof restingSchema>>;
}

/** The state in an agent's turn: `session` is its own, and that of the agent before it rests until its next turn. */
export function turnTo<State extends WithTurns>(state: State, agent: AgentName, why: string, now: number): State {
  if (state.agent === agent) return state;
  // A session that is nobody's is that of the first agent that asks.
  if (state.agent === null) return { ...state, agent };
  const { [agent]: session, ...others } = state.resting;
  const resting = state.session === null ? others : { ...others, [state.agent]: state.session };
  const turned = { ...state, agent, session: session ?? null, resting };
  return withTransition(turned, { at: now, subject: 'agent', from: state.agent, to: agent, reason: why });
}

/** The state without the conversations that rested for longer than one is carried on. */
export function restedTooLong<State extends WithTurns>(state: State, policy: Policy, now: number): State {
  const entries = Object.entries(state.resting);
  const fresh = entries.filter(([, { lastUsedAt }]) => now - lastUsedAt < policy.sessionExpiryMs);
  return fresh.length === entries.length ? state : { ...state, resting: Object.fromEntries(fresh) };
}

/** Whether the lane has a conversation with any agent. */
export function hasConversation({ session, resting }: Pick<WithTurns, 'session' | 'resting'>): boolean {
  return session !== null || Object.keys(resting).length > 0;
}

/** An agent's conversation; null: it has none. */
export function sessionOf(
  { agent, session, resting }: Pick<WithTurns, 'agent' | 'session' | 'resting'>,
  name: AgentName,
): Session | null {
  return agent === null || agent === name ? session : (resting[name] ?? null);
}

/** The state without an agent's conversation. */
export function dropSession<State extends WithTurns>(
  state: State,
  name: AgentName,
  reason: SessionReset,
  now: number,
): State {
  if (state.agent === null || state.agent === name) return resetSession(state, reason, now);
  const { [name]: dropped, ...resting } = state.resting;
  return dropped === undefined ? state : { ...state, resting };
}

/** Every conversation of the lane, by the agent that it is of. `first`: whose the current one is, where no turn was taken yet. */
export function sessionsOf(
  { agent, session, resting }: Pick<WithTurns, 'agent' | 'session' | 'resting'>,
  first: AgentName,
): readonly { readonly agent: AgentName; readonly session: Session }[] {
  const others = Object.entries(resting) as readonly (readonly [AgentName, Session])[];
  return [
    ...(session === null ? [] : [{ agent: agent ?? first, session }]),
    ...others.map(([of, rested]) => ({ agent: of, session: rested })),
  ];
}

/** Why a session was given up. */
type SessionReset =
  | 'circuit_opened'
  | 'completed'
  | 'cancelled'
  | 'task_changed'
  | 'expired'
  | 'session_fresh'
  | 'unknown_session'
  | 'agent_failed'
  | 'prompt_too_long';

/** The state whose `session` is what the next call may resume (null: a fresh one), with the reason when one was given up. */
export function resetUnfitSession<State extends WithSession>(
  state: State,
  taskId: TaskId,
  policy: Policy,
  now: number,
): State {
  if (state.session === null) return state;
  const reason = whyNot(state.session, taskId, policy, now);
  return reason === null ? state : resetSession(state, reason, now);
}

/** The state after a call: the session that it used, or none when the CLI cannot continue with it. */
export function keepSession<State extends WithSession>(
  state: State,
  call: { readonly analysis: Analysis; readonly taskId: TaskId; readonly agentFailed: boolean },
  policy: Policy,
  now: number,
): State {
  const { agentError, sessionId } = call.analysis;
  if (agentError?.kind === 'unknown-session') return resetSession(state, 'unknown_session', now);
  // Resuming would send the same too long conversation again.
  if (agentError?.kind === 'prompt-too-long') return resetSession(state, 'prompt_too_long', now);
  // It may be the conversation that makes the calls fail.
  if (call.agentFailed) return resetSession(state, 'agent_failed', now);
  if (policy.session === 'fresh' || sessionId === null || !isUsable(sessionId)) return state;
  const startedAt = state.session?.id === sessionId ? state.session.startedAt : now;
  return { ...state, session: { id: sessionId, startedAt, lastUsedAt: now, taskId: call.taskId } };
}

/** The state without any session, of whichever agent. */
export function resetSessions<State extends WithTurns>(state: State, reason: SessionReset, now: number): State {
  return { ...resetSession(state, reason, now), resting: {} };
}

/** The state without its session. */
export function resetSession<State extends WithSession>(state: State, reason: SessionReset, now: number): State {
  if (state.session === null) return state;
  return withTransition(
    { ...state, session: null },
    { at: now, subject: 'session', from: 'active', to: 'none', reason },
  );
}

function whyNot(session: Session, taskId: TaskId, policy: Policy, now: number): SessionReset | null {
  if (policy.session === 'fresh') return 'session_fresh';
  if (now - session.lastUsedAt >= policy.sessionExpiryMs) return 'expired';
  if (policy.session === 'task' && session.taskId !== taskId) return 'task_changed';
  return null;
}

/** An id goes into an argument of the CLI: nothing that could be read as a flag or a path. */
function isUsable(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(id);
}

/** The state with one more transition; the oldest beyond `maxTransitions` go. */
export function withTransition<State extends { readonly transitions: readonly Transition[] }>(
  state: State,
  transition: Transition,
): State {
  const entry = { ...transition, reason: cut(transition.reason, MAX_CHARS) };
  return { ...state, transitions: [...state.transitions, entry].slice(-MAX_TRANSITIONS) };
}
