import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';
import { count, type Immutable, instant } from '../policy.ts';
import { oneLine } from '../text/phrase.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../countdown.ts';

/** Maximum wait for a provider in ms: its longest limit is weekly, and a later reset is not believed. */
export const MAX_USAGE_WAIT_MS = 8 * DAY_MS;
/** Maximum wait in ms for a limit with only one sign, however often it is reported. */
const MAX_UNCONFIRMED_WAIT_MS = 6 * HOUR_MS;
/** Wait in ms after a refusal: nobody gives a provider credit or another key within minutes. */
const REFUSED_MS = HOUR_MS;
/** Wait in ms after failures: an outage is often shorter, and a probe of a longer one costs one call. */
const FAILING_MS = 15 * MINUTE_MS;
/** Wait in ms before a limit whose end has just passed is tried again, once. */
const JUST_OVER_MS = 5 * MINUTE_MS;
/** Duration in ms up to which people are not notified of a limit. */
const LONG_LIMIT_MS = DAY_MS;
const MAX_WORDS_CHARS = 300;
/** Number of failures that open the circuit: a single one may be chance. */
const FAILURES_TO_OPEN = 2;

/** The reasons why an agent's provider gets no call: its usage limit, no credit, a refused key, consecutive failures. */
export const providerTroubles = ['limit', 'billing', 'auth', 'failing'] as const;
export type ProviderTrouble = (typeof providerTroubles)[number];

const providerSchema = z.discriminatedUnion('kind', [
  /** `failures` is the number in a row, up to the newest call. */
  z.object({ kind: z.literal('closed'), failures: count }),
  /** An open circuit, which one call probes from `until` on. */
  z.object({
    kind: z.literal('open'),
    why: z.enum(providerTroubles),
    until: instant,
    /** The provider's words about a limit that needs a person: one that no wait ends, or that lasts for more than a day. */
    needsPerson: z.string().max(MAX_WORDS_CHARS).exactOptional(),
  }),
]);

/** The small circuit of one provider. Half-open is never stored: it follows from `until` and the clock. */
export type Provider = Immutable<z.infer<typeof providerSchema>>;
type Open = Provider & { readonly kind: 'open' };

export const providersSchema = z.partialRecord(z.enum(AGENT_NAMES), providerSchema);

/** The circuits of a lane's providers, by the agent that calls them; a provider without an entry never failed. */
export type Providers = Immutable<z.infer<typeof providersSchema>>;

/** The agents that may be called, in order of preference. */
export type AgentOrder = readonly [AgentName, ...(readonly AgentName[])];

/** The chosen agent. `probe`: its provider was in trouble, and this call decides. `refused`: each provider refuses its key or lacks credit. */
export type ChosenAgent =
  | { readonly kind: 'agent'; readonly name: AgentName; readonly probe: boolean }
  | { readonly kind: 'parked'; readonly until: number; readonly why: 'limit'; readonly needsPerson: string | null }
  | { readonly kind: 'refused' };

/**
 * Returns the first agent of the order whose provider may be called. If none may, the lane parks if one of those that
 * recover by themselves is at its limit; agents that only fail are called anyway, since the lane's circuit stops an
 * agent whose calls fail.
 */
export function chooseAgent(order: AgentOrder, providers: Providers, now: number): ChosenAgent {
  const ready = order.find((name) => openAt(providers[name], now) === null);
  if (ready !== undefined) return { kind: 'agent', name: ready, probe: providers[ready]?.kind === 'open' };
  const waiting = inTrouble(order, providers).filter(({ why }) => why === 'limit' || why === 'failing');
  if (waiting.some(({ why }) => why === 'limit')) {
    const until = Math.min(...waiting.map((one) => one.until));
    // One agent that recovers by itself is enough.
    const words = waiting.map(({ needsPerson }) => needsPerson ?? null);
    return { kind: 'parked', until, why: 'limit', needsPerson: words.includes(null) ? null : (words[0] ?? null) };
  }
  const failing = waiting[0];
  return failing === undefined ? { kind: 'refused' } : { kind: 'agent', name: failing.name, probe: true };
}

/** Tells whether every provider is in trouble and none at its limit, so that one is called anyway or none at all. */
export function isOutage(order: AgentOrder, providers: Providers, now: number): boolean {
  return (
    order.every((name) => openAt(providers[name], now) !== null) &&
    inTrouble(order, providers).every(({ why }) => why !== 'limit')
  );
}

/** Returns, of agents that are all refused, the one whose refusal is oldest: somebody may have given it another key. */
export function refusedLongest(order: AgentOrder, providers: Providers): AgentName {
  const [first] = order;
  return inTrouble(order, providers).sort((a, b) => a.until - b.until)[0]?.name ?? first;
}

/** Returns the agents before `name` in the order, with what keeps their providers from a call. */
export function passedOver(
  order: AgentOrder,
  providers: Providers,
  name: AgentName,
  now: number,
): readonly PassedOver[] {
  const before = order.slice(0, Math.max(0, order.indexOf(name)));
  return inTrouble(before, providers).filter(({ until }) => now < until);
}

/** An agent that gets no call, and the instant until which it gets none. */
export interface PassedOver extends Pick<Open, 'why' | 'until' | 'needsPerson'> {
  readonly name: AgentName;
}

/** The facts of a call that concern its provider. */
export interface ProviderCall {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
  /** True if content changed. */
  readonly progress: boolean;
  /** True if the call failed, whatever its words, and nothing changed. */
  readonly agentFailed: boolean;
}

/** Returns the circuits after a call of an agent. A call on an open one was its probe, whatever the clock says now. */
export function afterCall(providers: Providers, name: AgentName, call: ProviderCall, now: number): Providers {
  const before = providers[name] ?? { kind: 'closed', failures: 0 };
  const after = judged(before, call, now);
  return after === before ? providers : { ...providers, [name]: after };
}

/** Tells whether the provider, or the CLI that calls it, failed in a way that may be temporary. */
export function isFailure({ analysis, end, agentFailed }: Omit<ProviderCall, 'progress'>): boolean {
  const { agentError, usageLimit } = analysis;
  if (usageLimit !== null) return false;
  if (end.kind === 'stalled' || agentError?.kind === 'server' || agentError?.kind === 'rate-limit') return true;
  return agentFailed && !OF_THE_WORK.includes(agentError?.kind ?? '');
}

/** Errors that prove an answer of the provider: they are about the request. */
const OF_THE_WORK: readonly string[] = ['prompt-too-long', 'max-turns', 'budget'];

/**
 * Returns the believed end of a reported limit: an hour later if its end is unknown, and at least a minute later, so
 * that no call follows at once. A limit whose end has passed is tried again within minutes, and if it is still there,
 * within the usual hour.
 */
function limitUntil(
  { resumeAt, unconfirmed }: NonNullable<Analysis['usageLimit']>,
  before: Provider,
  now: number,
): number {
  const reported = resumeAt === null ? Number.NaN : Date.parse(resumeAt);
  const isTried = before.kind === 'open' && before.why === 'limit' && before.until > reported;
  const again = now + (isTried ? HOUR_MS : JUST_OVER_MS);
  const wanted = Number.isNaN(reported) ? now + HOUR_MS : reported > now ? reported : again;
  const longest = unconfirmed === undefined ? MAX_USAGE_WAIT_MS : MAX_UNCONFIRMED_WAIT_MS;
  return Math.min(Math.max(wanted, now + MINUTE_MS), now + longest);
}

/**
 * Returns the circuits for a person who asks to try now: the key may be new, and credit may have been added. A limit
 * still ends only at its time, unless a person must lift it.
 */
export function probingProviders(providers: Providers, now: number): Providers {
  const entries = Object.entries(providers) as readonly (readonly [AgentName, Provider])[];
  return Object.fromEntries(
    entries.map(([name, provider]) => [
      name,
      provider.kind === 'closed' || (provider.why === 'limit' && provider.needsPerson === undefined)
        ? provider
        : { ...provider, until: Math.min(provider.until, now) },
    ]),
  );
}

/** Returns the circuits without implausible values from a wrong clock or an untrusted job: none is open for longer than its trouble may last. */
export function believableProviders(providers: Providers, now: number): Providers {
  const entries = Object.entries(providers) as readonly (readonly [AgentName, Provider])[];
  const isBelievable = (provider: Provider): boolean =>
    provider.kind === 'closed' || provider.until <= now + longest[provider.why];
  if (entries.every(([, provider]) => isBelievable(provider))) return providers;
  return Object.fromEntries(
    entries.map(([name, provider]) => [
      name,
      isBelievable(provider) || provider.kind === 'closed'
        ? provider
        : { ...provider, until: now + longest[provider.why] },
    ]),
  );
}

/** Maximum duration in ms for which each trouble may keep a provider from a call. */
const longest: Readonly<Record<ProviderTrouble, number>> = {
  limit: MAX_USAGE_WAIT_MS,
  billing: REFUSED_MS,
  auth: REFUSED_MS,
  failing: FAILING_MS,
};

function judged(before: Provider, call: ProviderCall, now: number): Provider {
  const { agentError, usageLimit } = call.analysis;
  if (usageLimit !== null) {
    const until = limitUntil(usageLimit, before, now);
    const isForPerson = usageLimit.byPerson === true || until - now > LONG_LIMIT_MS;
    const words = oneLine(agentError?.text ?? '', MAX_WORDS_CHARS);
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
  return hasAnswered(call) && isChanged(before) ? { kind: 'closed', failures: 0 } : before;
}

function isChanged(provider: Provider): boolean {
  return provider.kind === 'open' || provider.failures > 0;
}

/** Tells whether the provider answered: a call that was cut off, or whose CLI crashed, may never have reached it. */
function hasAnswered({ analysis: { agentError }, end, progress }: ProviderCall): boolean {
  if (progress) return true;
  return end.kind === 'exited' && (agentError === null ? end.code === 0 : OF_THE_WORK.includes(agentError.kind));
}

function openAt(provider: Provider | undefined, now: number): Open | null {
  return provider?.kind === 'open' && now < provider.until ? provider : null;
}

function inTrouble(names: readonly AgentName[], providers: Providers): PassedOver[] {
  return names.flatMap((name) => {
    const provider = providers[name];
    return provider?.kind === 'open' ? [{ name, ...trouble(provider) }] : [];
  });
}

function trouble({ why, until, needsPerson }: Open): Omit<PassedOver, 'name'> {
  return { why, until, ...(needsPerson === undefined ? {} : { needsPerson }) };
}
