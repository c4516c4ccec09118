import { z } from 'zod';
import {
  formatUrlHost,
  type HostRule,
  isPublicHost,
  parseTarget,
  type HostAndPort,
  sortUniqueHosts,
} from '../isolation/hosts.ts';
import { findNearest } from '../text/nearest.ts';
import { capText, listFirstNames, toOneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';
import { type McpServer, parseValueParts, findVariablesIn } from './values.ts';

/** A server's address. */
interface McpAddress {
  readonly secure: boolean;
  readonly target: HostAndPort;
  /** Everything after the host. */
  readonly path: string;
}

const HTTP_PORT = 80;

const HTTPS_PORT = 443;

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|0:0:0:0:0:0:0:1)$/;

/**
 * A server's access to a variable: `given` if the agent gets it, `unnamed` if `agent-env` does not name it, `never` if
 * it may hold a job's token or an agent's key.
 */
export type VariableAccess = 'given' | 'unnamed' | 'never';

/** The servers of a configuration. `problems` are clauses that begin with a position in it. */
type ParsedServers =
  | { readonly kind: 'servers'; readonly servers: readonly McpServer[] }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] };

const MAX_SERVERS = 20;

const MAX_CHARS = 32 * 1024;

const MAX_NAME_CHARS = 64;

const MAX_ITEMS = 200;

const MAX_VALUE_CHARS = 8 * 1024;

const MAX_PROBLEMS = 30;

const SERVER_KEYS = ['type', 'command', 'args', 'env', 'url', 'headers', 'tools'] as const;

const TOP_KEYS = ['mcpServers'] as const;

/** Matches names without `__`, which separates a server's name from its tool's. */
const SERVER_NAME = /^[a-z0-9](?:[a-z0-9-]|_(?!_))*$/;

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const VARIABLE = /^[A-Za-z_]\w*$/;

const HEADER = /^[A-Za-z0-9!#$%&'*+.^`|~-][\w!#$%&'*+.^`|~-]*$/;

type Entries = Readonly<Record<string, unknown>>;

/** Accepts any object. In contrast to zod's own record, it keeps the key `__proto__`. */
const record = z.custom<Entries>((given) => typeof given === 'object' && given !== null && !Array.isArray(given));

const strings = z.array(z.string()).max(MAX_ITEMS);

const pairs = record.refine((given) => {
  const values = Object.values(given);
  return values.length <= MAX_ITEMS && values.every((value) => typeof value === 'string');
}) as z.ZodType<Readonly<Record<string, string>>>;

/** The context of parsing one server. */
interface Reading {
  readonly place: string;
  readonly given: Entries;
  readonly accessOf: (variable: string) => VariableAccess;
  /** Reports a problem with a part of `place`, or with `place` itself if the part is empty. */
  readonly wrong: (part: string, why: string) => void;
}

/**
 * Parses `{"mcpServers": {…}}` and reports all problems at once. Values of `args`, `env` and `headers` are never
 * repeated, because one may be a secret.
 */
export function parseMcpServers(text: string, accessOf: (variable: string) => VariableAccess): ParsedServers {
  const problems: string[] = [];
  const top = parseTopEntries(text, (why) => problems.push(why));
  const servers = Object.entries(top).flatMap(([name, given]) => {
    const place = `mcpServers.${formatKey(name)}`;
    const wrong = (part: string, why: string): void => {
      problems.push(`${place}${part} ${why}`);
    };
    if (!SERVER_NAME.test(name) || name.length > MAX_NAME_CHARS)
      wrong('', `is not a server name: use at most ${String(MAX_NAME_CHARS)} characters of a-z, 0-9, - and single _`);
    const body = record.safeParse(given);
    if (!body.success) {
      wrong('', 'is not an object: give it a `command`, or a `url`');
      return [];
    }
    const server = serverOf(name, { place, given: body.data, accessOf, wrong });
    return server === null ? [] : [server];
  });
  if (problems.length === 0) return { kind: 'servers', servers };
  const more = problems.length - MAX_PROBLEMS;
  return {
    kind: 'wrong',
    problems: [...problems.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`has ${String(more)} more problems`] : [])],
  };
}

/** Parses the text and returns the value of `mcpServers`; empty if the text is unusable. */
function parseTopEntries(text: string, wrong: (why: string) => void): Entries {
  if (text.length > MAX_CHARS) {
    wrong(`is longer than ${String(MAX_CHARS)} characters`);
    return {};
  }
  const json = record.safeParse(tryJson(text));
  if (!json.success) {
    wrong('is not a JSON object: write {"mcpServers": {"name": {"command": "program"}}}');
    return {};
  }
  for (const key of Object.keys(json.data)) if (key !== 'mcpServers') wrong(unknownKey(key, TOP_KEYS));
  const servers = record.safeParse(json.data['mcpServers']);
  if (!servers.success) {
    wrong('has no object `mcpServers`: write {"mcpServers": {"name": {"command": "program"}}}');
    return {};
  }
  const count = Object.keys(servers.data).length;
  if (count <= MAX_SERVERS) return servers.data;
  wrong(`mcpServers has ${String(count)} servers: give at most ${String(MAX_SERVERS)}`);
  return {};
}

function serverOf(name: string, reading: Reading): McpServer | null {
  const { given, wrong } = reading;
  for (const key of Object.keys(given))
    if (!(SERVER_KEYS as readonly string[]).includes(key)) wrong('', unknownKey(key, SERVER_KEYS));
  const tools = toolsOf(reading);
  const type = given['type'];
  const isRemote = type === undefined ? given['url'] !== undefined : type !== 'stdio';
  if (type !== undefined && type !== 'stdio' && type !== 'http' && type !== 'sse') {
    wrong('.type', `${quoteValue(type)} is not known: use stdio, http or sse`);
    return null;
  }
  const misplaced = (isRemote ? ['command', 'args', 'env'] : ['url', 'headers']).filter((key) => key in given);
  if (misplaced.length > 0) {
    const of = isRemote ? 'a server at an address' : 'a program';
    wrong('', `has ${listFirstNames(misplaced)}, which ${of} does not have: give it a \`command\` or a \`url\``);
    return null;
  }
  if (isRemote) {
    const url = urlOf(reading);
    const headers = pairsOf('headers', reading);
    return { kind: 'remote', name, tools, transport: type === 'sse' ? 'sse' : 'http', url, headers };
  }
  return {
    kind: 'command',
    name,
    tools,
    command: parseCommandField(reading),
    args: listOf('args', reading).map((value, index) => checkValue(value, `.args[${String(index)}]`, reading)),
    env: pairsOf('env', reading),
  };
}

function toolsOf(reading: Reading): readonly string[] {
  const tools = listOf('tools', reading);
  for (const tool of tools)
    if (!TOOL_NAME.test(tool)) reading.wrong('.tools', `has ${quoteValue(tool)}, which is not a tool name`);
  return [...new Set(tools)];
}

function parseCommandField(reading: Reading): string {
  const command = z.string().safeParse(reading.given['command']);
  if (!command.success || command.data === '') {
    reading.wrong('', 'has no `command` and no `url`: give it one of the two');
    return '';
  }
  // Writing a whole command line here is a common mistake, so it gets a message of its own.
  if (/\s/.test(command.data))
    reading.wrong(
      '.command',
      `${quoteValue(command.data)} is not one program: put the words after its name into \`args\``,
    );
  if (command.data.startsWith('-')) reading.wrong('.command', `${quoteValue(command.data)} is not a program`);
  return checkValue(command.data, '.command', reading);
}

function urlOf({ given, wrong }: Reading): string {
  const url = z.string().max(MAX_VALUE_CHARS).safeParse(given['url']);
  if (!url.success) {
    wrong('.url', 'is not the address of a server, such as https://mcp.example.com/mcp');
    return '';
  }
  if (/^[a-z]+:\/\/[^/?#]*@/i.test(url.data)) {
    wrong('.url', 'has a user name or password: pass them in a header whose value names a variable');
    return '';
  }
  if (url.data.includes('$')) {
    wrong('.url', 'names a variable, but the address must be known in advance: pass secrets in a header');
    return '';
  }
  const address = parseMcpAddress(url.data);
  // The part after the host may contain a secret, so it is not shown.
  const where = quoteValue(url.data.replace(/[?#].*$/s, ''));
  if (address === null) wrong('.url', `${where} is not an address such as https://mcp.example.com/mcp`);
  else if (!address.secure && !isLoopback(address.target))
    wrong('.url', `${where} is not encrypted: use https, or http on localhost`);
  return url.data;
}

function listOf(key: 'args' | 'tools', { given, wrong }: Reading): readonly string[] {
  if (given[key] === undefined) return [];
  const list = strings.safeParse(given[key]);
  if (list.success) return list.data;
  wrong(`.${key}`, `is not a list of at most ${String(MAX_ITEMS)} texts`);
  return [];
}

/** Returns names and values. A list of names in `env` passes on the variables with these names. */
function pairsOf(key: 'env' | 'headers', reading: Reading): Readonly<Record<string, string>> {
  const { given, wrong } = reading;
  if (given[key] === undefined) return {};
  const names = strings.safeParse(given[key]);
  const read = pairs.safeParse(given[key]);
  const isList = key === 'env' && names.success;
  if (!read.success && !isList) {
    wrong(
      `.${key}`,
      key === 'env'
        ? `is not an object of at most ${String(MAX_ITEMS)} names and texts, nor a list of names`
        : `is not an object of at most ${String(MAX_ITEMS)} names and texts`,
    );
    return {};
  }
  const entries = isList ? names.data.map((name) => [name, `\${${name}}`] as const) : Object.entries(read.data ?? {});
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const place = `.${key}.${formatKey(name)}`;
      if (!(key === 'env' ? VARIABLE : HEADER).test(name)) {
        wrong(place, `is not a name of ${key === 'env' ? 'an environment variable' : 'a header'}`);
        return [];
      }
      return [[name, checkValue(value, place, reading)] as const];
    }),
  );
}

/** Checks the form of a value and the variables that it names, and returns it. */
function checkValue(value: string, place: string, { accessOf, wrong }: Reading): string {
  if (value.length > MAX_VALUE_CHARS) wrong(place, `is longer than ${String(MAX_VALUE_CHARS)} characters`);
  if (/[\p{Cc}\p{Surrogate}]/u.test(value)) wrong(place, 'has a line break or another control character');
  if (parseValueParts(value) === null)
    wrong(place, 'has a `$` that does not begin a variable: write variables as ${NAME} or ${NAME:-default}');
  for (const name of new Set(findVariablesIn(value).map((variable) => variable.name))) {
    const access = accessOf(name);
    if (access === 'never')
      wrong(place, `names \`${name}\`, which may hold a job token or an agent's key, so no server may get it`);
    else if (access === 'unnamed')
      wrong(place, `names \`${name}\`, which the agent does not see: add it to \`agent-env\``);
  }
  return value;
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = findNearest(key, known);
  return `has ${quoteValue(key)}, which is not known: ${near === null ? `use ${listFirstNames(known)}` : `did you mean ${near}?`}`;
}

/** Formats a name as part of a position. */
function formatKey(name: string): string {
  return /^[\w.-]{1,80}$/.test(name) ? name : JSON.stringify(toOneLine(capText(name, 40), 40));
}

function quoteValue(value: unknown): string {
  return capText(toOneLine(JSON.stringify(value), 200), 80);
}

/**
 * Parses an address without user name, fragment and unencoded special characters. No URL parser is used, because URL
 * parsers accept too much.
 */
export function parseMcpAddress(url: string): McpAddress | null {
  const [, protocol, host = '', path = ''] = /^(https?):\/\/([^/?#@]+)([/?][!-~]*)?$/i.exec(url) ?? [];
  if (protocol === undefined || /["#<>\\^`{|}]/.test(path)) return null;
  const secure = protocol.toLowerCase() === 'https';
  const target = parseTarget(host, secure ? HTTPS_PORT : HTTP_PORT);
  return target === null ? null : { secure, target, path };
}

/** Returns true if an address belongs to this machine. */
function isLoopback({ host }: HostAndPort): boolean {
  return LOOPBACK.test(host);
}

/** Returns the servers' public hosts, which an isolated agent must be able to reach. */
export function listMcpHosts(servers: readonly McpServer[]): readonly HostRule[] {
  return sortUniqueHosts(targetsOf(servers).filter(({ host }) => isPublicHost(host)));
}

/**
 * Returns the server addresses that an isolated agent cannot reach, as `host:port`: those on this machine except
 * `localPorts`, and those in its network.
 */
export function listUnreachableHosts(servers: readonly McpServer[], localPorts: readonly number[]): readonly string[] {
  return targetsOf(servers)
    .filter((target) => !isPublicHost(target.host) && !(isLoopback(target) && localPorts.includes(target.port)))
    .map(({ host, port }) => `${formatUrlHost(host)}:${String(port)}`);
}

function targetsOf(servers: readonly McpServer[]): readonly HostAndPort[] {
  return servers.flatMap((server) => {
    const target = server.kind === 'remote' ? (parseMcpAddress(server.url)?.target ?? null) : null;
    return target === null ? [] : [target];
  });
}
