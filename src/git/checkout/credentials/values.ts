/** A setting of git; `value` is null where the key stands alone. */
interface Setting {
  readonly key: string;
  readonly value: string | null;
}

/** Shorter values are words; a user name is one as well, so it counts only where it is as long as a token. */
const MIN_SECRET_CHARS = 8;
const MIN_TOKEN_CHARS = 20;
/** What stands for a password where the token is the user name. */
const STAND_IN = 'x-oauth-basic';

/** The passwords and tokens that settings hold in headers, in URLs (also in those of their names) and in credential helpers. */
export function secretsOfSettings(settings: readonly Setting[]): readonly string[] {
  const found = settings.flatMap(({ key, value }) => [
    ...secretsOfUrl(key),
    ...secretsOfUrl(value ?? ''),
    ...(/^http\..*extraheader$/is.test(key) ? secretsOfHeader(value ?? '') : []),
    ...(/^credential\./i.test(key) ? secretsOfHelper(value ?? '') : []),
  ]);
  return [...new Set(found)].filter((secret) => secret.length >= MIN_SECRET_CHARS && secret !== STAND_IN);
}

/** `https://user:password@host`, with any scheme or none. */
function secretsOfUrl(text: string): readonly string[] {
  const [, password = ''] = /(?:^|\/\/|\.)[^/@:\s]*:([^/\s]*)@/.exec(text) ?? [];
  // GitHub takes a token in either place.
  const [, user = ''] = /https?:\/\/([^/@:\s]*)(?::[^/\s]*)?@/i.exec(text) ?? [];
  return [...spellingsOf(password), ...(user.length >= MIN_TOKEN_CHARS ? spellingsOf(user) : [])];
}

/** A URL has it percent-encoded. */
function spellingsOf(text: string): readonly string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

/** `Authorization: Basic …`, `PRIVATE-TOKEN: …`; what other headers say is no secret. */
function secretsOfHeader(header: string): readonly string[] {
  const [, scheme = '', secret = ''] =
    /^[^:]*(?:auth|token|key|secret|password)[^:]*:\s*(?:(\S+)\s+)?(\S+)\s*$/i.exec(header) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [secret];
  const decoded = Buffer.from(secret, 'base64').toString();
  return [secret, decoded.slice(decoded.indexOf(':') + 1)];
}

/** A helper that is a script, with the password in it. */
function secretsOfHelper(command: string): readonly string[] {
  return [...command.matchAll(/password=["']?([^\s"';]+)/g)].map(([, password = '']) => password);
}
