import type { LoginTerm } from '../core/agents/login-term.ts';
import { type LookAtKind, lookAtKinds } from '../core/review/manifest.ts';
import { z } from 'zod';
import { isExpression } from '../core/doctor/workflow.ts';
import type { Folder } from '../core/folder.ts';
import { type HostsAsked, parseAllowedHosts } from '../core/isolation/hosts.ts';
import { parseMcpServers } from '../core/mcp/parse-servers.ts';
import type { McpAsked } from '../core/mcp/values.ts';
import { LOGIN_PATTERN, type Recipients } from '../core/people/notifications.ts';
import type { Price, Prices } from '../core/spending/prices.ts';
import { type IssueQuery, parseIssueQuery } from '../core/tasks/issue-query.ts';
import { capText } from '../core/text/phrase.ts';

/** The prices in the lines, and the problems of the lines as verb phrases. */
interface PriceLines {
  readonly prices: Prices;
  readonly problems: readonly string[];
}

const MAX_LINES = 100;

const MAX_PROBLEMS = 5;

/** Maximum price; a million tokens of the most expensive model cost hundreds of dollars. */
const MAX_USD = 100_000;

const NAME = /^[A-Za-z0-9][\w.:@/+-]{0,99}$/;

const USD = /^\d{1,6}(?:\.\d{1,9})?$/;

const FORM = 'NAME=INPUT/OUTPUT or NAME=INPUT/CACHED/OUTPUT';

/**
 * Parses the text of an input. `report` gets each problem of the text as a verb phrase: `is not a branch name`; the
 * value then does not count. These are plain functions because every event of a repository parses all inputs, and
 * building a schema for each took longer than everything else.
 */
export type Field<Value> = (text: string, report: (why: string) => void) => Value;

type Check<Value> = readonly [isRight: (value: Value) => boolean, why: string];

/** Parses a text with a field; the value counts only without problems. */
export function parseInputText<Value>(
  field: Field<Value>,
  text: string,
): { readonly value: Value; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const value = field(text, (why) => problems.push(why));
  return { value, problems };
}

/** Creates a field that reports each of the checks that the field's value does not pass. */
export function checkField<Value>(field: Field<Value>, ...checks: readonly Check<Value>[]): Field<Value> {
  return (text, report) => {
    const value = field(text, report);
    for (const [isRight, why] of checks) if (!isRight(value)) report(why);
    return value;
  };
}

/** Creates a field for a text as it is. */
export function textField(...checks: readonly Check<string>[]): Field<string> {
  return checkField((text) => text, ...checks);
}

/** Creates a field for a text that is not empty; `example` follows "give" in the message about an empty text. */
export function filledField(example: string, ...checks: readonly Check<string>[]): Field<string> {
  return textField([(text) => text !== '', `is empty: give ${example}`], ...checks);
}

/** Creates a field for a text; an empty text becomes null. */
export function optionalField(isRight: (text: string) => boolean, why: string): Field<string | null> {
  const given = textField([isRight, why]);
  return (text, report) => (text === '' ? null : given(text, report));
}

/** Parses a search that finds tasks; an empty text means that there is no search. */
export const issueQueryField: Field<IssueQuery | null> = (text, report) => {
  const query = text.trim() === '' ? null : parseIssueQuery(text);
  if (typeof query !== 'string') return query;
  report(query);
  return null;
};

/** Splits a text into lines, trimmed and without empty ones. */
export function splitLines(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
}

/**
 * Splits a list such as `issues,plan`, whose items are between commas or on separate lines, and trimmed. A comma inside
 * brackets belongs to the item.
 */
export function splitList(text: string): readonly string[] {
  return text.split(/\r?\n/).flatMap(splitListLine);
}

/** Creates a field for a list. */
export function listField(...checks: readonly Check<readonly string[]>[]): Field<readonly string[]> {
  return checkField(splitList, ...checks);
}

/** Creates a field for a list of these values; without `empty`, which describes an empty list, it may be empty. */
export function choiceListField<const T extends string>(
  values: readonly T[],
  { expected = `must be a list of: ${values.join(', ')}`, empty = '' } = {},
): Field<readonly T[]> {
  const isValue = (item: string): item is T => values.some((value) => value === item);
  return (text, report) => {
    const items = splitList(text);
    if (!items.every(isValue)) report(expected);
    if (items.length === 0 && empty !== '') report(empty);
    return items.filter(isValue);
  };
}

/** Creates a field for `true`, `false`, or the *Look at first* kinds that prevent auto-merge. */
export function autoMergeField(): Field<readonly LookAtKind[] | null> {
  const expected = `must be \`true\`, \`false\`, or a list of: ${lookAtKinds.join(', ')}`;
  const kinds = choiceListField(lookAtKinds, { expected, empty: expected });
  return (text, report) => {
    const names = splitList(text);
    if (names.length === 1 && names[0] === 'false') return null;
    return names.length === 1 && names[0] === 'true' ? lookAtKinds : kinds(text, report);
  };
}

/** Creates a field for people who are notified: `auto`, `none`, or logins and, with `teams`, teams as `org/team`. */
export function recipientsField({ teams }: { readonly teams: boolean }): Field<Recipients> {
  const expected = `must be \`auto\`, \`none\`, or logins of people, without @${teams ? ', and teams as org/team' : ''}; bots cannot be named`;
  return (text, report) => {
    const names = splitList(text);
    const isWord = (name: string): name is 'auto' | 'none' => name === 'auto' || name === 'none';
    const [first = ''] = names;
    if (names.length === 1 && isWord(first)) return { kind: first };
    const logins = names.filter((name) => LOGIN_PATTERN.test(name) && !isWord(name));
    const ofTeams = teams ? names.filter((name) => TEAM.test(name)) : [];
    if (logins.length + ofTeams.length < names.length) report(expected);
    return { kind: 'named', logins, teams: ofTeams.map((name) => name.slice(name.indexOf('/') + 1)) };
  };
}

/** Parses hosts that may be reached: a list, or one of the words `any` and `none`. */
export const allowedHostsField: Field<HostsAsked> = (text, report) => {
  const { asked, problems } = parseAllowedHosts(splitList(text));
  problems.forEach(report);
  return asked;
};

/** Parses the prices of models, one per line. */
export const priceListField: Field<Prices> = (text, report) => {
  const { prices, problems } = parsePriceLines(splitLines(text));
  problems.forEach(report);
  return prices;
};

/**
 * Parses the agent's servers: a configuration in JSON, or the path of one from the working directory. The gate checks
 * which variables the configuration may name.
 */
export const mcpConfigField: Field<McpAsked> = (text, report) => {
  if (text === '') return { kind: 'none' };
  if (!text.startsWith('{')) {
    if (!isInside(text)) report(PATH_INSIDE);
    return { kind: 'file', path: text };
  }
  const parsed = parseMcpServers(text, () => 'given');
  if (parsed.kind === 'wrong') parsed.problems.forEach(report);
  return { kind: 'inline', text };
};

/** Creates a field for an address that messages are sent to; an empty text becomes null. */
export function webhookField(): Field<string | null> {
  return optionalField(
    (text) => isWebhook(URL.parse(text)),
    'must be an address that begins with https://, without a name and password; http:// is for this machine only',
  );
}

function isWebhook(url: URL | null): boolean {
  if (url === null || url.username !== '' || url.password !== '') return false;
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
}

/** Parses the end of the agent's login: an instant, `none`, or empty. */
export const loginTermField: Field<LoginTerm> = (text, report) => {
  if (text === '') return { kind: 'lasting' };
  if (text === 'none') return { kind: 'absent' };
  // AWS's action gives the instant as a JSON string, so remove its quotes.
  const endsAt = z.iso.datetime({ offset: true }).safeParse(text.replace(/^"(.*)"$/, '$1'));
  if (!endsAt.success) report('must be `none`, or an instant such as 2026-01-31T12:00:00Z');
  return { kind: 'until', endsAt: Date.parse(endsAt.data ?? '') };
};

/** Creates a field for the path of a file in the working directory. */
export function pathField(): Field<string> {
  return filledField('a path', [isInside, PATH_INSIDE]);
}

const PATH_INSIDE = 'must be a path inside the working directory';

function isInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..');
}

/** Parses a folder of the repository, as a path from its root; `.` is the root. */
export const folderField: Field<string> = (text, report) => {
  if (text === '') report('is empty: give a folder of the repository, or . for its root');
  const steps = text.split('/').filter((step) => step !== '' && step !== '.');
  const isPlain = !/^\/|[\\*?[\]:\0-\x1f]/.test(text) && steps.every((step) => !/^(?:\.\.|\.git)$/i.test(step));
  if (!isPlain) report('must be a path from the root of the repository, for example packages/shop');
  return steps.join('/');
};

const TEAM = /^[A-Za-z0-9-]{1,39}\/[A-Za-z0-9_-]{1,100}$/;

/** Creates a field for one of these values. */
export function choiceField<const T extends readonly [string, ...string[]]>(...values: T): Field<T[number]> {
  return (text, report) => {
    const value = values.find((one) => one === text);
    if (value === undefined) report(`must be one of: ${values.filter(Boolean).join(', ')}`);
    return value ?? values[0];
  };
}

/** Creates a field for `true` or `false`. */
export function flagField(): Field<boolean> {
  const word = choiceField('true', 'false');
  return (text, report) => word(text, report) === 'true';
}

interface Range {
  readonly min: number;
  readonly max: number;
}

/** Creates a field for a whole number within the range. */
export function wholeNumberField(range: Range): Field<number> {
  return decimal({ ...range, pattern: /^\d+$/, what: 'a whole number' });
}

/** Creates a field for a number within the range, without sign or exponent. */
export function numberField(range: Range): Field<number> {
  return decimal({ ...range, pattern: /^\d+(\.\d+)?$/, what: 'a number' });
}

/**
 * Creates a field for a number of units within the range, as whole milliseconds: in floating point 1.1 minutes are
 * 66,000.00000000001 ms.
 */
export function durationField(unitMs: number, range: Range): Field<number> {
  const count = numberField(range);
  return (text, report) => Math.round(count(text, report) * unitMs);
}

function decimal({
  min,
  max,
  pattern,
  what,
}: Range & { readonly pattern: RegExp; readonly what: string }): Field<number> {
  return (text, report) => {
    const number = pattern.test(text) ? Number(text) : NaN;
    if (!(number >= min && number <= max)) report(`is not ${what} from ${String(min)} to ${String(max)}`);
    return number;
  };
}

/** Returns the items between the commas of a line; `Bash(git log -1, x)` and `{a,b}/**` stay whole. */
function splitListLine(line: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const character of line) {
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    if (character === ',' && depth <= 0) {
      items.push(item);
      item = '';
    } else {
      item += character;
    }
  }
  return [...items, item].map((part) => part.trim()).filter(Boolean);
}

/**
 * Returns the folder in which a run with these texts of inputs works. Returns the root if the text cannot be used,
 * which is reported with the other inputs, or if it is an expression that only a run can evaluate.
 */
export function parseWorkingFolder(texts: Readonly<Record<string, string | undefined>>): Folder {
  const text = (texts['working-directory'] ?? '').trim();
  const { value, problems } = parseInputText(folderField, text);
  return problems.length === 0 && !isExpression(text) ? value : '';
}

/** Parses lines such as `gpt-5.5=1.25/0.125/10`. */
export function parsePriceLines(lines: readonly string[]): PriceLines {
  if (lines.length > MAX_LINES) return { prices: {}, problems: [`has more than ${String(MAX_LINES)} lines`] };
  const prices = new Map<string, Price>();
  const problems: string[] = [];
  for (const line of lines) {
    const read = priceIn(line);
    if (typeof read === 'string') problems.push(`has the line ${JSON.stringify(capText(line, 80))}, ${read}`);
    else if (prices.has(read.name)) problems.push(`names ${read.name} twice: keep one of the lines`);
    else prices.set(read.name, read.price);
  }
  const more = problems.length - MAX_PROBLEMS;
  return {
    prices: Object.fromEntries(prices),
    problems: [
      ...problems.slice(0, MAX_PROBLEMS),
      ...(more > 0 ? [`has ${String(more)} more ${more === 1 ? 'problem' : 'problems'} like these`] : []),
    ],
  };
}

/** Parses a line into a price, or returns a text that describes the problem of the line. */
function priceIn(line: string): { readonly name: string; readonly price: Price } | string {
  const [name = '', amounts, ...more] = line.split('=').map((part) => part.trim());
  const texts = amounts?.split('/').map((amount) => amount.trim()) ?? [];
  if (more.length > 0 || texts.length < 2 || texts.length > 3)
    return `which is not a price: write ${FORM}, in US dollars per million tokens, for example gpt-5.5=1.25/0.125/10`;
  if (!NAME.test(name))
    return "which does not begin with a model's name: write the name, or a part of it, before the equals sign";
  const wrong = texts.find((text) => !USD.test(text) || Number(text) > MAX_USD);
  if (wrong !== undefined)
    return `in which ${JSON.stringify(capText(wrong, 20))} is not a number from 0 to ${String(MAX_USD)}: write US dollars per million tokens, without a sign or a currency`;
  const [input = 0, second = 0, third] = texts.map(Number);
  // Names of models never differ only in case, so compare them in lower case.
  return {
    name: name.toLowerCase(),
    price: { input, cachedInput: third === undefined ? input : second, output: third ?? second },
  };
}

/** Parses `OWNER/REPO`; returns null if the text does not name a repository. */
export function parseRepositoryName(text: string): { readonly owner: string; readonly repo: string } | null {
  const [, owner, repo] = /^([A-Za-z0-9][A-Za-z0-9-]{0,38})\/([A-Za-z0-9._-]{1,100})$/.exec(text.trim()) ?? [];
  return owner === undefined || repo === undefined || /^\.+$/.test(repo) ? null : { owner, repo };
}
