import { join } from 'node:path';

/**
 * Decodes file names, which git prints as bytes. A byte that is not part of UTF-8 becomes a lone surrogate (U+DC80 to
 * U+DCFF, whose low half is the byte), so that every name can be written back unchanged.
 */
export function decodeNames(bytes: Buffer): string {
  const text = bytes.toString();
  return text.includes('\u{FFFD}') ? decodeByByte(bytes) : text;
}

/** Returns the bytes of a text that `decodeNames` may have made. */
export function encodeNames(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  const parts = text.split(/([\uDC80-\uDCFF])/u);
  return Buffer.concat(
    parts.map((part, at) => (at % 2 === 1 ? Buffer.of(part.charCodeAt(0) & 0xff) : Buffer.from(part))),
  );
}

/** Returns a name for people, and for everything that accepts only Unicode. */
export function decodeGitName(name: string): string {
  return name.toWellFormed();
}

/** Returns the path on disk of a file with that name. */
export function locateNamedFile(top: string, name: string): string | Buffer {
  return name.isWellFormed() ? join(top, name) : Buffer.concat([Buffer.from(`${top}/`), encodeNames(name)]);
}

function decodeByByte(bytes: Buffer): string {
  const whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const parts: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, lengthOf(bytes[at] ?? 0));
    const character = tryDecode(whole, bytes.subarray(at, at + length));
    parts.push(character ?? String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
    at += character === null ? 1 : length;
  }
  return parts.join('');
}

/**
 * Returns the number of bytes of the character that begins with this byte, or 0 if the byte cannot begin a character.
 */
function lengthOf(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

function tryDecode(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Hosts that are never a GitHub server; any other may be a company's own server. */
const OTHER_HOSTS: readonly string[] = ['gitlab.com', 'bitbucket.org', 'codeberg.org', 'dev.azure.com', 'git.sr.ht'];

/**
 * Parses `https://host/owner/repo.git`, `git@host:owner/repo` or `ssh://git@host/owner/repo`. Returns null for any
 * other text, or a host that is not GitHub.
 */
export function repositoryOfRemote(
  url: string,
): { readonly host: string; readonly repository: { readonly owner: string; readonly repo: string } } | null {
  const [, host = '', owner = '', repo = ''] =
    /^(?:(?:https?|ssh|git):\/\/)?(?:[^@/\s]+@)?([\w.-]+)(?::\d+)?[/:]([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(url) ??
    [];
  return host === '' || OTHER_HOSTS.includes(host.toLowerCase()) ? null : { host, repository: { owner, repo } };
}
