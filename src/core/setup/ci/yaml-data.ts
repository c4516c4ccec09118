import { parseYaml } from '../../../yaml/parse.ts';

/** A mapping of YAML. */
export type YamlMap = Readonly<Record<string, unknown>>;

/** Parses a document that is a mapping; returns null for another value or for text that is not YAML. */
export function parseYamlMap(text: string): YamlMap | null {
  const parsed = parseYaml(text);
  return parsed.kind === 'data' && isRecord(parsed.data) ? parsed.data : null;
}

/** Returns true if a value is a mapping. */
export function isRecord(value: unknown): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the mapping at a key, or an empty one. */
export function getMapping(map: YamlMap, key: string): YamlMap {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return isRecord(value) ? value : {};
}

/** Returns the list at a key, or an empty one. */
export function getList(map: YamlMap, key: string): readonly unknown[] {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** Returns the text at a key, or `''`. */
export function pickText(map: YamlMap, key: string): string {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Returns the keys and values of a mapping. */
export function listMapEntries(map: YamlMap): readonly (readonly [string, unknown])[] {
  return Object.entries(map);
}

/** Returns the text of a scalar, or `''` for any other value. */
export function textOfScalar(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
