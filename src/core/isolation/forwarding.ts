import { bracketed, parseTarget, type Target } from './hosts.ts';

const HTTP_PORT = 80;

/** A request for a page by its whole address, as a proxy gets it. */
export interface PageRequest {
  readonly target: Target;
  /** With its query. */
  readonly path: string;
}

/** Headers as pairs: names may come more than once, and their order stays. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** How the body of a request is delimited; null: it has none. */
export type Framing = { readonly kind: 'chunked' } | { readonly kind: 'length'; readonly bytes: string } | null;

/** Headers about one connection, and those that the proxy sets itself. */
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

/** Reads `http://host/path`; null: unreadable, of another protocol, or with a user name. A URL parser would forgive and change too much. */
export function parsePageRequest(url: string): PageRequest | null {
  const [, authority = '', path = ''] = /^http:\/\/([^/?#@\\]+)([/?][\x21\x22\x24-\x7e]*)?$/i.exec(url) ?? [];
  const target = parseTarget(authority, HTTP_PORT);
  return target === null ? null : { target, path: path.startsWith('/') ? path : `/${path}` };
}

/** A page's target as its address and the Host header name it. */
export function pageHost({ host, port }: Target): string {
  return port === HTTP_PORT ? bracketed(host) : `${bracketed(host)}:${String(port)}`;
}

/** Headers of a request as they go on: with our own host and framing. */
export function requestHeaders(received: HeaderPairs, target: Target, framing: Framing): HeaderPairs {
  return [['Host', pageHost(target)], ...endToEnd(received), ...framingHeaders(framing)];
}

/** Headers of an answer as they go back; its length stays, where it has one. */
export function answerHeaders(received: HeaderPairs): HeaderPairs {
  const isChunked = received.some(([name]) => name.toLowerCase() === 'transfer-encoding');
  const length = received.filter(([name]) => !isChunked && name.toLowerCase() === 'content-length');
  return [...endToEnd(received), ...length.slice(0, 1)];
}

/** Pairs of what Node gives as one flat list. */
export function headerPairs(raw: readonly string[]): HeaderPairs {
  return raw.flatMap((name, at): HeaderPairs => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []));
}

/** What is not about the connection that it came by, either by its name or because `Connection` names it. */
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
