import { parseYaml } from '../../../yaml/parse.ts';

/** A mapping of YAML. */
export type YamlMap = Readonly<Record<string, unknown>>;

/** The mapping that a document is; null: it is another value, or not YAML. */
export function parseYamlMap(text: string): YamlMap | null {
  const parsed = parseYaml(text);
  return parsed.kind === 'data' && isRecord(parsed.data) ? parsed.data : null;
}

/** True for a mapping. */
export function isRecord(value: unknown): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The mapping at a key; empty: there is none. */
export function mapIn(map: YamlMap, key: string): YamlMap {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return isRecord(value) ? value : {};
}

/** The list at a key; empty: there is none. */
export function listIn(map: YamlMap, key: string): readonly unknown[] {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** The text at a key; `''`: there is none. */
export function textIn(map: YamlMap, key: string): string {
  const value = Object.hasOwn(map, key) ? map[key] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Keys and values of a mapping. */
export function entriesOf(map: YamlMap): readonly (readonly [string, unknown])[] {
  return Object.entries(map);
}

/** The text of a scalar; `''` for any other value. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}
