import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';
import { countSchema, type Immutable, instantSchema } from '../policy.ts';
import { toOneLine } from '../text/phrase.ts';
import { DAY_MS, HOUR_MS, isTooFarAhead, MINUTE_MS } from '../countdown.ts';

/** Maximum wait for a provider in ms. The longest limit of any provider is weekly, so a later reset is implausible. */
export const MAX_USAGE_WAIT_MS = 8 * DAY_MS;
/** Maximum wait in ms for an unconfirmed limit (see `Analysis.usageLimit`), however often it is reported. */
const MAX_UNCONFIRMED_WAIT_MS = 6 * HOUR_MS;
/** Wait in ms after a refusal: new credit or another key rarely arrives within minutes. */
const REFUSED_MS = HOUR_MS;
/** Wait in ms after failures: most outages are shorter, and probing a longer one costs one call. */
const FAILING_MS = 15 * MINUTE_MS;
/** Wait in ms before the one retry of a limit that the provider still reports after its end. */
const JUST_ENDED_LIMIT_MS = 5 * MINUTE_MS;
/** Minimum duration in ms of a limit that people are notified of. */
const LONG_LIMIT_MS = DAY_MS;
const MAX_WORDS_CHARS = 300;
/** Number of consecutive failures that open the circuit; a single failure may be accidental. */
const FAILURES_TO_OPEN = 2;

/**
 * The reasons why an agent's provider gets no call: its usage limit, no credit, a refused key, consecutive failures.
 */
export const providerTroubles = ['limit', 'billing', 'auth', 'failing'] as const;
export type ProviderTrouble = (typeof providerTroubles)[number];

const providerSchema = z.discriminatedUnion('kind', [
  /** `failures` counts consecutive failures up to the newest call. */
  z.object({ kind: z.literal('closed'), failures: countSchema }),
  /** An open circuit, which one call probes from `until` on. */
  z.object({
    kind: z.literal('open'),
    why: z.enum(providerTroubles),
    until: instantSchema,
    /**
     * The provider's words about a limit that needs a person, because it does not end by itself or lasts more than a
     * day.
     */
    needsPerson: z.string().max(MAX_WORDS_CHARS).exactOptional(),
  }),
]);

/** The circuit of one provider. Half-open is never stored: it follows from `until` and the clock. */
export type ProviderCircuit = Immutable<z.infer<typeof providerSchema>>;
type Open = ProviderCircuit & { readonly kind: 'open' };

export const providersSchema = z.partialRecord(z.enum(AGENT_NAMES), providerSchema);

/** The circuits of a lane's providers, by the agent that calls them; a provider without an entry never failed. */
export type Providers = Immutable<z.infer<typeof providersSchema>>;

/** The agents that may be called, in order of preference. */
export type AgentOrder = readonly [AgentName, ...(readonly AgentName[])];

/**
 * The chosen agent. `probe`: the call probes its provider's open circuit. `refused`: every provider refuses its key or
 * lacks credit.
 */
export type ChosenAgent =
  | { readonly kind: 'agent'; readonly name: AgentName; readonly probe: boolean }
  | { readonly kind: 'parked'; readonly until: number; readonly why: 'limit'; readonly needsPerson: string | null }
  | { readonly kind: 'refused' };

/**
 * Returns the first agent of the order whose provider may be called. If no provider may be called, the lane parks until
 * a usage limit ends. If no limit is known to end, the first agent whose calls failed is called anyway, because the
 * lane's own circuit stops repeated failures.
 */
export function chooseAgent(order: AgentOrder, providers: Providers, now: number): ChosenAgent {
  const ready = order.find((name) => openCircuitAt(providers[name], now) === null);
  if (ready !== undefined) return { kind: 'agent', name: ready, probe: providers[ready]?.kind === 'open' };
  const waiting = withOpenCircuits(order, providers).filter(({ why }) => why === 'limit' || why === 'failing');
  if (waiting.some(({ why }) => why === 'limit')) {
    const until = Math.min(...waiting.map((one) => one.until));
    // One agent that recovers by itself is enough: people are needed only if every agent waits for them.
    const words = waiting.map(({ needsPerson }) => needsPerson ?? null);
    return { kind: 'parked', until, why: 'limit', needsPerson: words.includes(null) ? null : (words[0] ?? null) };
  }
  const failing = waiting[0];
  return failing === undefined ? { kind: 'refused' } : { kind: 'agent', name: failing.name, probe: true };
}

/** Returns true if no provider may be called and none of them is at a usage limit, so that no wait has a known end. */
export function isOutage(order: AgentOrder, providers: Providers, now: number): boolean {
  return (
    order.every((name) => openCircuitAt(providers[name], now) !== null) &&
    withOpenCircuits(order, providers).every(({ why }) => why !== 'limit')
  );
}

/** Returns the agent that was refused first, because it is the likeliest to have a new key or credit by now. */
export function findLongestRefusedAgent(order: AgentOrder, providers: Providers): AgentName {
  const [first] = order;
  return withOpenCircuits(order, providers).sort((a, b) => a.until - b.until)[0]?.name ?? first;
}

/** Returns the agents that come before `name` in the order but may not be called now, each with the reason. */
export function listPassedOverAgents(
  order: AgentOrder,
  providers: Providers,
  name: AgentName,
  now: number,
): readonly PassedOver[] {
  const before = order.slice(0, Math.max(0, order.indexOf(name)));
  return withOpenCircuits(before, providers).filter(({ until }) => now < until);
}

/** An agent that is not called until the instant `until`. */
export interface PassedOver extends Pick<Open, 'why' | 'until' | 'needsPerson'> {
  readonly name: AgentName;
}

/** The facts about a call that determine its provider's circuit. */
export interface ProviderCall {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
  /** True if content changed. */
  readonly progress: boolean;
  /** True if the call failed with any error and changed no content. */
  readonly agentFailed: boolean;
}

/**
 * Returns the circuits after a call of an agent. A call on an open circuit counts as its probe, even before `until`.
 */
export function recordProviderCall(providers: Providers, name: AgentName, call: ProviderCall, now: number): Providers {
  const before = providers[name] ?? { kind: 'closed', failures: 0 };
  const after = circuitAfter(before, call, now);
  return after === before ? providers : { ...providers, [name]: after };
}

/** Returns true if the provider, or the CLI that calls it, failed in a way that may be temporary. */
export function isFailure({ analysis, end, agentFailed }: Omit<ProviderCall, 'progress'>): boolean {
  const { agentError, usageLimit } = analysis;
  if (usageLimit !== null) return false;
  if (end.kind === 'stalled' || agentError?.kind === 'server' || agentError?.kind === 'rate-limit') return true;
  return agentFailed && !REQUEST_ERRORS.includes(agentError?.kind ?? '');
}

/**
 * Returns true if a call met a limit without a known end, as the call before the wait did. Its conversation may be
 * larger than the limit (tokens per minute, long context), and would then wait forever.
 */
export function isLimitRepeated(
  { agentError, usageLimit }: ProviderCall['analysis'],
  before: ProviderCircuit | undefined,
): boolean {
  // The size of a conversation does not overload a server.
  if (agentError?.kind !== 'rate-limit' || usageLimit?.resumeAt !== null || usageLimit.byPerson === true) return false;
  return before?.kind === 'open' && before.why === 'limit';
}

/** Errors about the request itself, which prove that the provider answered. */
const REQUEST_ERRORS: readonly string[] = ['prompt-too-long', 'max-turns', 'budget'];

/**
 * Returns the instant at which a limited provider is tried again: the reported end within plausible bounds, or in an
 * hour if no end is reported. A limit that is still reported after its end is retried once after five minutes, then
 * every hour. The result is at least a minute away, so that no call follows at once.
 */
export function computeLimitEnd(
  { resumeAt, unconfirmed }: NonNullable<Analysis['usageLimit']>,
  before: ProviderCircuit,
  now: number,
): number {
  const reported = resumeAt === null ? Number.NaN : Date.parse(resumeAt);
  const isTried = before.kind === 'open' && before.why === 'limit' && before.until > reported;
  const again = now + (isTried ? HOUR_MS : JUST_ENDED_LIMIT_MS);
  const wanted = Number.isNaN(reported) ? now + HOUR_MS : reported > now ? reported : again;
  const longest = unconfirmed === undefined ? MAX_USAGE_WAIT_MS : MAX_UNCONFIRMED_WAIT_MS;
  return Math.min(Math.max(wanted, now + MINUTE_MS), now + longest);
}

/**
 * Returns the circuits after a person asked to try now: open circuits may be probed at once, because the key may be new
 * and credit may have been added. A usage limit that ends by itself is still waited for, and without `limits` every
 * usage limit.
 */
export function allowProviderProbes(
  providers: Providers,
  { limits, now }: { readonly limits: boolean; readonly now: number },
): Providers {
  const entries = Object.entries(providers) as readonly (readonly [AgentName, ProviderCircuit])[];
  return Object.fromEntries(
    entries.map(([name, provider]) => [
      name,
      provider.kind === 'closed' || (provider.why === 'limit' && (!limits || provider.needsPerson === undefined))
        ? provider
        : { ...provider, until: Math.min(provider.until, now) },
    ]),
  );
}

/**
 * Caps the times of open circuits at the maximum for their trouble, because a wrong clock or an untrusted job may have
 * set them. A time that is implausibly far ahead is replaced with `now`.
 */
export function capProviderTimes(providers: Providers, now: number): Providers {
  const entries = Object.entries(providers) as readonly (readonly [AgentName, ProviderCircuit])[];
  const isPlausible = (provider: ProviderCircuit): boolean =>
    provider.kind === 'closed' || provider.until <= now + longest[provider.why];
  if (entries.every(([, provider]) => isPlausible(provider))) return providers;
  return Object.fromEntries(
    entries.map(([name, provider]) => [
      name,
      isPlausible(provider) || provider.kind === 'closed'
        ? provider
        : {
            ...provider,
            until: isTooFarAhead(provider.until - longest[provider.why], now) ? now : now + longest[provider.why],
          },
    ]),
  );
}

/** Maximum time in ms that each trouble keeps a provider from being called. */
const longest: Readonly<Record<ProviderTrouble, number>> = {
  limit: MAX_USAGE_WAIT_MS,
  billing: REFUSED_MS,
  auth: REFUSED_MS,
  failing: FAILING_MS,
};

function circuitAfter(before: ProviderCircuit, call: ProviderCall, now: number): ProviderCircuit {
  const { agentError, usageLimit } = call.analysis;
  if (usageLimit !== null) {
    const until = computeLimitEnd(usageLimit, before, now);
    const isForPerson = usageLimit.byPerson === true || until - now > LONG_LIMIT_MS;
    const words = toOneLine(agentError?.text ?? '', MAX_WORDS_CHARS);
    const needsPerson = words === '' ? "The provider's usage limit is reached" : words;
    return { kind: 'open', why: 'limit', until, ...(isForPerson ? { needsPerson } : {}) };
  }
  if (agentError?.kind === 'auth' || agentError?.kind === 'billing')
    return { kind: 'open', why: agentError.kind, until: now + REFUSED_MS };
  if (isFailure(call)) {
    const failures = before.kind === 'closed' ? before.failures + 1 : FAILURES_TO_OPEN;
    return failures >= FAILURES_TO_OPEN
      ? { kind: 'open', why: 'failing', until: now + FAILING_MS }
      : { kind: 'closed', failures };
  }
  const hasTrouble = before.kind === 'open' || before.failures > 0;
  return hasAnswered(call) && hasTrouble ? { kind: 'closed', failures: 0 } : before;
}

/**
 * Returns true if the provider certainly answered. A call that was cut off, or whose CLI crashed, may never have
 * reached the provider.
 */
function hasAnswered({ analysis: { agentError }, end, progress }: ProviderCall): boolean {
  if (progress) return true;
  return end.kind === 'exited' && (agentError === null ? end.code === 0 : REQUEST_ERRORS.includes(agentError.kind));
}

function openCircuitAt(provider: ProviderCircuit | undefined, now: number): Open | null {
  return provider?.kind === 'open' && now < provider.until ? provider : null;
}

function withOpenCircuits(names: readonly AgentName[], providers: Providers): PassedOver[] {
  return names.flatMap((name) => {
    const provider = providers[name];
    if (provider?.kind !== 'open') return [];
    const { why, until, needsPerson } = provider;
    return [{ name, why, until, ...(needsPerson === undefined ? {} : { needsPerson }) }];
  });
}
