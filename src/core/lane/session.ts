import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import { type Immutable, instantSchema, type Policy } from '../policy.ts';
import { storedTaskId, type TaskId } from '../tasks/ids.ts';
import { cutText } from '../text/phrase.ts';

export const MAX_TRANSITIONS = 50;

/** Maximum length of words and reasons in characters; longer ones are cut. */
const MAX_CHARS = 200;

export const transitionSubjects = ['circuit', 'session', 'task', 'pause', 'park', 'state', 'agent'] as const;

const word = z.string().max(MAX_CHARS);

export const transitionSchema = z.object({
  at: instantSchema,
  subject: z.enum(transitionSubjects),
  from: word,
  to: word,
  reason: word,
});

export type Transition = Immutable<z.infer<typeof transitionSchema>>;

export const sessionSchema = z.object({
  id: z.string().min(1).max(200),
  startedAt: instantSchema,
  lastUsedAt: instantSchema,
  taskId: storedTaskId.nullable(),
});

/** The agent's session, as a lane keeps it. */
export type Session = Immutable<z.infer<typeof sessionSchema>>;

export const restingSchema = z.partialRecord(z.enum(AGENT_NAMES), sessionSchema);

/** The part of a lane's state that these rules need. */
interface WithSession {
  readonly session: Session | null;
  readonly transitions: readonly Transition[];
}

/** The part of the state that the rules for several agents need: the current agent, and the sessions of the others. */
interface WithTurns extends WithSession {
  readonly agent: AgentName | null;
  readonly resting: Immutable<z.infer<typeof restingSchema>>;
}

/**
 * Returns the state after this agent took the turn: `session` is its own, and the previous agent's session rests until
 * that agent's next turn.
 */
export function switchAgent<State extends WithTurns>(state: State, agent: AgentName, why: string, now: number): State {
  if (state.agent === agent) return state;
  // A session whose agent is not recorded belongs to the first agent that is called, so it stays current.
  if (state.agent === null) return { ...state, agent };
  const { [agent]: session, ...others } = state.resting;
  const resting = state.session === null ? others : { ...others, [state.agent]: state.session };
  const turned = { ...state, agent, session: session ?? null, resting };
  return withTransition(turned, { at: now, subject: 'agent', from: state.agent, to: agent, reason: why });
}

/** Returns the state without resting sessions that are too old to be resumed. */
export function dropExpiredSessions<State extends WithTurns>(state: State, policy: Policy, now: number): State {
  const entries = Object.entries(state.resting);
  const fresh = entries.filter(([, { lastUsedAt }]) => now - lastUsedAt < policy.sessionExpiryMs);
  return fresh.length === entries.length ? state : { ...state, resting: Object.fromEntries(fresh) };
}

/** Returns true if the lane has a session of any agent. */
export function hasAnySession({ session, resting }: Pick<WithTurns, 'session' | 'resting'>): boolean {
  return session !== null || Object.keys(resting).length > 0;
}

/** Returns an agent's session, or null if it has none. */
export function findAgentSession(
  { agent, session, resting }: Pick<WithTurns, 'agent' | 'session' | 'resting'>,
  name: AgentName,
): Session | null {
  return agent === null || agent === name ? session : (resting[name] ?? null);
}

/** Returns the state without an agent's session. */
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

/**
 * Returns every session of the lane with its agent. `first` is the owner of the current session if no agent has taken a
 * turn yet.
 */
export function listSessions(
  { agent, session, resting }: Pick<WithTurns, 'agent' | 'session' | 'resting'>,
  first: AgentName,
): readonly { readonly agent: AgentName; readonly session: Session }[] {
  const others = Object.entries(resting) as readonly (readonly [AgentName, Session])[];
  return [
    ...(session === null ? [] : [{ agent: agent ?? first, session }]),
    ...others.map(([of, rested]) => ({ agent: of, session: rested })),
  ];
}

/** The reason for giving up a session. */
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

/** Returns the state without a session that the next call must not resume, and records the reason. */
export function resetUnfitSession<State extends WithSession>(
  state: State,
  taskId: TaskId,
  policy: Policy,
  now: number,
): State {
  if (state.session === null) return state;
  const reason = resetReason(state.session, taskId, policy, now);
  return reason === null ? state : resetSession(state, reason, now);
}

/** Returns the state after a call, with the call's session, or without one if the CLI cannot continue it. */
export function keepSession<State extends WithSession>(
  state: State,
  call: { readonly analysis: Analysis; readonly taskId: TaskId; readonly agentFailed: boolean },
  policy: Policy,
  now: number,
): State {
  const { agentError, sessionId } = call.analysis;
  if (agentError?.kind === 'unknown-session') return resetSession(state, 'unknown_session', now);
  // Resuming would send the same session, which is too long.
  if (agentError?.kind === 'prompt-too-long') return resetSession(state, 'prompt_too_long', now);
  // The session may be the cause of the failed calls, so the next call begins a new one.
  if (call.agentFailed) return resetSession(state, 'agent_failed', now);
  if (policy.session === 'fresh' || sessionId === null || !isUsable(sessionId)) return state;
  const startedAt = state.session?.id === sessionId ? state.session.startedAt : now;
  return { ...state, session: { id: sessionId, startedAt, lastUsedAt: now, taskId: call.taskId } };
}

/** Returns the state without any session of any agent. */
export function resetSessions<State extends WithTurns>(state: State, reason: SessionReset, now: number): State {
  return { ...resetSession(state, reason, now), resting: {} };
}

/** Returns the state without its session. */
export function resetSession<State extends WithSession>(state: State, reason: SessionReset, now: number): State {
  if (state.session === null) return state;
  return withTransition(
    { ...state, session: null },
    { at: now, subject: 'session', from: 'active', to: 'none', reason },
  );
}

function resetReason(session: Session, taskId: TaskId, policy: Policy, now: number): SessionReset | null {
  if (policy.session === 'fresh') return 'session_fresh';
  if (now - session.lastUsedAt >= policy.sessionExpiryMs) return 'expired';
  if (policy.session === 'task' && session.taskId !== taskId) return 'task_changed';
  return null;
}

/** Returns true if an id is safe as an argument of the CLI, because it looks like neither a flag nor a path. */
function isUsable(id: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(id);
}

/** Returns the state with one more transition; the oldest beyond `MAX_TRANSITIONS` are dropped. */
export function withTransition<State extends { readonly transitions: readonly Transition[] }>(
  state: State,
  transition: Transition,
): State {
  const entry = { ...transition, reason: cutText(transition.reason, MAX_CHARS) };
  return { ...state, transitions: [...state.transitions, entry].slice(-MAX_TRANSITIONS) };
}
