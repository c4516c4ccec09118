import { claimedStatuses, claimedTestsStatuses, claimedWorkTypes, type Signal } from './analysis.ts';
import { capped } from '../text/cut.ts';
import type { MarkedLine } from './markdown-code.ts';

/** What a status block says: a signal without its origin. */
export type StatusBlock = Omit<Signal, 'from'>;

/** The last well-formed block of a message. `endsInFencedBlock`: the message ends in a block that does not count because it is code. */
export interface FoundBlock {
  readonly block: StatusBlock | null;
  readonly endsInFencedBlock: boolean;
}

/** Finds the agent's self-report, outside code fences and quotes; the last one wins. */
export function findStatusBlock(lines: readonly MarkedLine[]): FoundBlock {
  const block =
    passagesIn(lines)
      .map(parseBlock)
      .findLast((found) => found !== null) ?? null;
  return { block, endsInFencedBlock: endsInFencedBlock(lines) };
}

/** The block as the protocol writes it; what is null is left out. `parse(render(block))` is the block. */
export function renderStatusBlock(block: StatusBlock): string {
  const values: Record<FieldName, string | number | boolean | null> = {
    STATUS: block.status,
    TASKS_COMPLETED_THIS_LOOP: block.tasksCompleted,
    FILES_MODIFIED: block.filesModified,
    TESTS_STATUS: block.testsStatus,
    WORK_TYPE: block.workType,
    EXIT_SIGNAL: block.exitSignal,
    RECOMMENDATION: block.recommendation,
  };
  const fields = FIELD_NAMES.filter((name) => values[name] !== null || block.unreadable.includes(name));
  return [
    '---RALPH_STATUS---',
    ...fields.map((name) => `${name}: ${String(values[name] ?? '')}`.trimEnd()),
    '---END_RALPH_STATUS---',
  ].join('\n');
}

const FIELD_NAMES = [
  'STATUS',
  'TASKS_COMPLETED_THIS_LOOP',
  'FILES_MODIFIED',
  'TESTS_STATUS',
  'WORK_TYPE',
  'EXIT_SIGNAL',
  'RECOMMENDATION',
] as const;
type FieldName = (typeof FIELD_NAMES)[number];

const MAX_RECOMMENDATION_CHARS = 2_000;

const BULLET = String.raw`(?:(?:[-*+•◦▪‣]|\d{1,9}[.)])\s+)?`;
const BOLD = String.raw`(?:\*\*|__)?`;
const START = new RegExp(`^${BULLET}${BOLD}-{3,} ?RALPH_STATUS ?-{3,}${BOLD}$`, 'i');
const END = new RegExp(`^${BULLET}${BOLD}-{3,} ?END_RALPH_STATUS ?-{3,}${BOLD}$`, 'i');
const YAML_START = new RegExp(`^${BULLET}${BOLD}RALPH_STATUS${BOLD}:${BOLD}(?:\\s+#.*)?$`, 'i');
const LABEL = new RegExp(`^${BULLET}([*_\`"'“‘]*)(.*)$`, 'su');
/** Longer ones are prose. */
const MAX_LABEL_CHARS = 200;

/** The text below a start marker. `fields` may hold fields; `inside` belongs to the block besides them, `behind` only follows it. */
interface Passage {
  readonly fields: readonly string[];
  readonly inside: readonly string[];
  readonly behind: readonly string[];
}

/** The text of every block that starts in prose: to its end marker; without one, as far as fields or indentation go. */
function passagesIn(lines: readonly MarkedLine[]): readonly Passage[] {
  const markers = lines.flatMap(({ text, within }, at) => {
    const kind = within === 'prose' ? markerKind(text.trim()) : null;
    return kind === null ? [] : [{ kind, at }];
  });
  return markers.flatMap(({ kind, at }, index) => {
    if (kind === 'end') return [];
    const next = markers[index + 1];
    const body = lines.slice(at + 1, next?.at);
    if (kind === 'yaml') return [yamlPassage(body, indentOf(lines[at]?.text ?? ''))];
    const fieldsEnd = next?.kind === 'end' ? body.length : endOf(body, ({ text }) => parseField(text) !== null);
    return [{ ...divided(body, (line, position) => position < fieldsEnd && line.within === 'prose'), behind: [] }];
  });
}

/** Keys stand side by side below the marker; what is indented deeper belongs to one of them. */
function yamlPassage(body: readonly MarkedLine[], markerIndent: number): Passage {
  const end = endOf(body, ({ text }) => indentOf(text) > markerIndent);
  const keys = indentOf(body.find(({ text }) => text.trim() !== '')?.text ?? '');
  return {
    ...divided(body.slice(0, end), ({ text, within }) => within === 'prose' && indentOf(text) === keys),
    behind: body.slice(end).map(({ text }) => text),
  };
}

function divided(
  lines: readonly MarkedLine[],
  isField: (line: MarkedLine, position: number) => boolean,
): Pick<Passage, 'fields' | 'inside'> {
  const marked = lines.map((line, position) => ({ text: line.text, isField: isField(line, position) }));
  const textsOf = (field: boolean): string[] => marked.filter((line) => line.isField === field).map(({ text }) => text);
  return { fields: textsOf(true), inside: textsOf(false) };
}

/** Whether a line of the text, in a quote too, is one of a block's markers. */
export function holdsMarker(text: string): boolean {
  return (
    /RALPH_STATUS/i.test(text) &&
    text.split(/[\r\n]/).some((line) => markerKind(line.replace(/^[\s>]+/, '').trimEnd()) !== null)
  );
}

function markerKind(line: string): 'start' | 'end' | 'yaml' | null {
  if (START.test(line)) return 'start';
  if (END.test(line)) return 'end';
  return YAML_START.test(line) ? 'yaml' : null;
}

/** Where the first line stands, blank ones aside, for which `holds` does not. */
function endOf(lines: readonly MarkedLine[], holds: (line: MarkedLine) => boolean): number {
  const end = lines.findIndex((line) => line.text.trim() !== '' && !holds(line));
  return end === -1 ? lines.length : end;
}

/** `name` is one of ours or another; marks of Markdown around it, and escapes in it, are no part of it. */
function parseField(line: string): { readonly name: string; readonly value: string } | null {
  const colon = line.search(/[:：]/);
  if (colon === -1 || colon > MAX_LABEL_CHARS) return null;
  const [, opening = '', label = ''] = LABEL.exec(visible(line.slice(0, colon)).trim()) ?? [];
  const name = label
    .replace(/[\\*`"'“”‘’]/g, '')
    .replace(/^[\s_]+|[\s_]+$/g, '')
    .toUpperCase();
  if (!/^[A-Z][A-Z_]*$/.test(name)) return null;
  const rest = line.slice(colon + 1);
  return { name, value: opening === '' || /[*_`"'”’]$/.test(label) ? rest.trim() : withoutClosing(rest, opening) };
}

/** What a name's opening marks enclose ends behind the colon, or with the line. */
function withoutClosing(rest: string, marks: string): string {
  if (rest.startsWith(marks)) return rest.slice(marks.length).trim();
  const value = rest.trim();
  return value.endsWith(marks) ? value.slice(0, -marks.length).trim() : value;
}

/** What a reader sees: wide and styled letters as plain ones, nothing that has no width. */
function visible(text: string): string {
  return /^[\t -~]*$/.test(text) ? text : text.normalize('NFKC').replace(/\p{DI}/gu, '');
}

/** EXIT_SIGNAL however it is written, with letters of other scripts that look alike. */
const MENTION = mentionPattern(['eеε', 'xхχ', 'iіιӏıl1', 'tтτ'], ['sѕ', 'iіιӏıl1', 'gԍɡ', 'nνпո', 'aаα', 'lӏιi1']);
const ASSIGNMENT = new RegExp(`${MENTION.source}[^\\p{L}\\p{N}]{0,4}[:=]`, 'u');
const DISGUISE = new RegExp(`^${MENTION.source}$`, 'u');

function mentionPattern(...words: readonly (readonly string[])[]): RegExp {
  const between = String.raw`[^\p{L}\p{N}]{0,3}`;
  return new RegExp(
    words
      .map((letters) => letters.map((alike) => `[${alike}]`).join(between))
      .join(String.raw`(?:&#?\w{1,8};|[^\p{L}\p{N}]){0,8}`),
    'u',
  );
}

function mentions(lines: readonly string[], pattern: RegExp): boolean {
  return lines.some((line) => pattern.test(visible(line).toLowerCase()));
}

function parseBlock(passage: Passage): StatusBlock | null {
  const fields = new Map<FieldName, string[]>();
  const unread = [...passage.inside];
  const foreign: string[] = [];
  for (const line of passage.fields) {
    const field = parseField(line);
    const name = FIELD_NAMES.find((known) => known === field?.name);
    const values = name && fields.get(name);
    if (field === null || (name === undefined && mentions([field.name], DISGUISE))) unread.push(line);
    else if (name === undefined) foreign.push(field.value);
    else if (values === undefined) fields.set(name, [field.value]);
    else values.push(field.value);
  }
  const unreadMention = mentions(unread, MENTION);
  if (isTemplate(fields) || (fields.size === 0 && !unreadMention)) return null;

  const unreadable: FieldName[] = [];
  function fieldOf<T>(name: FieldName, parse: (value: string) => T | null): T | null {
    const values = fields.get(name);
    if (values === undefined) return null;
    const parsed = new Set(values.map(parse));
    const [value] = parsed;
    if (parsed.size === 1 && value !== null && value !== undefined) return value;
    unreadable.push(name);
    return null;
  }
  const status = fieldOf('STATUS', oneOf(claimedStatuses));
  const tasksCompleted = fieldOf('TASKS_COMPLETED_THIS_LOOP', count);
  const filesModified = fieldOf('FILES_MODIFIED', count);
  const testsStatus = fieldOf('TESTS_STATUS', oneOf(claimedTestsStatuses));
  const workType = fieldOf('WORK_TYPE', oneOf(claimedWorkTypes));
  const exitSignal = parseExitSignal();
  const recommendation = fieldOf('RECOMMENDATION', (value) =>
    value === '' ? null : capped(value, MAX_RECOMMENDATION_CHARS),
  );
  return {
    status,
    exitSignal,
    testsStatus,
    workType,
    tasksCompleted,
    filesModified,
    recommendation,
    summary: null,
    asks: null,
    unreadable,
  };

  /** Absent may be inferred from STATUS; there but unreadable never, in whatever way it is there. */
  function parseExitSignal(): boolean | null {
    const claimed = fieldOf('EXIT_SIGNAL', trueOrFalse);
    if (claimed === false || unreadable.includes('EXIT_SIGNAL')) return claimed;
    const isHidden =
      claimed === true
        ? mentions([...unread, ...foreign], ASSIGNMENT)
        : unreadMention || mentions([...foreign, ...valuesOfOthers()], ASSIGNMENT) || mentions(passage.behind, MENTION);
    if (isHidden) unreadable.push('EXIT_SIGNAL');
    return isHidden ? null : (claimed ?? (status === 'COMPLETE' ? true : null));
  }

  /** A recommendation may speak of anything. */
  function valuesOfOthers(): string[] {
    return [...fields].flatMap(([name, values]) => (name === 'RECOMMENDATION' ? [] : values));
  }
}

/** The protocol's own text, echoed: every value is as the protocol has it. What is filled in by half is an answer. */
function isTemplate(fields: ReadonlyMap<FieldName, readonly string[]>): boolean {
  const offers = [...fields].filter(([name]) => name !== 'RECOMMENDATION');
  return (
    offers.length > 0 &&
    [...fields].every(([name, values]) => values.every((value) => TEMPLATE[name].test(plain(value))))
  );
}

const NUMBER_OFFER = /^<number>$/i;
const TEMPLATE: Record<FieldName, RegExp> = {
  STATUS: offerOf(claimedStatuses),
  TASKS_COMPLETED_THIS_LOOP: NUMBER_OFFER,
  FILES_MODIFIED: NUMBER_OFFER,
  TESTS_STATUS: offerOf(claimedTestsStatuses),
  WORK_TYPE: offerOf(claimedWorkTypes),
  EXIT_SIGNAL: /^<?\s*(?:true\s*\|\s*false|false\s*\|\s*true)\s*>?$/i,
  RECOMMENDATION: /^<[^<>]*>$/,
};

function offerOf(values: readonly string[]): RegExp {
  return new RegExp(`^<?\\s*${values.join('\\s*\\|\\s*')}\\s*>?$`, 'i');
}

function oneOf<T extends string>(allowed: readonly T[]): (value: string) => T | null {
  return (value) => allowed.find((one) => one === plain(value).toUpperCase()) ?? null;
}

function trueOrFalse(value: string): boolean | null {
  const text = plain(value).toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : null;
}

function count(value: string): number | null {
  return /^\d{1,15}$/.test(plain(value)) ? Number(plain(value)) : null;
}

/** A value without its trailing comment and its bold marks. */
function plain(value: string): string {
  const padded = ` ${value}`;
  const comment = padded.search(/\s#/);
  const text = comment === -1 ? value : padded.slice(0, comment);
  return text
    .trim()
    .replace(/^(?:\*\*|__)|(?:\*\*|__)$/g, '')
    .trim();
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether the last thing in the message is a fence that holds a block. */
function endsInFencedBlock(lines: readonly MarkedLine[]): boolean {
  const end = lines.findLastIndex(({ text }) => text.trim() !== '');
  if (lines[end]?.within !== 'fence') return false;
  const before = lines.findLastIndex(({ within }, index) => index < end && within !== 'fence');
  const inside = lines
    .slice(before + 1, end + 1)
    .map(({ text }): MarkedLine => ({
      text: text.trimStart().startsWith('```') || text.trimStart().startsWith('~~~') ? '' : text,
      within: 'prose',
    }));
  return passagesIn(inside).some((passage) => parseBlock(passage) !== null);
}
