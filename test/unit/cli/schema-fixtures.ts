/** The values that a field accepts and refuses; `path` is a path such as `session.id`. */
export interface FieldRule {
  readonly path: string;
  readonly takes: readonly unknown[];
  readonly refuses: readonly unknown[];
}

/** Returns a copy of plain data with the value at `path` replaced; `undefined` removes the field, as in JSON. */
export function replaced(data: unknown, path: string, value: unknown): unknown {
  const [first = '', ...rest] = path.split('.');
  const inner = rest.length === 0 ? value : replaced(valueAt(data, first), rest.join('.'), value);
  if (Array.isArray(data)) return data.map((item: unknown, index) => (String(index) === first ? inner : item));
  return { ...(data as object), [first]: inner };
}

/** Returns the value at `path`, or undefined if none. */
export function valueAt(data: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], data);
}

export const text = (chars: number): string => 'x'.repeat(chars);

const notNumbers = ['7', null, undefined, true, []];
const notTexts = [7, null, undefined, {}];

/** Whole numbers from 0. */
export const count = (path: string): FieldRule => ({
  path,
  takes: [0, 1, 1_000_000],
  refuses: [-1, 0.5, ...notNumbers],
});
/** Money and durations: numbers from 0, with fractions. */
export const amount = (path: string): FieldRule => ({ path, takes: [0, 0.5, 1_000], refuses: [-0.01, ...notNumbers] });
/** Instants in ms since the epoch, within the calendar. */
export const instant = (path: string): FieldRule => instantUpTo(path, 8.64e15);
/** Instants like `instant`, with years left before the calendar ends. */
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
/** Texts whose length is between `min` and `max` characters. */
export const words = (path: string, min: number, max: number): FieldRule => ({
  path,
  takes: [text(min), text(max)],
  refuses: [...(min === 0 ? [] : [text(min - 1)]), text(max + 1), ...notTexts],
});
/** Texts of any length. */
export const anyText = (path: string): FieldRule => ({ path, takes: ['', text(5_000)], refuses: notTexts });
/** Exactly these words. */
export const oneOf = (path: string, ...takes: readonly string[]): FieldRule => ({
  path,
  takes,
  refuses: ['', 'other', takes.join(), 7, null, undefined],
});
/** Lists of at most `max` items. */
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
/** The values of another rule, or null. */
export const orNull = (rule: FieldRule): FieldRule => ({
  ...rule,
  takes: [...rule.takes, null],
  refuses: rule.refuses.filter((value) => value !== null),
});
