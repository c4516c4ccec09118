/** Parsed JSON of unknown shape. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the value if it is an object and not an array, else null. */
export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** Returns the value if it is an array, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is a string, else null. */
export function asString(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Returns a finite number that is not negative, or null. */
export function asAmount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
