import { resolveValue, type Contexts } from './expressions.ts';
import { listMapEntries, isRecord, getList, textOfScalar } from './yaml-data.ts';

/** The values of a matrix for one job. */
type Combination = Readonly<Record<string, unknown>>;

const MAX_COMBINATIONS = 300;

/**
 * Returns the combination of a matrix that is most like a current Linux machine, or null if only GitHub knows the
 * matrix. The newest version of an `unsettled` key may be a prerelease, so the one before it is preferred.
 */
export function chooseCombination(
  matrix: unknown,
  contexts: Contexts,
  unsettled: readonly string[],
): Combination | null {
  if (matrix === undefined || matrix === null) return {};
  const known = resolveValue(matrix, contexts);
  if (!isRecord(known)) return null;
  const combinations = combinationsOf(known, contexts);
  if (combinations === null) return null;
  const allowed = combinations.filter((one) => !listMapEntries(one).some(([, value]) => isElsewhere(value)));
  const candidates = allowed.length > 0 ? allowed : combinations;
  const ranked = candidates.map((one) => ({ one, flat: new Map(flattenValues(one)) }));
  const score = ({ flat }: (typeof ranked)[number]): number =>
    [...flat].reduce(
      (sum, [key, value]) =>
        sum +
        rankOf(value, {
          key,
          others: ranked.map((other) => other.flat.get(key)),
          isUnsettled: unsettled.includes(key),
        }),
      0,
    );
  return ranked.toSorted((a, b) => score(b) - score(a))[0]?.one ?? {};
}

function combinationsOf(matrix: Combination, contexts: Contexts): readonly Combination[] | null {
  let found: readonly Combination[] = [{}];
  const given = new Map(['include', 'exclude'].map((name) => [name, resolveValue(matrix[name] ?? [], contexts)]));
  if ([...given.values()].some((list) => !Array.isArray(list))) return null;
  const names = Object.keys(matrix).filter((name) => !given.has(name));
  for (const name of names) {
    const values = resolveValue(matrix[name], contexts);
    if (!Array.isArray(values)) return null;
    const known = values.map((value) => resolveValue(value, contexts));
    found = found.flatMap((one) => known.map((value) => ({ ...one, [name]: value }))).slice(0, MAX_COMBINATIONS);
  }
  const fits = (one: Combination, part: Combination): boolean =>
    listMapEntries(part).every(([key, value]) => JSON.stringify(one[key]) === JSON.stringify(value));
  const excluded = getList(Object.fromEntries(given), 'exclude').filter(isRecord);
  found = found.filter((one) => !excluded.some((part) => fits(one, part)));
  const extra: Combination[] = [];
  for (const part of getList(Object.fromEntries(given), 'include').filter(isRecord)) {
    const own = Object.fromEntries(listMapEntries(part).filter(([key]) => names.includes(key)));
    const isExtension = names.length > 0 && found.some((one) => fits(one, own));
    if (!isExtension) extra.push(part);
    else found = found.map((one) => (fits(one, own) ? { ...part, ...one } : one));
  }
  const all = [...(names.length === 0 && extra.length > 0 ? [] : found), ...extra];
  return all.map((one) =>
    Object.fromEntries(listMapEntries(one).map(([key, value]) => [key, resolveValue(value, contexts)])),
  );
}

/** Returns the values by their keys; a value inside of another one has both keys, as in `config.python`. */
function flattenValues(map: Combination): readonly (readonly [string, unknown])[] {
  return listMapEntries(map).flatMap(([key, value]) =>
    isRecord(value)
      ? flattenValues(value).map(([inner, one]) => [`${key}.${inner}`, one] as const)
      : [[key, value] as const],
  );
}

/** Returns true if a value, or one inside of it, names a system other than Linux. */
function isElsewhere(value: unknown): boolean {
  if (typeof value === 'string') return /\b(?:windows|macos|darwin|mingw|msvc|freebsd)/i.test(value);
  return isRecord(value) && Object.values(value).some(isElsewhere);
}

/** Returns the rank of a value among those of its key: newer versions rank higher, and experiments lower. */
function rankOf(
  value: unknown,
  {
    key,
    others,
    isUnsettled,
  }: { readonly key: string; readonly others: readonly unknown[]; readonly isUnsettled: boolean },
): number {
  if (value === undefined) return 0;
  if (typeof value === 'boolean') return value && /experiment|allow|continue|optional|fail/i.test(key) ? -2 : 0;
  // A key beside the versions, as in `lint: lint`, only adds steps to the job.
  if (value === key) return 0;
  const version = comparableVersion(value);
  if (version === null) return UNSETTLED.test(textOfScalar(value)) ? -2 : NEWEST.test(textOfScalar(value)) ? 2 : 0;
  const versions = [...new Set(others.flatMap((other) => comparableVersion(other) ?? []))].sort((a, b) => a - b);
  // A version that is marked as a prerelease shows that the newest plain one is stable.
  const isMarked = others.some((other) => /^v?\d.*(?:dev|alpha|beta|rc)/i.test(textOfScalar(other)));
  if (isUnsettled && !isMarked && versions.length > 1 && version === versions.at(-1)) return 0;
  return 1 + versions.indexOf(version) / versions.length;
}

/** Matches the names for the newest stable version, which rank above every number. */
const NEWEST = /^(?:[a-z]+-)?(?:latest|stable)$/i;

const UNSETTLED =
  /head|nightly|canary|dev|beta|alpha|rc|pypy|lowest|minimal|min\b|experimental|bench|docs?\b|lint|\dt$/i;

/** Converts a version to a number that sorts like it, or null if it is not a plain version. */
function comparableVersion(value: unknown): number | null {
  const [, major, minor = '0', patch = '0'] = /^v?(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?$/.exec(textOfScalar(value)) ?? [];
  const part = (text: string): number => (text === 'x' ? 999 : Number(text));
  return major === undefined ? null : (Number(major) * 1000 + part(minor)) * 1000 + part(patch);
}
