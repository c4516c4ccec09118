import { capText } from '../text/phrase.ts';
import { claimedStatuses, claimedTestsStatuses, offeredWorkTypes, type Signal } from './analysis.ts';
import type { MarkedLine } from './markdown-code.ts';
import {
  BULLET,
  type StatusField,
  FIELD_NAMES,
  type FieldName,
  findProtocolName,
  parseField,
  normalizeCharacters,
} from './status-fields.ts';

/** The content of a status block: a signal without its origin. */
export type StatusBlock = Omit<Signal, 'from'>;

/** The last well-formed block of a message. */
export interface FoundBlock {
  readonly block: StatusBlock | null;
  /** True if the message ends in a block that is ignored because it is in a code fence. */
  readonly endsInFencedBlock: boolean;
}

/** Finds the agent's status block outside of code fences and quotes; the last one wins. */
export function findStatusBlock(lines: readonly MarkedLine[]): FoundBlock {
  const block =
    passagesIn(lines)
      .map(parseBlock)
      .findLast((found) => found !== null) ?? null;
  return { block, endsInFencedBlock: endsInFencedBlock(lines) };
}

/** Renders a block in the protocol's form without its null fields. `parse(render(block))` returns the block. */
export function renderStatusBlock(block: StatusBlock): string {
  const values: Record<FieldName, string | number | boolean | null> = {
    STATUS: block.status,
    TASKS_COMPLETED_THIS_LOOP: block.tasksCompleted,
    FILES_MODIFIED: block.filesModified,
    TESTS_STATUS: block.testsStatus,
    WORK_TYPE: block.workType,
    EXIT_SIGNAL: block.exitSignal,
    RECOMMENDATION: block.recommendation,
    SUMMARY: block.summary,
    QUESTION: block.asks,
  };
  const fields = FIELD_NAMES.filter((name) => values[name] !== null || block.unreadable.includes(name));
  return [
    '---RALPH_STATUS---',
    ...fields.map((name) => `${name}: ${String(values[name] ?? '')}`.trimEnd()),
    '---END_RALPH_STATUS---',
  ].join('\n');
}

/** The fields that hold the agent's free text. */
const WORDS: readonly FieldName[] = ['RECOMMENDATION', 'SUMMARY', 'QUESTION'];

const MAX_WORDS_CHARS = 2_000;

const BOLD = String.raw`(?:\*\*|__)?`;

const START = new RegExp(`^${BULLET}${BOLD}-{3,} ?RALPH_STATUS ?-{3,}${BOLD}$`, 'i');

const END = new RegExp(`^${BULLET}${BOLD}-{3,} ?END_RALPH_STATUS ?-{3,}${BOLD}$`, 'i');

const YAML_START = new RegExp(`^${BULLET}${BOLD}RALPH_STATUS${BOLD}:${BOLD}(?:\\s+#.*)?$`, 'i');

/** The text below a start marker. */
interface Passage {
  /** The lines that belong to the block. */
  readonly inside: readonly PassageLine[];
  /** The lines that only follow the block. */
  readonly after: readonly string[];
}

/** `field`: the line may be a field or continue one; `more`: it may only continue one; `aside`: neither. */
interface PassageLine {
  readonly text: string;
  readonly mayBe: 'field' | 'more' | 'aside';
}

/**
 * Returns the text of every block that starts in prose, up to its end marker. A block without an end marker extends as
 * far as fields or indentation continue.
 */
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
    const fieldsEnd = next?.kind === 'end' ? body.length : endOfFields(body);
    const inside = body.map(({ text, within }, position): PassageLine => {
      return { text, mayBe: position < fieldsEnd && within === 'prose' ? 'field' : 'aside' };
    });
    return [{ inside, after: [] }];
  });
}

/**
 * Returns the end of a block without an end marker: the first prose line, unless it continues the summary above it or
 * is indented.
 */
function endOfFields(body: readonly MarkedLine[]): number {
  let above: 'summary' | 'blank-below-summary' | 'other' = 'other';
  for (const [position, { text, within }] of body.entries()) {
    const field = parseField(text);
    if (text.trim() === '') {
      if (above === 'summary') above = 'blank-below-summary';
    } else if (field !== null) {
      if (findProtocolName(field) !== undefined) above = findProtocolName(field) === 'SUMMARY' ? 'summary' : 'other';
    } else {
      const goesOn = above === 'summary' || (above === 'blank-below-summary' && indentOf(text) > 0);
      if (!goesOn || within !== 'prose') return position;
      above = 'summary';
    }
  }
  return body.length;
}

/**
 * Splits a YAML-like block: keys share one indentation below the marker, and more deeply indented lines continue a
 * key's value.
 */
function yamlPassage(body: readonly MarkedLine[], markerIndent: number): Passage {
  const end = endOf(body, ({ text }) => indentOf(text) > markerIndent);
  const keys = indentOf(body.find(({ text }) => text.trim() !== '')?.text ?? '');
  const inside = body.slice(0, end).map(({ text, within }): PassageLine => {
    const indent = indentOf(text);
    return { text, mayBe: within !== 'prose' || indent < keys ? 'aside' : indent === keys ? 'field' : 'more' };
  });
  return { inside, after: body.slice(end).map(({ text }) => text) };
}

/** Returns true if a line of the text, also in a quote, is a marker of a block. */
export function hasBlockMarker(text: string): boolean {
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

/** Returns the index of the first line that is not blank and for which `holds` is false. */
function endOf(lines: readonly MarkedLine[], holds: (line: MarkedLine) => boolean): number {
  const end = lines.findIndex((line) => line.text.trim() !== '' && !holds(line));
  return end === -1 ? lines.length : end;
}

/** Matches EXIT_SIGNAL in any spelling, including lookalike letters of other scripts. */
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
  return lines.some((line) => pattern.test(normalizeCharacters(line).toLowerCase()));
}

function parseBlock(passage: Passage): StatusBlock | null {
  const { fields, unread, foreign } = divideFields(passage.inside);
  const unreadMention = mentions(unread, MENTION);
  if (isTemplate(fields) || (fields.size === 0 && !unreadMention)) return null;

  const unreadable: FieldName[] = [];
  function fieldOf<T>(name: FieldName, parse: (value: string) => T | null): T | null {
    const values = fields.get(name)?.filter((value) => !isLeftOut(name, value)) ?? [];
    if (values.length === 0) return null;
    const parsed = new Set(values.map(parse));
    const [value] = parsed;
    if (parsed.size === 1 && value !== null && value !== undefined) return value;
    unreadable.push(name);
    return null;
  }
  const status = fieldOf('STATUS', oneOf(claimedStatuses));
  const tasksCompleted = fieldOf('TASKS_COMPLETED_THIS_LOOP', parseCount);
  const filesModified = fieldOf('FILES_MODIFIED', parseCount);
  const testsStatus = fieldOf('TESTS_STATUS', oneOf(claimedTestsStatuses));
  const work = fieldOf('WORK_TYPE', oneWord);
  const workType = work === null ? null : (offeredWorkTypes.find((one) => one === work) ?? 'OTHER');
  const exitSignal = parseExitSignal();
  const recommendation = fieldOf('RECOMMENDATION', parseWords);
  const summary = fieldOf('SUMMARY', parseWords);
  const asks = fieldOf('QUESTION', parseWords);
  return {
    status,
    exitSignal,
    testsStatus,
    workType,
    tasksCompleted,
    filesModified,
    recommendation,
    summary,
    asks,
    unreadable,
  };

  /** Parses EXIT_SIGNAL. An absent value may be inferred from STATUS; an unreadable value may not. */
  function parseExitSignal(): boolean | null {
    const claimed = fieldOf('EXIT_SIGNAL', parseBoolean);
    if (claimed === false || unreadable.includes('EXIT_SIGNAL')) return claimed;
    const isHidden =
      claimed === true
        ? mentions([...unread, ...foreign], ASSIGNMENT)
        : unreadMention || mentions([...foreign, ...valuesOfOthers()], ASSIGNMENT) || mentions(passage.after, MENTION);
    if (isHidden) unreadable.push('EXIT_SIGNAL');
    return isHidden ? null : (claimed ?? (status === 'COMPLETE' ? true : null));
  }

  function valuesOfOthers(): string[] {
    return [...fields].flatMap(([name, values]) => (WORDS.includes(name) ? [] : values));
  }
}

/**
 * Divides a block into the values of each field, the unread lines (including those that continue a summary), and the
 * values of unknown fields.
 */
function divideFields(lines: readonly PassageLine[]): {
  readonly fields: ReadonlyMap<FieldName, readonly string[]>;
  readonly unread: readonly string[];
  readonly foreign: readonly string[];
} {
  const found: { readonly name: FieldName; readonly lines: string[] }[] = [];
  const unread: string[] = [];
  const foreign: string[] = [];
  let summary: { readonly indent: number; readonly lines: string[] } | null = null;
  for (const { text, mayBe } of lines) {
    const field = mayBe === 'field' ? parseField(text) : null;
    const name = field === null ? undefined : findProtocolName(field);
    const goesOn = summary !== null && mayBe !== 'aside' && (field === null || isProse(field, text, summary.indent));
    if (field !== null && name !== undefined) {
      const entry = { name, lines: [field.value] };
      found.push(entry);
      summary = name === 'SUMMARY' ? { indent: indentOf(text), lines: entry.lines } : null;
    } else if (goesOn) {
      unread.push(text);
      summary?.lines.push(text.trim());
    } else if (field === null || mentions([field.name], DISGUISE)) unread.push(text);
    else {
      foreign.push(field.value);
      summary = null;
    }
  }
  const fields = Map.groupBy(found, ({ name }) => name);
  return {
    fields: new Map([...fields].map(([name, each]) => [name, each.map((entry) => joinValueLines(entry.lines))])),
    unread,
    foreign,
  };
}

/**
 * Returns true if a field is prose of a summary, such as "Note: …": an unknown name counts as a field only in capitals
 * and without deeper indentation.
 */
function isProse(field: StatusField, line: string, indent: number): boolean {
  return findProtocolName(field) === undefined && (field.name !== field.name.toUpperCase() || indentOf(line) > indent);
}

/** Joins the lines of a value and removes YAML's sign for text on the next line (`>` or `|`). */
function joinValueLines([first = '', ...more]: readonly string[]): string {
  const text = more.filter((line) => line !== '');
  return [...(text.length > 0 && /^[>|][+-]?$/.test(first) ? [] : [first]), ...text].join(' ').trim();
}

/**
 * Returns true if the agent only echoed the protocol's own text: every value is a placeholder. A partly filled block is
 * an answer.
 */
function isTemplate(fields: ReadonlyMap<FieldName, readonly string[]>): boolean {
  const offers = [...fields].filter(([name]) => !WORDS.includes(name));
  return (
    offers.length > 0 &&
    [...fields].every(([name, values]) => values.every((value) => TEMPLATE[name].test(withoutMarks(value))))
  );
}

const NUMBER_OFFER = /^<number>$/i;

const WORDS_OFFER = /^<[^<>]*>$/;

const TEMPLATE: Record<FieldName, RegExp> = {
  STATUS: offerOf(claimedStatuses),
  TASKS_COMPLETED_THIS_LOOP: NUMBER_OFFER,
  FILES_MODIFIED: NUMBER_OFFER,
  TESTS_STATUS: offerOf(claimedTestsStatuses),
  WORK_TYPE: offerOf(offeredWorkTypes),
  EXIT_SIGNAL: /^<?\s*(?:true\s*\|\s*false|false\s*\|\s*true)\s*>?$/i,
  RECOMMENDATION: WORDS_OFFER,
  SUMMARY: WORDS_OFFER,
  QUESTION: WORDS_OFFER,
};

/** Returns true if a summary or question contains only the protocol's placeholder and so counts as absent. */
function isLeftOut(name: FieldName, value: string): boolean {
  return (name === 'SUMMARY' || name === 'QUESTION') && WORDS_OFFER.test(value);
}

function offerOf(values: readonly string[]): RegExp {
  return new RegExp(`^<?\\s*${values.join('\\s*\\|\\s*')}\\s*>?$`, 'i');
}

function oneOf<T extends string>(allowed: readonly T[]): (value: string) => T | null {
  return (value) => allowed.find((one) => one === withoutMarks(value).toUpperCase()) ?? null;
}

/** Returns a value that is one word in capitals; null for anything else. */
function oneWord(value: string): string | null {
  const word = withoutMarks(value);
  return /^\p{L}[\p{L}\p{N}_-]*$/u.test(word) ? word.toUpperCase() : null;
}

function parseWords(value: string): string | null {
  return value === '' ? null : capText(value, MAX_WORDS_CHARS);
}

function parseBoolean(value: string): boolean | null {
  const text = withoutMarks(value).toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : null;
}

function parseCount(value: string): number | null {
  return /^\d{1,15}$/.test(withoutMarks(value)) ? Number(withoutMarks(value)) : null;
}

/** Removes the trailing comment and bold marks of a value. */
function withoutMarks(value: string): string {
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

/** Returns true if the message ends in a fence that contains a block. */
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
