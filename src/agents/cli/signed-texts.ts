import { randomUUID } from 'node:crypto';
import { mapTexts } from '../../core/text/redact.ts';
import { asObject, type JsonObject } from '../reading/json-value.ts';

/** The functions that find and hide secrets in a transcript. */
export interface TranscriptRedaction {
  /** Hides known secrets, and texts that look like a key. */
  readonly redact: (text: string) => string;
  /**
   * Returns true if a text contains a known secret, and not only a random match of a key pattern, as in signatures.
   * Without this function, both are treated as secrets.
   */
  readonly holdsSecret?: (text: string) => boolean;
}

/**
 * An entry without secrets, as JSON. `unchanged`: it contains no secret. `signed`: a secret is in content that its
 * provider signed or encrypted, which must not change.
 */
export type HiddenEntry =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'changed'; readonly json: string }
  | { readonly kind: 'signed' };

/**
 * Hides secrets in an entry of a transcript, text by text and once more as a whole, since an agent may choose the names
 * of properties. Signed or encrypted content stays as it is: the provider refuses a session if one byte of it differs.
 * Throws a RangeError for entries that are nested too deeply.
 */
export function hideSecrets(entry: JsonObject, { redact, holdsSecret }: TranscriptRedaction): HiddenEntry {
  const signed: string[] = [];
  const mark = randomUUID();
  const found = { secret: false };
  const masked = mask(entry, '', false);
  if (found.secret) return { kind: 'signed' };
  let changes = 0;
  const texts = mapTexts(masked, (text) => {
    const rest = redact(text);
    if (rest !== text) changes += 1;
    return rest;
  });
  const json = JSON.stringify(texts);
  const whole = redact(json);
  if (changes === 0 && whole === json) return { kind: 'unchanged' };
  const restored = whole.replaceAll(new RegExp(`"${mark}-(\\d+)"`, 'g'), (_, at: string) =>
    JSON.stringify(signed[Number(at)]),
  );
  return { kind: 'changed', json: restored };

  function mask(data: unknown, key: string, isSignedBlock: boolean): unknown {
    if (typeof data === 'string') return isSignedBlock || isSignedKey(key, data) ? replaceSigned(data, key) : data;
    if (Array.isArray(data)) return data.map((item) => mask(item, key, isSignedBlock));
    const object = asObject(data);
    if (object === null) return data;
    const isSigned = isSignedBlock || isSignedThought(object);
    return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, mask(value, name, isSigned)]));
  }

  function replaceSigned(text: string, key: string): string {
    const isOpaque = isSignedKey(key, text) || key === 'data';
    found.secret ||= isOpaque && holdsSecret !== undefined ? holdsSecret(text) : redact(text) !== text;
    signed.push(text);
    return `${mark}-${String(signed.length - 1)}`;
  }
}

/**
 * Returns true if a field is a signature: `signature`, `thoughtSignature`, `encrypted_content`,
 * `reasoningEncryptedContent`, `reasoningOpaque`, …, without blanks, which a text of that name has.
 */
function isSignedKey(key: string, text: string): boolean {
  return /signature|encrypted|opaque/i.test(key) && !/\s/.test(text);
}

/** Returns true if a block is a thought whose words are signed as well, or that is encrypted as a whole. */
function isSignedThought(block: JsonObject): boolean {
  const { type } = block;
  if (type === 'redacted_thinking') return true;
  return (type === 'thinking' || type === 'reasoning') && holdsSignature(block, 4);
}

function holdsSignature(data: unknown, depth: number): boolean {
  const object = asObject(data);
  if (object === null || depth === 0) return false;
  return Object.entries(object).some(
    ([key, value]) =>
      (typeof value === 'string' && value !== '' && /signature$/i.test(key)) || holdsSignature(value, depth - 1),
  );
}
