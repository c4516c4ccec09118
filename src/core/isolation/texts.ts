import { cut } from '../text/phrase.ts';
import { STRANGER } from './egress/opening.ts';
import { isolationFacts, type IsolationFacts, meaningOf } from './probe.ts';

// What happens to the texts in a run's facts on their way: names of hosts come from programs of the agent.

/** As much as `isolationFacts` takes: a run must not be lost because it refused too many hosts. */
const MAX_ENTRIES = 100;
const MAX_NAME_CHARS = 300;
const MAX_WHY_CHARS = 500;

/** The facts cut to what a parcel holds: of refused hosts, those that were asked for most. */
export function cutFacts(facts: IsolationFacts): IsolationFacts {
  const { why, probe, refused } = facts;
  const names = summed(Object.entries(refused).map(([host, times]) => [cut(host, MAX_NAME_CHARS), times]));
  return {
    ...facts,
    why: why === null ? null : cut(why, MAX_WHY_CHARS),
    probe:
      probe === null
        ? null
        : { ...probe, failed: probe.failed.slice(0, MAX_ENTRIES).map((name) => cut(name, MAX_NAME_CHARS)) },
    refused: Object.fromEntries(mostFirst(names).slice(0, MAX_ENTRIES)),
  };
}

/** The facts with every text in them changed, also those that are keys. */
export function changeFactTexts(facts: IsolationFacts, change: (text: string) => string): IsolationFacts {
  const { why, probe, refused } = facts;
  return {
    ...facts,
    why: why === null ? null : change(why),
    probe: probe === null ? null : { ...probe, failed: probe.failed.map(change) },
    refused: Object.fromEntries(summed(Object.entries(refused).map(([host, times]) => [change(host), times]))),
  };
}

/** The facts of a record that somebody else may have written: no sentence of it, and only names of the right form; null: these are none. */
export function recordedFacts(recorded: unknown): IsolationFacts | null {
  const parsed = isolationFacts.safeParse(recorded);
  if (!parsed.success) return null;
  const { probe, refused } = parsed.data;
  return {
    ...parsed.data,
    why: null,
    probe: probe === null ? null : { ...probe, failed: probe.failed.map(knownName) },
    refused: Object.fromEntries(Object.entries(refused).filter(([host]) => isRefusedName(host))),
  };
}

/** Refused hosts and how often, the most frequent first. */
export function refusedHosts({ refused }: IsolationFacts): readonly (readonly [string, number])[] {
  return mostFirst(Object.entries(refused));
}

const HOST_AND_PORT = /^[\w.:[\]-]{1,260}:\d{1,5}$/;

/** A name of `refused` of the right form, see `createEgress`. */
function isRefusedName(name: string): boolean {
  return HOST_AND_PORT.test(name.replace(STRANGER, ''));
}

/** A check that this version does not know failed all the same. */
function knownName(name: string): string {
  return meaningOf([name]).unknown.length === 0 ? name : 'another check';
}

function mostFirst(hosts: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  return [...hosts].sort(([, one], [, other]) => other - one);
}

/** Names that became the same are one. */
function summed(hosts: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const [host, times] of hosts) sums.set(host, (sums.get(host) ?? 0) + times);
  return [...sums];
}
