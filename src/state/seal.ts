import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, deflate, inflate } from 'node:zlib';
import { MAX_SESSION_BYTES } from '../core/lane/state/state.ts';
import type { Seal, Sealed } from '../ports/state.ts';

export interface SealOptions {
  /** The agent's credential, or null if there is no credential. */
  readonly credential: string | null;
  /** The repository as `owner/name`: content sealed for one repository cannot be opened in another. */
  readonly repository: string;
}

/**
 * Maximum size of sealed content in bytes: content that cannot be compressed grows by the frame and a few bytes for
 * each block of the compression.
 */
export const MAX_CLOSED_BYTES = MAX_SESSION_BYTES + 64 * 1024;

/** Creates a seal with the agent's credential as the key: AES-256-GCM for transcripts, HMAC-SHA256 for signatures. */
export function createSeal({ credential, repository }: SealOptions): Seal {
  return {
    close: async (content, of) => {
      if (credential === null) return null;
      const frame = { salt: randomBytes(SALT_BYTES), nonce: randomBytes(NONCE_BYTES) };
      const packed = await promisify(deflate)(content, { level: constants.Z_BEST_SPEED });
      const closed = encryptContent(packed, {
        key: transcriptKeyOf(credential, of, frame.salt),
        context: contextOf(of),
        ...frame,
      });
      return { sha256: createHash('sha256').update(closed).digest('hex'), content: closed };
    },
    open: async (content, of) => {
      if (credential === null || content.length > MAX_CLOSED_BYTES) return { kind: 'refused' };
      try {
        const salt = content.subarray(MAGIC.length, MAGIC.length + SALT_BYTES);
        const packed = decrypt(content, { key: transcriptKeyOf(credential, of, salt), context: contextOf(of) });
        // Limit the size, because a few bytes may unfold to gigabytes.
        return { kind: 'opened', content: await promisify(inflate)(packed, { maxOutputLength: MAX_SESSION_BYTES }) };
      } catch {
        return { kind: 'refused' };
      }
    },
    sign: (text) =>
      credential === null
        ? null
        : createHmac('sha256', derive(credential, Buffer.from(repository), 'ralph copy v1'))
            .update(text)
            .digest('hex'),
  };

  function transcriptKeyOf(secret: string, of: Sealed, salt: Uint8Array): Buffer {
    return derive(secret, Buffer.concat([salt, contextOf(of)]), 'ralph transcript v1');
  }

  function contextOf({ lane, sessionId }: Sealed): Buffer {
    return Buffer.from(JSON.stringify([repository, lane, sessionId]));
  }
}

/** Combines seals: the first one closes, and all of them can open, because the order of the agents may have changed. */
export function combineSeals([first, ...others]: readonly Seal[]): Seal {
  if (first === undefined) throw new Error('there is no seal');
  return {
    ...first,
    open: async (content, of) => {
      for (const seal of [first, ...others]) {
        const opened = await seal.open(content, of);
        if (opened.kind === 'opened') return opened;
      }
      return { kind: 'refused' };
    },
  };
}

/** The format and version at the start of sealed content; salt and nonce follow, and the tag comes last. */
const MAGIC = Buffer.from('RALPHTR\u0001');
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MAGIC.length + SALT_BYTES + NONCE_BYTES;

interface Key {
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /** Data that is bound to the content but not stored with it. */
  readonly context: Uint8Array;
}

/** Encrypts content with AES-256-GCM; the head and the context are bound to the content. */
export function encryptContent(
  content: Uint8Array,
  { key, context, salt, nonce }: Key & { readonly salt: Uint8Array; readonly nonce: Uint8Array },
): Buffer {
  const head = Buffer.concat([MAGIC, salt, nonce]);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.concat([head, context]));
  return Buffer.concat([head, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the result of `encryptContent`; throws if the key or the context differs, or a byte has changed. */
function decrypt(closed: Uint8Array, { key, context }: Key): Buffer {
  const head = closed.subarray(0, HEAD_BYTES);
  if (closed.length < HEAD_BYTES + TAG_BYTES || MAGIC.compare(head, 0, MAGIC.length) !== 0)
    throw new Error('it is not a closed transcript of this version');
  const nonce = head.subarray(MAGIC.length + SALT_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.concat([head, context]))
    .setAuthTag(closed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(closed.subarray(HEAD_BYTES, -TAG_BYTES)), decipher.final()]);
}

/** Derives a key for a purpose; one round is enough because the credential is long and random. */
function derive(credential: string, salt: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', credential, salt, purpose, 32));
}
