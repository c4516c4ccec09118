import { cutText } from '../text/phrase.ts';
import { DISCREPANCY_SUFFIX } from './egress/opening.ts';
import { isolationFacts, type IsolationFacts, groupByMeaning } from './probe.ts';

// These functions change texts in a run's facts. The agent's programs choose the host names in these texts.

/** Same limits as in `isolationFacts`, so that a run with too many refused hosts is not lost. */
const MAX_ENTRIES = 100;
const MAX_NAME_CHARS = 300;
const MAX_WHY_CHARS = 500;

/** Cuts the facts to the size of a parcel and keeps the refused hosts with the most requests. */
export function cutFacts(facts: IsolationFacts): IsolationFacts {
  const { why, caches, probe, refused } = facts;
  const names = sumCounts(Object.entries(refused).map(([host, times]) => [cutText(host, MAX_NAME_CHARS), times]));
  return {
    ...facts,
    why: why === null ? null : cutText(why, MAX_WHY_CHARS),
    caches: caches === null ? null : cutText(caches, MAX_WHY_CHARS),
    probe:
      probe === null
        ? null
        : { ...probe, failed: probe.failed.slice(0, MAX_ENTRIES).map((name) => cutText(name, MAX_NAME_CHARS)) },
    refused: Object.fromEntries(sortByCount(names).slice(0, MAX_ENTRIES)),
  };
}

/** Applies a change to every text in the facts, including keys. */
export function changeFactTexts(facts: IsolationFacts, change: (text: string) => string): IsolationFacts {
  const { why, caches, probe, refused } = facts;
  return {
    ...facts,
    why: why === null ? null : change(why),
    caches: caches === null ? null : change(caches),
    probe: probe === null ? null : { ...probe, failed: probe.failed.map(change) },
    refused: Object.fromEntries(sumCounts(Object.entries(refused).map(([host, times]) => [change(host), times]))),
  };
}

/**
 * Returns the facts of a record that somebody else may have forged: without sentences, and with well-formed names only.
 * Returns null if the record holds no facts.
 */
export function restoreRecordedFacts(recorded: unknown): IsolationFacts | null {
  const parsed = isolationFacts.safeParse(recorded);
  if (!parsed.success) return null;
  const { probe, refused } = parsed.data;
  return {
    ...parsed.data,
    why: null,
    caches: null,
    probe: probe === null ? null : { ...probe, failed: probe.failed.map(knownCheckName) },
    refused: Object.fromEntries(Object.entries(refused).filter(([host]) => isRefusedName(host))),
  };
}

/** Returns the refused hosts with their counts, most frequent first. */
export function countRefusedHosts({ refused }: IsolationFacts): readonly (readonly [string, number])[] {
  return sortByCount(Object.entries(refused));
}

const HOST_AND_PORT = /^[\w.:[\]-]{1,260}:\d{1,5}$/;

/** Returns true if a name has the form that `createEgress` writes into `refused`. */
function isRefusedName(name: string): boolean {
  return HOST_AND_PORT.test(name.replace(DISCREPANCY_SUFFIX, ''));
}

/** Replaces the name of a check that this version does not know; the check still counts as failed. */
function knownCheckName(name: string): string {
  return groupByMeaning([name]).unknown.length === 0 ? name : 'another check';
}

function sortByCount(hosts: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  return [...hosts].sort(([, one], [, other]) => other - one);
}

/** Adds up the counts of equal names. */
function sumCounts(hosts: readonly (readonly [string, number])[]): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const [host, times] of hosts) sums.set(host, (sums.get(host) ?? 0) + times);
  return [...sums];
}
