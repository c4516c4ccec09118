/** What a field takes and what it refuses; `path` as in `session.id`. */
export interface FieldRule {
  readonly path: string;
  readonly takes: readonly unknown[];
  readonly refuses: readonly unknown[];
}

/** A copy of plain data with the value at `path` replaced; `undefined` is a field that JSON leaves out. */
export function replaced(data: unknown, path: string, value: unknown): unknown {
  const [first = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : replaced(valueAt(data, first), rest.join('.'), value);
  if (Array.isArray(data)) return data.map((item: unknown, index) => (String(index) === first ? inner : item));
  return { ...(data as object), [first]: inner };
}

/** The value at `path`; undefined when nothing is there. */
export function valueAt(data: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], data);
}

export const text = (chars: number): string => 'x'.repeat(chars);

const notNumbers = ['7', null, undefined, true, []];
const notTexts = [7, null, undefined, {}];

/** Whole numbers from 0 on. */
export const count = (path: string): FieldRule => ({
  path,
  takes: [0, 1, 1_000_000],
  refuses: [-1, 0.5, ...notNumbers],
});
/** Money and durations: from 0 on, with fractions. */
export const amount = (path: string): FieldRule => ({ path, takes: [0, 0.5, 1_000], refuses: [-0.01, ...notNumbers] });
/** Ms since the epoch, within the calendar. */
export const instant = (path: string): FieldRule => instantUpTo(path, 8.64e15);
/** The same, with years to come before the calendar ends. */
export const keptInstant = (path: string): FieldRule => instantUpTo(path, 8e15);
const instantUpTo = (path: string, last: number): FieldRule => ({
  path,
  takes: [0, 1_795_262_400_000, last],
  refuses: [-1, 0.5, last + 2, ...notNumbers],
});
/** Any finite number. */
export const number = (path: string): FieldRule => ({ path, takes: [-1, 0, 0.5, 1e9], refuses: notNumbers });
export const flag = (path: string): FieldRule => ({
  path,
  takes: [true, false],
  refuses: [0, 'true', null, undefined],
});
/** Texts with so many characters. */
export const words = (path: string, min: number, max: number): FieldRule => ({
  path,
  takes: [text(min), text(max)],
  refuses: [...(min === 0 ? [] : [text(min - 1)]), text(max + 1), ...notTexts],
});
/** Texts of any length. */
export const anyText = (path: string): FieldRule => ({ path, takes: ['', text(5_000)], refuses: notTexts });
/** One of these words and no other. */
export const oneOf = (path: string, ...takes: readonly string[]): FieldRule => ({
  path,
  takes,
  refuses: ['', 'other', takes.join(), 7, null, undefined],
});
/** Lists of at most so many. */
export const listOf = (path: string, item: unknown, max: number): FieldRule => ({
  path,
  takes: [[], [item], Array.from({ length: max }, () => item)],
  refuses: [Array.from({ length: max + 1 }, () => item), [item, null], {}, null, undefined],
});
/** Lists of any length. */
export const anyList = (path: string, item: unknown): FieldRule => ({
  path,
  takes: [[], [item, item]],
  refuses: [[item, null], {}, null, undefined],
});
/** The same, or null. */
export const orNull = (rule: FieldRule): FieldRule => ({
  ...rule,
  takes: [...rule.takes, null],
  refuses: rule.refuses.filter((value) => value !== null),
});
