export const FIELD_NAMES = [
  'STATUS',
  'TASKS_COMPLETED_THIS_LOOP',
  'FILES_MODIFIED',
  'TESTS_STATUS',
  'WORK_TYPE',
  'EXIT_SIGNAL',
  'RECOMMENDATION',
  'SUMMARY',
  'QUESTION',
] as const;

export type FieldName = (typeof FIELD_NAMES)[number];

export const BULLET = String.raw`(?:(?:[-*+•◦▪‣]|\d{1,9}[.)])\s+)?`;

const LABEL = new RegExp(`^${BULLET}([*_\`"'“‘]*)(.*)$`, 'su');

/** Maximum length of a label; anything longer is prose. */
const MAX_LABEL_CHARS = 200;

/** A field with a known or unknown name, in its original case. Markdown marks and escapes are removed from the name. */
export interface StatusField {
  readonly name: string;
  readonly value: string;
}

/** Returns the protocol's name of a field, in capitals; undefined if the protocol has no such field. */
export function findProtocolName({ name }: StatusField): FieldName | undefined {
  return FIELD_NAMES.find((known) => known === name.toUpperCase());
}

/** Parses a line `Name: value`, also with Markdown around the name; returns null for any other line. */
export function parseField(line: string): StatusField | null {
  const colon = line.search(/[:：]/);
  if (colon === -1 || colon > MAX_LABEL_CHARS) return null;
  const [, opening = '', label = ''] = LABEL.exec(normalizeCharacters(line.slice(0, colon)).trim()) ?? [];
  const name = label.replace(/[\\*`"'“”‘’]/g, '').replace(/^[\s_]+|[\s_]+$/g, '');
  if (!/^[A-Z][A-Z_]*$/.test(name.toUpperCase())) return null;
  const rest = line.slice(colon + 1);
  return { name, value: opening === '' || /[*_`"'”’]$/.test(label) ? rest.trim() : withoutClosing(rest, opening) };
}

/** Removes a name's closing marks, which stand after the colon or at the end of the line. */
function withoutClosing(rest: string, marks: string): string {
  if (rest.startsWith(marks)) return rest.slice(marks.length).trim();
  const value = rest.trim();
  return value.endsWith(marks) ? value.slice(0, -marks.length).trim() : value;
}

/**
 * Returns the text as a reader sees it: wide and styled letters become plain ones, and characters without width are
 * removed.
 */
export function normalizeCharacters(text: string): string {
  return /^[\t -~]*$/.test(text) ? text : text.normalize('NFKC').replace(/\p{DI}/gu, '');
}
