import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../agent-names.ts';
import type { Analysis } from '../analysis/analysis.ts';
import type { AgentEnd } from '../evidence.ts';
import { count, type Immutable, instant } from '../policy.ts';
import { oneLine } from '../text/phrase.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../countdown.ts';

/** The longest limit of a provider is weekly; a reset later than this is not believed. */
export const MAX_USAGE_WAIT_MS = 8 * DAY_MS;
/** A limit that only one sign speaks of is believed for so long, however often it is reported. */
const MAX_UNCONFIRMED_WAIT_MS = 6 * HOUR_MS;
/** Nobody gives a provider credit or another key within minutes. */
const REFUSED_MS = HOUR_MS;
/** An outage is often shorter than that, and a probe of one that is longer costs one call. */
const FAILING_MS = 15 * MINUTE_MS;
/** A limit whose end has just passed is tried again so soon, once. */
const JUST_OVER_MS = 5 * MINUTE_MS;
/** People wait for a limit that lasts for so long, and hear nothing of it. */
const LONG_LIMIT_MS = DAY_MS;
const MAX_WORDS_CHARS = 300;
/** One failure may be chance. */
const FAILURES_TO_OPEN = 2;

/** Why an agent's provider gets no call: its usage limit, no credit, a refused key, failures in a row. */
export const providerTroubles = ['limit', 'billing', 'auth', 'failing'] as const;
export type ProviderTrouble = (typeof providerTroubles)[number];

const providerSchema = z.discriminatedUnion('kind', [
  /** `failures`: in a row, up to the newest call. */
  z.object({ kind: z.literal('closed'), failures: count }),
  /** From `until` on one call probes it. */
  z.object({
    kind: z.literal('open'),
    why: z.enum(providerTroubles),
    until: instant,
    /** The provider's words of a limit for which a person is needed: one that no time lifts, or that lasts for more than a day. */
    needsPerson: z.string().max(MAX_WORDS_CHARS).exactOptional(),
  }),
]);

/** The small circuit of one provider. Half-open is never stored: it follows from `until` and the clock. */
export type Provider = Immutable<z.infer<typeof providerSchema>>;
type Open = Provider & { readonly kind: 'open' };

export const providersSchema = z.partialRecord(z.enum(AGENT_NAMES), providerSchema);

/** The circuits of a lane's providers, by the agent that calls them; one without an entry never failed. */
export type Providers = Immutable<z.infer<typeof providersSchema>>;

/** The agents that may be called, the first before all others. */
export type AgentOrder = readonly [AgentName, ...(readonly AgentName[])];

/** Whose turn it is. `probe`: its provider was in trouble, and this call decides. `refused`: each provider refuses its key or is without credit. */
export type ChosenAgent =
  | { readonly kind: 'agent'; readonly name: AgentName; readonly probe: boolean }
  | { readonly kind: 'parked'; readonly until: number; readonly why: 'limit'; readonly needsPerson: string | null }
  | { readonly kind: 'refused' };

/**
 * The first agent of the order whose provider may be called. Where none may, those that come back by themselves are
 * waited for if one of them is at its limit; those that only fail are called all the same: what stops
 * an agent whose calls come to nothing is the lane's circuit.
 */
export function chooseAgent(order: AgentOrder, providers: Providers, now: number): ChosenAgent {
  const ready = order.find((name) => openAt(providers[name], now) === null);
  if (ready !== undefined) return { kind: 'agent', name: ready, probe: providers[ready]?.kind === 'open' };
  const waiting = inTrouble(order, providers).filter(({ why }) => why === 'limit' || why === 'failing');
  if (waiting.some(({ why }) => why === 'limit')) {
    const until = Math.min(...waiting.map((one) => one.until));
    // One agent that comes back by itself is enough.
    const words = waiting.map(({ needsPerson }) => needsPerson ?? null);
    return { kind: 'parked', until, why: 'limit', needsPerson: words.includes(null) ? null : (words[0] ?? null) };
  }
  const failing = waiting[0];
  return failing === undefined ? { kind: 'refused' } : { kind: 'agent', name: failing.name, probe: true };
}

/** Whether every provider is in trouble and none of them at its limit, so that one is called all the same or none at all. */
export function isOutage(order: AgentOrder, providers: Providers, now: number): boolean {
  return (
    order.every((name) => openAt(providers[name], now) !== null) &&
    inTrouble(order, providers).every(({ why }) => why !== 'limit')
  );
}

/** Of agents that are all refused, the one that was refused longest ago: somebody may have given it another key. */
export function refusedLongest(order: AgentOrder, providers: Providers): AgentName {
  const [first] = order;
  return inTrouble(order, providers).sort((a, b) => a.until - b.until)[0]?.name ?? first;
}

/** Agents before `name` in the order, with what keeps their providers from a call. */
export function passedOver(
  order: AgentOrder,
  providers: Providers,
  name: AgentName,
  now: number,
): readonly PassedOver[] {
  const before = order.slice(0, Math.max(0, order.indexOf(name)));
  return inTrouble(before, providers).filter(({ until }) => now < until);
}

/** An agent that gets no call, and until when. */
export interface PassedOver extends Pick<Open, 'why' | 'until' | 'needsPerson'> {
  readonly name: AgentName;
}

/** What a call says of its provider. */
export interface ProviderCall {
  readonly analysis: Pick<Analysis, 'agentError' | 'usageLimit'>;
  readonly end: AgentEnd;
  /** Whether content changed. */
  readonly progress: boolean;
  /** The call failed, whatever its words, and nothing changed. */
  readonly agentFailed: boolean;
}

/** The circuits after a call of an agent. A call on an open one was its probe, whatever the clock says now. */
export function afterCall(providers: Providers, name: AgentName, call: ProviderCall, now: number): Providers {
  const before = providers[name] ?? { kind: 'closed', failures: 0 };
  const after = judged(before, call, now);
  return after === before ? providers : { ...providers, [name]: after };
}

/** Whether the provider, or the CLI that calls it, failed in a way that may be over soon. */
export function isFailure({ analysis, end, agentFailed }: Omit<ProviderCall, 'progress'>): boolean {
  const { agentError, usageLimit } = analysis;
  if (usageLimit !== null) return false;
  if (end.kind === 'stalled' || agentError?.kind === 'server' || agentError?.kind === 'rate-limit') return true;
  return agentFailed && !OF_THE_WORK.includes(agentError?.kind ?? '');
}

/** Errors with which a provider has answered: they are about what it was asked. */
const OF_THE_WORK: readonly string[] = ['prompt-too-long', 'max-turns', 'budget'];

/**
 * Until when a reported limit is believed to last: an hour where its end is not known, and at least a minute, so that
 * nothing is called again at once. One whose end has passed is over: it is tried again within minutes, and when that comes
 * to the same, within the usual hour.
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

/** The circuits for a person who asks to try now: a key may be another one, and credit may be there. A limit ends when the provider says so, unless a person lifts it. */
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

/** The circuits without what no clock but a wrong one, or a job that is not believed, can have said: none is open for longer than its trouble may last. */
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

/** For how long each trouble may keep a provider from a call. */
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

/** Whether the provider is there: a call that was cut off, or whose CLI crashed, may never have reached it. */
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
