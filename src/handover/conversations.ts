import { z } from 'zod';
import { AGENT_NAMES, type AgentName } from '../core/agent-names.ts';
import { MAX_SESSION_BYTES } from '../core/lane/state/state.ts';
import { tryJson } from '../core/text/try-json.ts';

/** An agent's encrypted transcript. */
export interface SealedPart {
  readonly agent: AgentName;
  readonly content: Uint8Array;
}

/** The first bytes of a file with several transcripts; a single transcript begins with its own. */
const MAGIC = new TextEncoder().encode('RALPHTS\u0001');
/** Size of the head in bytes: the magic bytes, then the size of the list of parts. */
const HEAD_BYTES = MAGIC.length + 4;
const MAX_LIST_BYTES = 4096;

const listSchema = z
  .array(z.object({ agent: z.enum(AGENT_NAMES), bytes: z.number().int().min(0) }))
  .max(AGENT_NAMES.length);

/**
 * Packs encrypted transcripts into one file. Earlier ones in the list take precedence if there is no room for all. A
 * single transcript is stored as it is, as in earlier versions.
 */
export function packTranscripts(parts: readonly SealedPart[]): Uint8Array | null {
  const [first] = parts;
  if (first === undefined) return null;
  const kept = parts.filter((_, at) => at === 0 || sizeOf(parts.slice(0, at + 1)) <= MAX_SESSION_BYTES);
  if (kept.length === 1) return first.content;
  const list = new TextEncoder().encode(
    JSON.stringify(kept.map(({ agent, content }) => ({ agent, bytes: content.length }))),
  );
  const file = new Uint8Array(HEAD_BYTES + list.length + sizeOf(kept));
  file.set(MAGIC);
  new DataView(file.buffer).setUint32(MAGIC.length, list.length);
  file.set(list, HEAD_BYTES);
  let at = HEAD_BYTES + list.length;
  for (const { content } of kept) {
    file.set(content, at);
    at += content.length;
  }
  return file;
}

/**
 * Returns an agent's part of a file, or null if none. A single transcript may belong to any agent, but opens
 * only for its own conversation.
 */
export function pickSealedTranscript(file: Uint8Array, agent: AgentName): Uint8Array | null {
  if (!MAGIC.every((byte, at) => file[at] === byte)) return file;
  if (file.length < HEAD_BYTES) return null;
  const listBytes = new DataView(file.buffer, file.byteOffset).getUint32(MAGIC.length);
  if (listBytes > MAX_LIST_BYTES) return null;
  const list = listSchema.safeParse(
    tryJson(new TextDecoder().decode(file.subarray(HEAD_BYTES, HEAD_BYTES + listBytes))),
  );
  if (!list.success) return null;
  let at = HEAD_BYTES + listBytes;
  for (const part of list.data) {
    if (part.agent === agent) return at + part.bytes <= file.length ? file.subarray(at, at + part.bytes) : null;
    at += part.bytes;
  }
  return null;
}

function sizeOf(parts: readonly SealedPart[]): number {
  return parts.reduce((sum, { content }) => sum + content.length, 0);
}
