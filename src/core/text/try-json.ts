/** Parses a JSON text; returns undefined if it is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a document of an earlier version with a key under its new name; everything else as it is. */
export function renameKey(json: unknown, from: string, to: string): unknown {
  if (typeof json !== 'object' || json === null || !(from in json) || to in json) return json;
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key === from ? to : key, value]));
}
