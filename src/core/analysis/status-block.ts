import type { Signal } from './analysis.ts';
import { capped } from './json.ts';
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
  const block = bodiesIn(lines).map(readBlock).findLast((found) => found !== null) ?? null;
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
  return ['---RALPH_STATUS---', ...fields.map((name) => `${name}: ${String(values[name] ?? '')}`.trimEnd()), '---END_RALPH_STATUS---'].join('\n');
}

const FIELD_NAMES = ['STATUS', 'TASKS_COMPLETED_THIS_LOOP', 'FILES_MODIFIED', 'TESTS_STATUS', 'WORK_TYPE', 'EXIT_SIGNAL', 'RECOMMENDATION'] as const;
type FieldName = (typeof FIELD_NAMES)[number];

const STATUSES = ['IN_PROGRESS', 'COMPLETE', 'BLOCKED'] as const;
const TESTS_STATUSES = ['PASSING', 'FAILING', 'NOT_RUN'] as const;
const WORK_TYPES = ['IMPLEMENTATION', 'TESTING', 'DOCUMENTATION', 'REFACTORING'] as const;
const MAX_RECOMMENDATION_CHARS = 2_000;

const BULLET = String.raw`(?:(?:[-*+]|\d{1,9}[.)])\s+)?`;
const BOLD = String.raw`(?:\*\*|__)?`;
const START = new RegExp(`^${BULLET}${BOLD}-{3,} ?RALPH_STATUS ?-{3,}${BOLD}$`, 'i');
const END = new RegExp(`^${BULLET}${BOLD}-{3,} ?END_RALPH_STATUS ?-{3,}${BOLD}$`, 'i');
const YAML_START = new RegExp(`^${BULLET}${BOLD}RALPH_STATUS${BOLD}:${BOLD}$`, 'i');
const FIELD = new RegExp(`^${BULLET}${BOLD}([A-Za-z][A-Za-z_]*?)${BOLD}\\s*:${BOLD}\\s*(.*)$`);

/** The lines of every block in prose: to its end marker; without one, as far as fields go. */
function bodiesIn(lines: readonly MarkedLine[]): readonly (readonly string[])[] {
  const prose = lines.filter(({ within }) => within === 'prose').map(({ text }) => text);
  const markers = prose.flatMap((line, at) => {
    const kind = markerKind(line.trim());
    return kind === null ? [] : [{ kind, at }];
  });
  return markers.flatMap(({ kind, at }, index) => {
    if (kind === 'end') return [];
    const next = markers[index + 1];
    const body = prose.slice(at + 1, next?.at);
    if (kind === 'yaml') return [whileTrue(body, (line) => indentOf(line) > indentOf(prose[at] ?? ''))];
    return [next?.kind === 'end' ? body : whileTrue(body, (line) => FIELD.test(line.trim()))];
  });
}

function markerKind(line: string): 'start' | 'end' | 'yaml' | null {
  if (START.test(line)) return 'start';
  if (END.test(line)) return 'end';
  return YAML_START.test(line) ? 'yaml' : null;
}

/** The lines before the first one, blank ones aside, for which `holds` does not. */
function whileTrue(lines: readonly string[], holds: (line: string) => boolean): readonly string[] {
  const end = lines.findIndex((line) => line.trim() !== '' && !holds(line));
  return end === -1 ? lines : lines.slice(0, end);
}

function readBlock(body: readonly string[]): StatusBlock | null {
  const fields = new Map<FieldName, string[]>();
  for (const line of body) {
    const match = FIELD.exec(line.trim());
    const name = FIELD_NAMES.find((known) => known === match?.[1]?.toUpperCase());
    if (name === undefined) continue;
    const value = match?.[2]?.trim() ?? '';
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [value]);
    else values.push(value);
  }
  if (fields.size === 0 || isTemplate(fields)) return null;

  const unreadable: FieldName[] = [];
  function read<T>(name: FieldName, parse: (value: string) => T | null): T | null {
    const values = fields.get(name);
    if (values === undefined) return null;
    const parsed = new Set(values.map(parse));
    const [value] = parsed;
    if (parsed.size === 1 && value !== null && value !== undefined) return value;
    unreadable.push(name);
    return null;
  }
  const status = read('STATUS', oneOf(STATUSES));
  const tasksCompleted = read('TASKS_COMPLETED_THIS_LOOP', count);
  const filesModified = read('FILES_MODIFIED', count);
  const testsStatus = read('TESTS_STATUS', oneOf(TESTS_STATUSES));
  const workType = read('WORK_TYPE', oneOf(WORK_TYPES));
  const exitSignal = read('EXIT_SIGNAL', trueOrFalse);
  const recommendation = read('RECOMMENDATION', (value) => (value === '' ? null : capped(value, MAX_RECOMMENDATION_CHARS)));
  // Absent may be inferred from STATUS; there but unreadable never.
  const inferred = !fields.has('EXIT_SIGNAL') && status === 'COMPLETE' ? true : exitSignal;
  return { status, exitSignal: inferred, testsStatus, workType, tasksCompleted, filesModified, recommendation, unreadable };
}

/** The protocol's own text, echoed: it offers EXIT_SIGNAL's alternatives, or nothing but alternatives. */
function isTemplate(fields: ReadonlyMap<FieldName, readonly string[]>): boolean {
  const offers = new Map([...fields].filter(([name]) => name !== 'RECOMMENDATION').map(([name, values]) => [name, values.some(offersChoice)]));
  return offers.get('EXIT_SIGNAL') === true || (offers.size > 0 && [...offers.values()].every((offered) => offered));
}

/** `true | false` and `<number>`. */
function offersChoice(value: string): boolean {
  return plain(value).includes('|') || /^<.*>$/.test(plain(value));
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
  return text.trim().replace(/^(?:\*\*|__)|(?:\*\*|__)$/g, '').trim();
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Whether the last thing in the message is a fence that holds a block. */
function endsInFencedBlock(lines: readonly MarkedLine[]): boolean {
  const end = lines.findLastIndex(({ text }) => text.trim() !== '');
  if (lines[end]?.within !== 'fence') return false;
  const before = lines.findLastIndex(({ within }, index) => index < end && within !== 'fence');
  const inside = lines.slice(before + 1, end + 1).map(({ text }): MarkedLine => ({ text: text.trimStart().startsWith('```') || text.trimStart().startsWith('~~~') ? '' : text, within: 'prose' }));
  return bodiesIn(inside).some((body) => readBlock(body) !== null);
}
