/** The bytes of an address: four (IPv4) or sixteen (IPv6). */
type Bytes = readonly number[];

/** Normalizes an address, so that two notations can be compared; returns null if the text is not an address. */
export function parseAddress(text: string): string | null {
  const read = addressBytesOf(text);
  if (read === null) return null;
  const bytes = isInNetwork(read, MAPPED) ? read.slice(12) : read;
  return bytes.length === 4 ? bytes.join('.') : groupsOf(bytes).join(':');
}

/**
 * Returns true if an address is not public, such as this machine, its network or a cloud's metadata service. Also
 * returns true for unreadable text.
 */
export function isForbiddenAddress(text: string): boolean {
  const bytes = addressBytesOf(text);
  if (bytes === null) return true;
  const plain = CARRIERS.some((carrier) => isInNetwork(bytes, carrier)) ? bytes.slice(12) : bytes;
  if (plain.length === 4) return FORBIDDEN_V4.some((network) => isInNetwork(plain, network));
  return !isInNetwork(plain, GLOBAL_V6) || FORBIDDEN_V6.some((network) => isInNetwork(plain, network));
}

interface Network {
  readonly start: Bytes;
  readonly bits: number;
}

const FORBIDDEN_V4 = [
  '0.0.0.0/8', // this machine
  '10.0.0.0/8', // private
  '100.64.0.0/10', // behind a provider's NAT; Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's platform
  '169.254.0.0/16', // link-local; metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.88.99.0/24', // the former 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // network benchmarks, and addresses that proxies invent
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
].map(network);

/** The public IPv6 range. Loopback, private, link-local, multicast and IPv4-carrying addresses are outside of it. */
const GLOBAL_V6 = network('2000::/3');
const FORBIDDEN_V6 = [
  '2001::/23', // protocol assignments; Teredo, which carries an IPv4 address
  '2002::/16', // 6to4, which carries an IPv4 address and is no longer served
].map(network);

/** IPv4 addresses written as IPv6 ones. */
const MAPPED = network('::ffff:0:0/96');
/**
 * IPv6 ranges whose last four bytes are an IPv4 address. A network without IPv4 answers with NAT64 addresses for every
 * host.
 */
const CARRIERS = [MAPPED, network('64:ff9b::/96')];

function network(text: string): Network {
  const [start = '', bits = ''] = text.split('/');
  return { start: addressBytesOf(start) ?? [], bits: Number(bits) };
}

function isInNetwork(bytes: Bytes, { start, bits }: Network): boolean {
  if (bytes.length !== start.length) return false;
  return start.every((byte, at) => {
    const hidden = 8 - Math.min(8, Math.max(0, bits - at * 8));
    return byte >> hidden === (bytes[at] ?? 0) >> hidden;
  });
}

function addressBytesOf(text: string): Bytes | null {
  return text.includes(':') ? bytesOfV6(text) : bytesOfV4(text);
}

/** Parses four plain decimal numbers; ambiguous notations such as 0177.1 or 0x7f000001 are rejected. */
function bytesOfV4(text: string): Bytes | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))) return null;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : null;
}

function bytesOfV6(text: string): Bytes | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [front, back] = halves.map(bytesOfHalf);
  if (front === null || front === undefined || back === null) return null;
  if (back === undefined) return front.length === 16 ? front : null;
  const missing = 16 - front.length - back.length;
  return missing < 2 || endsInV4(halves[0] ?? '') ? null : [...front, ...Array<number>(missing).fill(0), ...back];
}

function bytesOfHalf(text: string): Bytes | null {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [at, group] of groups.entries()) {
    const isLast = at === groups.length - 1;
    const read = isLast && endsInV4(group) ? bytesOfV4(group) : bytesOfGroup(group);
    if (read === null) return null;
    bytes.push(...read);
  }
  return bytes;
}

/** Returns true if the text ends in an IPv4 address, which is allowed only at the very end. */
function endsInV4(text: string): boolean {
  return text.includes('.');
}

function bytesOfGroup(group: string): Bytes | null {
  if (!/^[\da-f]{1,4}$/i.test(group)) return null;
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

function groupsOf(bytes: Bytes): readonly string[] {
  return bytes.flatMap((byte, at) => (at % 2 === 0 ? [((byte << 8) | (bytes[at + 1] ?? 0)).toString(16)] : []));
}
