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

/** Creates a field for a text that is not empty; `example` follows "give" in the message about an empty text. */
export function filledField(example: string) {
  return z.string().min(1, `is empty: give ${example}`);
}

/** Creates a field for a text; an empty text becomes null. */
export function optionalField() {
  return z.string().transform((text) => (text === '' ? null : text));
}

/** Creates a field for a search that finds tasks; an empty text means that there is no search. */
export function issueQueryField() {
  return z.string().transform((text, problems): IssueQuery | null => {
    const query = text.trim() === '' ? null : parseIssueQuery(text);
    if (typeof query !== 'string') return query;
    problems.addIssue(query);
    return null;
  });
}

/** Creates a field for lines, trimmed and without empty ones. */
export function linesField() {
  return z.string().transform((text) =>
    text
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter(Boolean),
  );
}

/**
 * Creates a field for a list such as `issues,plan`, whose items are between commas or on separate lines, and trimmed. A
 * comma inside brackets belongs to the item.
 */
export function listField() {
  return z.string().transform((text) => text.split(/\r?\n/).flatMap(splitListLine));
}

/** Creates a field for `true`, `false`, or the *Look at first* kinds that prevent auto-merge. */
export function autoMergeField() {
  const isKind = (name: string): name is LookAtKind => lookAtKinds.some((kind) => kind === name);
  return z.string().transform((text, problems): readonly LookAtKind[] | null => {
    const names = listField().parse(text);
    if (names.length === 1 && names[0] === 'false') return null;
    if (names.length === 1 && names[0] === 'true') return lookAtKinds;
    if (names.length === 0 || !names.every(isKind))
      problems.addIssue(`must be \`true\`, \`false\`, or a list of: ${lookAtKinds.join(', ')}`);
    return names.filter(isKind);
  });
}

/** Creates a field for people who are notified: `auto`, `none`, or logins and, with `teams`, teams as `org/team`. */
export function recipientsField({ teams }: { readonly teams: boolean }) {
  const expected = `must be \`auto\`, \`none\`, or logins of people, without @${teams ? ', and teams as org/team' : ''}; bots cannot be named`;
  return z.string().transform((text, problems): Recipients => {
    const names = listField().parse(text);
    const isWord = (name: string): name is 'auto' | 'none' => name === 'auto' || name === 'none';
    const [first = ''] = names;
    if (names.length === 1 && isWord(first)) return { kind: first };
    const logins = names.filter((name) => LOGIN_PATTERN.test(name) && !isWord(name));
    const ofTeams = teams ? names.filter((name) => TEAM.test(name)) : [];
    if (logins.length + ofTeams.length < names.length) problems.addIssue(expected);
    return { kind: 'named', logins, teams: ofTeams.map((name) => name.slice(name.indexOf('/') + 1)) };
  });
}

/** Creates a field for hosts that may be reached: a list, or one of the words `any` and `none`. */
export function allowedHostsField() {
  return listField().transform((items, context): HostsAsked => {
    const { asked, problems } = parseAllowedHosts(items);
    for (const problem of problems) context.addIssue(problem);
    return asked;
  });
}

/** Creates a field for the prices of models, one per line. */
export function priceListField() {
  return linesField().transform((given, context): Prices => {
    const { prices, problems } = parsePriceLines(given);
    for (const problem of problems) context.addIssue(problem);
    return prices;
  });
}

/**
 * Creates a field for the agent's servers: a configuration in JSON, or the path of one from the working directory. The
 * gate checks which variables the configuration may name.
 */
export function mcpConfigField() {
  return z.string().transform((text, problems): McpAsked => {
    if (text === '') return { kind: 'none' };
    if (!text.startsWith('{')) {
      if (!isInside(text)) problems.addIssue(PATH_INSIDE);
      return { kind: 'file', path: text };
    }
    const parsed = parseMcpServers(text, () => 'given');
    if (parsed.kind === 'wrong') for (const problem of parsed.problems) problems.addIssue(problem);
    return { kind: 'inline', text };
  });
}

/** Creates a field for an address that messages are sent to; an empty text becomes null. */
export function webhookField() {
  return optionalField().refine(
    (text) => text === null || isWebhook(URL.parse(text)),
    'must be an address that begins with https://, without a name and password; http:// is for this machine only',
  );
}

function isWebhook(url: URL | null): boolean {
  if (url === null || url.username !== '' || url.password !== '') return false;
  const isLocal = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
}

/** Creates a field for the end of the agent's login: an instant, `none`, or empty. */
export function loginTermField() {
  return z.string().transform((text, problems): LoginTerm => {
    if (text === '') return { kind: 'lasting' };
    if (text === 'none') return { kind: 'absent' };
    // AWS's action gives the instant as a JSON string, so remove its quotes.
    const endsAt = z.iso.datetime({ offset: true }).safeParse(text.replace(/^"(.*)"$/, '$1'));
    if (!endsAt.success) problems.addIssue('must be `none`, or an instant such as 2026-01-31T12:00:00Z');
    return { kind: 'until', endsAt: Date.parse(endsAt.data ?? '') };
  });
}

/** Creates a field for the path of a file in the working directory. */
export function pathField() {
  return filledField('a path').refine(isInside, PATH_INSIDE);
}

const PATH_INSIDE = 'must be a path inside the working directory';

function isInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..');
}

/** Creates a field for a folder of the repository, as a path from its root; `.` is the root. */
export function folderField() {
  return filledField('a folder of the repository, or . for its root').transform((text, problems): string => {
    const steps = text.split('/').filter((step) => step !== '' && step !== '.');
    const isPlain = !/^\/|[\\*?[\]:\0-\x1f]/.test(text) && steps.every((step) => !/^(?:\.\.|\.git)$/i.test(step));
    if (!isPlain) problems.addIssue('must be a path from the root of the repository, for example packages/shop');
    return steps.join('/');
  });
}

const TEAM = /^[A-Za-z0-9-]{1,39}\/[A-Za-z0-9_-]{1,100}$/;

/** Creates a field for one of these values. */
export function choiceField<const T extends readonly [string, ...string[]]>(...values: T) {
  return z.enum(values, { error: `must be one of: ${values.join(', ')}` });
}

/** Creates a field for `true` or `false`. */
export function flagField() {
  return choiceField('true', 'false').transform((text) => text === 'true');
}

/** Creates a field for a whole number within the range. */
export function wholeNumberField(range: { readonly min: number; readonly max: number }) {
  return decimal({ ...range, pattern: /^\d+$/, what: 'a whole number' });
}

/** Creates a field for a number within the range, without sign or exponent. */
export function numberField(range: { readonly min: number; readonly max: number }) {
  return decimal({ ...range, pattern: /^\d+(\.\d+)?$/, what: 'a number' });
}

/**
 * Creates a field for a number of units within the range, as whole milliseconds: in floating point 1.1 minutes are
 * 66,000.00000000001 ms.
 */
export function durationField(unitMs: number, range: { readonly min: number; readonly max: number }) {
  return numberField(range).transform((count) => Math.round(count * unitMs));
}

function decimal(range: {
  readonly min: number;
  readonly max: number;
  readonly pattern: RegExp;
  readonly what: string;
}) {
  const { min, max, pattern, what } = range;
  const expected = `is not ${what} from ${String(min)} to ${String(max)}`;
  return z.string().regex(pattern, expected).transform(Number).pipe(z.number().min(min, expected).max(max, expected));
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
  const parsed = folderField().safeParse(text);
  return parsed.success && !isExpression(text) ? parsed.data : '';
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
