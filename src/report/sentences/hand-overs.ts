import type { AgentName } from '../../core/agent-names.ts';
import type { JournalEntry } from '../../core/journal/journal.ts';
import { namesOf } from '../../core/text/lists.ts';
import { formatInstant } from '../../core/time.ts';
import type { ProviderTrouble } from '../../core/lane/providers.ts';
import type { LaneState } from '../../core/lane/state.ts';
import { formatInstantFrom } from '../format.ts';
import type { Change } from '../../core/lane/change.ts';

type Turn = Pick<JournalEntry, 'iteration' | 'agent' | 'passedOver'>;

/** Who took over from whom in a run, and why: a sentence each, plain. Empty where the first agent of the order did everything. */
export function handOverLines(iterations: readonly Turn[]): readonly string[] {
  return iterations.flatMap((turn, at) => handOverLine(turn, iterations[at - 1] ?? null));
}

/** The same of one iteration; `before`: the one before it in its run. */
export function handOverLine({ iteration, agent, passedOver }: Turn, before: Turn | null): readonly string[] {
  if (agent === null || agent === (before?.agent ?? null)) return [];
  const taken =
    before === null ? `${agent} worked from iteration ${iteration} on` : `${agent} took over in iteration ${iteration}`;
  const reasons = passedOver.filter(({ name }) => before === null || name === before.agent).map(reasonWords);
  if (reasons.length > 0) return [`${namesOf(reasons)}, so ${taken}.`];
  return before === null ? [] : [`${agent} could be called again, so it continued in iteration ${iteration}.`];
}

/** Agents that a run called, with their iterations; in the order of their first. */
export function calledAgents(
  iterations: readonly Turn[],
): readonly { readonly agent: AgentName; readonly iterations: number }[] {
  const names = iterations.flatMap(({ agent }) => agent ?? []);
  return [...new Set(names)].map((agent) => ({ agent, iterations: names.filter((name) => name === agent).length }));
}

/** Agents that have worked on what a branch holds. */
export function agentsOfChange({ tasks }: Change): readonly AgentName[] {
  return [...new Set(Object.values(tasks).flatMap(({ agents }) => agents))];
}

/** Agents that get no call now, while another one's turn it is. */
export function troubleLines(
  { agent, providers }: Pick<LaneState, 'agent' | 'providers'>,
  now: number,
): readonly string[] {
  const names = Object.keys(providers) as readonly AgentName[];
  return names.flatMap((name) => {
    const provider = providers[name];
    if (name === agent || provider?.kind !== 'open' || provider.until <= now) return [];
    return [`${name} is not called until ${formatInstantFrom(provider.until, now)}: ${TROUBLE_WORDS[provider.why]}`];
  });
}

const TROUBLE_WORDS: Readonly<Record<ProviderTrouble, string>> = {
  limit: 'its usage limit is reached',
  billing: 'it has no credit',
  auth: 'its key was refused',
  failing: 'its provider kept failing',
};

function reasonWords({ name, why, until }: Turn['passedOver'][number]): string {
  switch (why) {
    case 'limit':
      return `${name} was at its usage limit until ${formatInstant(until)}`;
    case 'billing':
      return `${name} had no credit`;
    case 'auth':
      return `${name}'s key was refused`;
    case 'failing':
      return `${name}'s provider kept failing`;
  }
}
