import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import { capProviderTimes, type ProviderCircuit } from '../agents/providers.ts';
import { subjectOfLane, withKnownNeeds } from '../people/notifications.ts';
import type { LaneState } from './state/state.ts';

/**
 * Returns the state with what other lanes know about the usage limits of its agents: the newest knowledge holds, also
 * that a limit is over. People who were notified of a limit are not notified of it again.
 */
export function withKnownLimits(state: LaneState, others: readonly LaneState[], now: number): LaneState {
  const known = AGENT_NAMES.reduce((next, name) => {
    const [newest] = others
      .filter(({ providers }) => isLimitKnown(providers[name]))
      .toSorted((a, b) => knownSince(b) - knownSince(a));
    return newest === undefined ? next : withKnownLimit(next, newest, name);
  }, state);
  return known === state ? state : { ...known, providers: capProviderTimes(known.providers, now) };
}

/** Returns true if people were notified on another lane of the limit that this lane waits for. */
export function isLimitTold(state: LaneState, others: readonly LaneState[], now: number): boolean {
  const known = withKnownLimits({ ...state, providers: {}, notified: [] }, others, now);
  const isWaiting = ({ providers }: LaneState, name: AgentName): boolean => {
    const provider = providers[name];
    return provider?.kind === 'open' && provider.needsPerson !== undefined;
  };
  return known.notified.length > 0 && AGENT_NAMES.some((name) => isWaiting(state, name) && isWaiting(known, name));
}

function withKnownLimit(state: LaneState, other: LaneState, name: AgentName): LaneState {
  const own = state.providers[name];
  const provider = other.providers[name];
  if (provider === undefined || (own !== undefined && knownSince(other) <= knownSince(state))) return state;
  // An answer of the provider ends a limit, but says nothing about other trouble of this lane.
  if (provider.kind === 'closed' && !(own?.kind === 'open' && own.why === 'limit')) return state;
  const isTold = ({ notified }: LaneState): boolean => notified.some(({ kind }) => kind === 'usage_limit');
  const isNew = provider.kind === 'open' && provider.needsPerson !== undefined && isTold(other) && !isTold(state);
  const needs = isNew ? [{ kind: 'usage_limit', about: subjectOfLane(state.lane) } as const] : [];
  return withKnownNeeds({ ...state, providers: { ...state.providers, [name]: provider } }, needs, knownSince(other));
}

/** Returns true for a limit, and for a provider that answered after trouble. */
function isLimitKnown(provider: ProviderCircuit | undefined): boolean {
  return provider?.kind === 'open' ? provider.why === 'limit' : provider?.failures === 0;
}

/** Returns the end of the lane's last run that worked, which a notification of a lane at rest does not change. */
function knownSince({ lastRun }: LaneState): number {
  return lastRun?.at ?? 0;
}
