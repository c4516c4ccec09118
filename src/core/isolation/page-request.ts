import { type HostAndPort, parseTarget, formatUrlHost } from './hosts.ts';

const HTTP_PORT = 80;

/** A request for a page by its full URL, the form in which a proxy receives it. */
export interface PageRequest {
  readonly target: HostAndPort;
  /** The path with its query. */
  readonly path: string;
}

/** Headers as pairs; a name may occur several times, and the order is kept. */
type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** The framing of a request body; null if there is no body. */
export type Framing = { readonly kind: 'chunked' } | { readonly kind: 'length'; readonly bytes: string } | null;

/** Headers that concern a single connection, and those that the proxy sets itself. */
const NOT_FORWARDED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Parses `http://host/path`. Returns null for unreadable text, another protocol or a user name. No URL parser is used,
 * because URL parsers accept and normalize too much.
 */
export function parsePageRequest(url: string): PageRequest | null {
  const [, authority = '', path = ''] = /^http:\/\/([^/?#@\\]+)([/?][\x21\x22\x24-\x7e]*)?$/i.exec(url) ?? [];
  const target = parseTarget(authority, HTTP_PORT);
  return target === null ? null : { target, path: path.startsWith('/') ? path : `/${path}` };
}

/** Formats a page's target for a URL and the Host header. */
export function hostOfPage({ host, port }: HostAndPort): string {
  return port === HTTP_PORT ? formatUrlHost(host) : `${formatUrlHost(host)}:${String(port)}`;
}

/** Returns the headers of a forwarded request, with Ralph's own host and framing. */
export function buildRequestHeaders(received: HeaderPairs, target: HostAndPort, framing: Framing): HeaderPairs {
  return [['Host', hostOfPage(target)], ...endToEnd(received), ...framingHeaders(framing)];
}

/** Returns the headers of a forwarded answer, including the content length if the server sent one. */
export function buildAnswerHeaders(received: HeaderPairs): HeaderPairs {
  const isChunked = received.some(([name]) => name.toLowerCase() === 'transfer-encoding');
  const length = received.filter(([name]) => !isChunked && name.toLowerCase() === 'content-length');
  return [...endToEnd(received), ...length.slice(0, 1)];
}

/** Pairs the names and values of Node's flat header list. */
export function pairHeaders(raw: readonly string[]): HeaderPairs {
  return raw.flatMap((name, at): HeaderPairs => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []));
}

/** Removes the headers of a single connection: those known by name and those that `Connection` lists. */
function endToEnd(received: HeaderPairs): HeaderPairs {
  const named = received
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((name) => name.trim());
  const dropped = new Set([...NOT_FORWARDED, ...named]);
  return received.filter(([name]) => !dropped.has(name.toLowerCase()));
}

function framingHeaders(framing: Framing): HeaderPairs {
  if (framing === null) return [];
  return framing.kind === 'chunked' ? [['Transfer-Encoding', 'chunked']] : [['Content-Length', framing.bytes]];
}
