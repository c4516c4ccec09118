import { parseAddress } from '../addresses.ts';
import { parseTarget, type HostAndPort } from '../hosts.ts';

/**
 * The kind of a connection, derived from its first bytes. `more`: undecided until `needed` bytes have arrived. `name`:
 * the raw server name of a TLS ClientHello; null if it has none.
 */
export type Opening =
  | { readonly kind: 'more'; readonly needed: number }
  | { readonly kind: 'tls'; readonly name: string | null }
  | { readonly kind: 'http' }
  | { readonly kind: 'other' };

const CHANGE_CIPHER_SPEC = 20;
const HANDSHAKE = 22;
const APPLICATION_DATA = 23;
const SERVER_HELLO = 2;
/** The random of a ServerHello that requests another ClientHello: the SHA-256 of "HelloRetryRequest". */
const RETRY_RANDOM = [...'cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c'.matchAll(/../g)].map(
  ([byte]) => Number.parseInt(byte, 16),
);
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const MAX_RECORD_BYTES = 16_384;
const OTHER: Opening = { kind: 'other' };

/**
 * Parses the beginning of a connection. A ClientHello may be split over several records. Bytes that two servers could
 * interpret differently (two names, wrong lengths, bytes after the message) are `other`.
 */
export function parseOpening(bytes: Uint8Array): Opening {
  const [first] = bytes;
  if (first === undefined) return { kind: 'more', needed: 1 };
  // Every HTTP method begins with a capital letter and no TLS record does, so the first byte decides.
  if (first >= 0x41 && first <= 0x5a) return { kind: 'http' };
  const message = handshakeIn(bytes);
  if (!(message instanceof Uint8Array)) return message;
  try {
    return { kind: 'tls', name: serverNameIn(message.subarray(MESSAGE_HEADER_BYTES)) };
  } catch (error) {
    if (error instanceof RangeError) return OTHER;
    throw error;
  }
}

/**
 * Parses the client's bytes after a server requested another ClientHello. Skips preceding records of other kinds, as
 * such a server does.
 */
export function parseSecondOpening(bytes: Uint8Array): Opening {
  let at = 0;
  for (let type = bytes[at]; type === CHANGE_CIPHER_SPEC || type === APPLICATION_DATA; type = bytes[at]) {
    if (bytes.length < at + RECORD_HEADER_BYTES) return { kind: 'more', needed: at + RECORD_HEADER_BYTES };
    at += RECORD_HEADER_BYTES + (bytes[at + 3] ?? 0) * 256 + (bytes[at + 4] ?? 0);
  }
  const opening = parseOpening(bytes.subarray(at));
  if (opening.kind === 'more') return { kind: 'more', needed: at + opening.needed };
  return opening.kind === 'tls' ? opening : OTHER;
}

/** Parses the beginning of a server's answer. `retry`: the server requests another ClientHello (RFC 8446, 4.1.3). */
export function parseServerAnswer(
  bytes: Uint8Array,
): Extract<Opening, { kind: 'more' }> | { readonly kind: 'retry' | 'final' } {
  const expected = [HANDSHAKE, 3, null, null, null, SERVER_HELLO, null, null, null, null, null, ...RETRY_RANDOM];
  if (!expected.every((byte, at) => byte === null || bytes[at] === undefined || bytes[at] === byte))
    return { kind: 'final' };
  return bytes.length < expected.length ? { kind: 'more', needed: bytes.length + 1 } : { kind: 'retry' };
}

/** Returns the ClientHello with its header, joined from its records. It must end together with the last record. */
function handshakeIn(bytes: Uint8Array): Uint8Array | Opening {
  const message: number[] = [];
  for (let at = 0; ;) {
    const [type, major, , high = 0, low = 0] = bytes.subarray(at, at + RECORD_HEADER_BYTES);
    if ((type ?? HANDSHAKE) !== HANDSHAKE || (major ?? 3) !== 3) return OTHER;
    if (bytes.length < at + RECORD_HEADER_BYTES) return { kind: 'more', needed: at + RECORD_HEADER_BYTES };
    const length = high * 256 + low;
    if (length === 0 || length > MAX_RECORD_BYTES) return OTHER;
    at += RECORD_HEADER_BYTES;
    message.push(...bytes.subarray(at, at + length));
    if (message[0] !== undefined && message[0] !== CLIENT_HELLO) return OTHER;
    if (bytes.length < at + length) return { kind: 'more', needed: at + length };
    at += length;
    const whole =
      message.length < MESSAGE_HEADER_BYTES
        ? Infinity
        : MESSAGE_HEADER_BYTES + (message[1] ?? 0) * 65_536 + (message[2] ?? 0) * 256 + (message[3] ?? 0);
    if (message.length > whole || (message.length === whole && bytes.length > at)) return OTHER;
    if (message.length === whole) return Uint8Array.from(message);
  }
}

/** Returns the name in the body of a ClientHello. Throws a RangeError if the body is malformed. */
function serverNameIn(body: Uint8Array): string | null {
  const hello = reader(body);
  hello.take(2 + 32);
  for (const width of [1, 2, 1]) hello.vector(width);
  if (hello.isOver()) return null;
  const extensions = reader(hello.vector(2));
  if (!hello.isOver()) throw new RangeError('bytes behind the extensions');
  const names: string[] = [];
  while (!extensions.isOver()) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type === SERVER_NAME) names.push(hostNameIn(content));
  }
  if (names.length > 1) throw new RangeError('two server names');
  return names[0] ?? null;
}

function hostNameIn(content: Uint8Array): string {
  const extension = reader(content);
  const list = reader(extension.vector(2));
  const type = list.number(1);
  const name = list.vector(2);
  if (type !== HOST_NAME || name.length === 0 || !list.isOver() || !extension.isOver())
    throw new RangeError('not one host name');
  return String.fromCharCode(...name);
}

interface Reader {
  isOver(): boolean;
  take(length: number): Uint8Array;
  number(width: number): number;
  /** Returns the bytes after a length of `width` bytes. */
  vector(width: number): Uint8Array;
}

function reader(bytes: Uint8Array): Reader {
  let at = 0;
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new RangeError('cut off');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const number = (width: number): number => take(width).reduce((sum, byte) => sum * 256 + byte, 0);
  return { isOver: () => at === bytes.length, take, number, vector: (width) => take(number(width)) };
}

/**
 * Returns null if an opening is for the requested host; otherwise returns the suffix that the host gets in reports, for
 * example ` as other.example`.
 */
export function findHostSuffix(
  opening: Exclude<Opening, { kind: 'more' }>,
  { host, port }: HostAndPort,
): string | null {
  switch (opening.kind) {
    case 'tls':
      // A connection to an address needs no server name, although some programs send the address as one, so both are
      // accepted.
      if (opening.name === null) return parseAddress(host) === null ? ' without a server name' : null;
      return asHost(opening.name) === host ? null : formatOtherName(opening.name);
    case 'http':
      // The proxy checks each request on this connection separately, so it may use every port except that of TLS.
      return port === HTTPS_PORT ? WITHOUT_TLS : null;
    case 'other':
      return WITHOUT_TLS;
  }
}

/** Returns the suffix that a host gets in reports if a connection to it named another host. */
export function formatOtherName(name: string): string {
  return ` as ${asHost(name) ?? 'another name'}`;
}

/** Matches the suffix of a refused `host:port` that describes what was sent on the connection. */
export const DISCREPANCY_SUFFIX = / (?:as [\w.:[\]-]{1,260}|as another name|without a server name|without TLS)$/;

const HTTPS_PORT = 443;
export const WITHOUT_TLS = ' without TLS';

/** Returns the name as a normalized host, or null if it is not a host. */
function asHost(name: string): string | null {
  return parseTarget(name.includes(':') ? `[${name}]` : name, HTTPS_PORT)?.host ?? null;
}
