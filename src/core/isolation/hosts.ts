import { type AgentName, AGENTS } from '../agent-names.ts';
import { isForbiddenAddress, parseAddress } from './addresses.ts';

/** A reachable host: an address, or a name in lower-case ASCII. A leading `*.` matches all names below. */
export interface HostRule {
  readonly host: string;
  readonly port: number;
}

/** The hosts that may be reached; `any` means every public host. */
export type AllowedHosts = { readonly kind: 'any' } | { readonly kind: 'listed'; readonly hosts: readonly HostRule[] };

/** The value of the input `allowed-hosts`; `none` excludes even the package registries. */
export type HostsAsked =
  | { readonly kind: 'any' }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'registries-and';
      readonly hosts: readonly HostRule[];
      /** Ports of this machine's 127.0.0.1, where services of the job listen. */
      readonly localPorts: readonly number[];
    };

/** The rules of the proxy. */
export interface EgressRules {
  readonly allowed: AllowedHosts;
  /** Hosts of models, such as `MODEL_HOSTS`, which only the broker may reach even if `allowed` contains them. */
  readonly never: readonly string[];
}

/** The host and port that a program requests; the host is a name in lower-case ASCII, or an address. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const MAX_ITEMS = 200;

/** Maximum number of local ports. An iptables rule holds fifteen ports, including those of the proxy and the broker. */
const MAX_LOCAL_PORTS = 10;

/** The lowest port of a local service, because only root can listen on lower ones. */
const FIRST_LOCAL_PORT = 1024;

const HTTPS_PORT = 443;

/**
 * Parses the items of the input. `problems` are verb phrases about the input; unusable items are left out of `asked`.
 */
export function parseAllowedHosts(items: readonly string[]): {
  readonly asked: HostsAsked;
  readonly problems: readonly string[];
} {
  const [first] = items;
  if (items.length === 1 && (first === 'any' || first === 'none')) return { asked: { kind: first }, problems: [] };
  if (items.length > MAX_ITEMS) {
    const problem = `has ${String(items.length)} items: give at most ${String(MAX_ITEMS)}`;
    return { asked: { kind: 'registries-and', hosts: [], localPorts: [] }, problems: [problem] };
  }
  const parsed = items.map((item) => localPortOf(item) ?? parseItem(item));
  const localPorts = [...new Set(parsed.filter((one) => typeof one === 'number'))].sort((one, other) => one - other);
  const tooMany =
    localPorts.length > MAX_LOCAL_PORTS
      ? [`has ${String(localPorts.length)} ports of localhost: give at most ${String(MAX_LOCAL_PORTS)}`]
      : [];
  return {
    asked: {
      kind: 'registries-and',
      hosts: sortUniqueHosts(parsed.filter((one) => typeof one === 'object')),
      localPorts: tooMany.length > 0 ? [] : localPorts,
    },
    problems: [...new Set([...parsed.filter((one) => typeof one === 'string'), ...tooMany])],
  };
}

/** Returns the reachable hosts, given the registries of the machine's package managers. */
export function listAllowedHosts(asked: HostsAsked, registries: readonly HostRule[]): AllowedHosts {
  if (asked.kind === 'any') return asked;
  return { kind: 'listed', hosts: asked.kind === 'none' ? [] : sortUniqueHosts([...registries, ...asked.hosts]) };
}

/** Returns the allowed hosts with further hosts added. */
export function withHosts(allowed: AllowedHosts, more: readonly HostRule[]): AllowedHosts {
  return allowed.kind === 'any' ? allowed : { kind: 'listed', hosts: sortUniqueHosts([...allowed.hosts, ...more]) };
}

/** Returns true if the user explicitly limited the network, so that a run must not start without that limit. */
export function requiresNetworkLimit(asked: HostsAsked): boolean {
  return asked.kind === 'none' || (asked.kind === 'registries-and' && asked.hosts.length + asked.localPorts.length > 0);
}

/** Returns the ports of this machine's 127.0.0.1 that `allowed-hosts` lists. */
export function listLocalPorts(asked: HostsAsked): readonly number[] {
  return asked.kind === 'registries-and' ? asked.localPorts : [];
}

/** Sorts the hosts and removes duplicates. */
export function sortUniqueHosts(hosts: readonly HostRule[]): readonly HostRule[] {
  const byName = new Map(hosts.map((rule) => [nameOfTarget(rule), rule]));
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rule]) => rule);
}

/** Returns true if a target may be requested. Its resolved address is checked elsewhere. */
export function allowsHost(rules: EgressRules, host: string, port: number): boolean {
  const target = parseHost(host);
  if (target === null || isModelHost(rules, target)) return false;
  if (rules.allowed.kind === 'any') return isPublicHost(target);
  return rules.allowed.hosts.some((rule) => rule.port === port && matches(rule.host, target));
}

/** Returns true if only the broker may reach this host. */
export function isModelHost({ never }: EgressRules, host: string): boolean {
  const target = parseHost(host);
  return target !== null && never.some((name) => isNamedBy(name, target));
}

/** Returns the hosts in `allowed-hosts` that only the broker may reach. */
export function findModelHosts(asked: HostsAsked, never: readonly string[]): readonly HostRule[] {
  if (asked.kind !== 'registries-and') return [];
  return asked.hosts.filter(({ host }) => never.some((name) => isNamedBy(name, host)));
}

/** Returns true if a name or address may be public, as far as that can be decided without a name server. */
export function isPublicHost(host: string): boolean {
  if (parseAddress(host) !== null) return !isForbiddenAddress(host);
  return host.includes('.') && !PRIVATE_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Suffixes that no public server has. An upstream proxy might resolve them in its own network. */
const PRIVATE_NAMES = ['localhost', 'local', 'internal', 'home.arpa', 'localdomain', 'lan'];

/**
 * Parses `host:port`, with an IPv6 address in brackets. `port` is the default; null makes a port required. Returns null
 * if the text is unreadable.
 */
export function parseTarget(text: string, port: number | null): HostAndPort | null {
  const [, inBrackets, plain = '', digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = parseHost(inBrackets ?? plain);
  const given = digits === undefined ? port : Number(digits);
  // An IPv4 address in brackets, such as `[1.2.3.4]`, is rejected.
  if (host === null || given === null || inBrackets?.includes(':') === false) return null;
  return given >= 1 && given <= 65_535 ? { host, port: given } : null;
}

/** Formats a target, with an IPv6 address in brackets. */
export function nameOfTarget({ host, port }: HostAndPort): string {
  return `${formatUrlHost(host)}:${String(port)}`;
}

/** Formats a host for a URL. */
export function formatUrlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Normalizes a host: lower case, no final dot, one notation per address. Returns null if the text is neither a name nor
 * an address.
 */
function parseHost(text: string): string | null {
  const host = text.toLowerCase().replace(/\.$/, '');
  const address = parseAddress(host);
  if (address !== null) return address;
  const labels = host.split('.');
  // A name that ends in a number is an address in a notation that resolvers interpret differently, so it is rejected.
  if (host.length > 253 || /^(?:\d+|0x[\da-f]*)$/.test(labels.at(-1) ?? '')) return null;
  return labels.every((label) => LABEL.test(label)) ? host : null;
}

/** Matches a label of a name. Underscores are allowed, because the names of some real servers contain them. */
const LABEL = /^[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?$/;

function matches(rule: string, host: string): boolean {
  return rule.startsWith('*.') ? host.endsWith(rule.slice(1)) : rule === host;
}

/**
 * Returns true if an entry of `never` matches a host: `*` matches part of one label, and a leading `*.` matches every
 * name below.
 */
function isNamedBy(text: string, host: string): boolean {
  const name = parseHost(text) ?? text.toLowerCase();
  if (name.startsWith('*.')) return host.endsWith(name.slice(1));
  const parts = name.split('*').map((part) => part.replaceAll('.', '\\.'));
  return parts.length === 1 ? name === host : new RegExp(`^${parts.join('[^.]+')}$`).test(host);
}

/** Returns the port of `localhost:5432`, or a description of the error; null for another host. */
function localPortOf(item: string): number | string | null {
  if (!/^localhost(?::|$)/i.test(item)) return null;
  const port = Number(/:(\d{1,5})$/.exec(item)?.[1] ?? 0);
  if (port >= FIRST_LOCAL_PORT && port <= 65_535) return port;
  return `has ${JSON.stringify(item.slice(0, 80))}: write localhost with a port from ${String(FIRST_LOCAL_PORT)} to 65535, as in localhost:5432`;
}

/** Returns the rule, or a description of the error in the item. */
function parseItem(item: string): HostRule | string {
  if (item.includes('@'))
    return 'has an item with a user name or password: write only its host, such as api.example.com';
  const shown = JSON.stringify(item.slice(0, 80));
  if (item === 'any' || item === 'none') return `has ${item} next to other items: give ${item} alone, or only hosts`;
  if (item === '*') return 'has "*": write any, alone, to allow every public host';
  if (/[^\x20-\x7e]/.test(item)) {
    return `has ${shown}, which is not plain ASCII: write the name's ASCII form, whose labels begin with xn--`;
  }
  if (item.includes('/')) return `has ${shown}, which is a URL or has a path: write only its host${hint(item)}`;
  const isBelow = item.startsWith('*.');
  const target = parseTarget(isBelow ? item.slice(2) : item, HTTPS_PORT);
  if (target === null) return `has ${shown}, which is not a host${suggestion(item)}`;
  const { host, port } = target;
  if (isBelow && parseAddress(host) !== null) return `has ${shown}: write the address without *.`;
  if (isBelow && !host.includes('.')) {
    return `has ${shown}, which opens a whole top-level domain: write a name below it, such as *.example.com`;
  }
  if (host.includes('_'))
    return `has ${shown}, which is not a host: its name has a character other than letters, digits, - and .`;
  if (parseAddress(host) !== null && isForbiddenAddress(host)) {
    return `has ${shown}, which is a private or reserved address: only public hosts can be allowed`;
  }
  const isLocalName = parseAddress(host) === null && (!host.includes('.') || host.endsWith('.localhost'));
  if (isLocalName) {
    return `has ${shown}, which only this machine or its own network knows: only public hosts can be allowed`;
  }
  return { host: isBelow ? `*.${host}` : host, port };
}

function hint(item: string): string {
  const [, host = ''] = /^(?:[a-z][a-z\d+.-]*:)?\/*([a-z\d.-]+(?::\d+)?)(?:\/|$)/i.exec(item) ?? [];
  return `, ${parseTarget(host, HTTPS_PORT) === null ? 'such as api.example.com' : host}`;
}

function suggestion(item: string): string {
  if (parseAddress(item) !== null) return `: write an IPv6 address in brackets, [${item}]`;
  if (item.lastIndexOf('*') > 0) return ': * may only be the first label, as in *.example.com';
  const port = /:([^:\]]*)$/.exec(item)?.[1] ?? null;
  const isPort = port === null || (/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535);
  return isPort ? ' such as api.example.com or *.example.com:8443' : ': its port must be a number from 1 to 65535';
}

/**
 * Returns the hosts of the providers that these agents can use, in the form of `EgressRules.never`. A user's own
 * command reaches its model directly.
 */
export function listModelHosts(agents: readonly AgentName[]): readonly string[] {
  return [...new Set(agents.flatMap((agent) => AGENTS[agent].hosts))];
}
