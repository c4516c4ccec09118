import { inflateRawSync, inflateSync, constants } from 'node:zlib';

/** Of one file: so many members are tried, so much is unpacked, and what is packed in packed content. */
const MOST_MEMBERS = 64;
const MOST_BYTES = 64 * 1024 * 1024;
const DEEPEST = 2;

/** A smaller member holds no secret that is worth its while. */
const SMALLEST = 10;

interface Budget {
  members: number;
  bytes: number;
}

/** What gzip, zlib and ZIP members of `content`, also those in base64, hold. Bounded: what is beyond is left out. */
export function unpackedParts(content: Buffer): readonly Buffer[] {
  const budget: Budget = { members: MOST_MEMBERS, bytes: MOST_BYTES };
  return partsWithin(content, budget, DEEPEST);
}

function partsWithin(content: Buffer, budget: Budget, depth: number): readonly Buffer[] {
  if (depth === 0 || content.length < SMALLEST) return [];
  const parts = [...membersOf(content, budget), ...inBase64(content, budget)];
  return [...parts, ...parts.flatMap((part) => partsWithin(part, budget, depth - 1))];
}

type Unpack = (packed: Buffer, options: { readonly finishFlush: number; readonly maxOutputLength: number }) => Buffer;

const GZIP = Buffer.from([0x1f, 0x8b, 8]);
const ZIP_ENTRY = Buffer.from('PK\u0003\u0004', 'latin1');
const ZLIB_LEVELS = [0x01, 0x5e, 0x9c, 0xda];

function membersOf(content: Buffer, budget: Budget): readonly Buffer[] {
  const parts: Buffer[] = [];
  const take = (start: number, unpack: Unpack): void => {
    const part = tryUnpack(content.subarray(start), unpack, budget);
    if (part !== null) parts.push(part);
  };
  for (const at of indexesOf(content, GZIP, budget)) take(at, gunzip);
  for (const at of indexesOf(content, ZIP_ENTRY, budget)) {
    if (at + 30 <= content.length && content.readUInt16LE(at + 8) === 8)
      take(at + 30 + content.readUInt16LE(at + 26) + content.readUInt16LE(at + 28), inflateRawSync);
  }
  for (const level of ZLIB_LEVELS)
    for (const at of indexesOf(content, Buffer.from([0x78, level]), budget)) take(at, inflateSync);
  // Raw deflate has no mark: it can only be the whole content.
  if (parts.length === 0 && !isText(content)) take(0, inflateRawSync);
  return parts;
}

function* indexesOf(content: Buffer, mark: Buffer, budget: Budget): Iterable<number> {
  for (let at = content.indexOf(mark); at !== -1 && budget.members > 0; at = content.indexOf(mark, at + 1)) yield at;
}

function tryUnpack(packed: Buffer, unpack: Unpack, budget: Budget): Buffer | null {
  if (budget.members <= 0 || budget.bytes <= 0 || packed.length < SMALLEST) return null;
  budget.members -= 1;
  try {
    // A member that is cut off holds what it holds.
    const part = unpack(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: budget.bytes });
    budget.bytes -= part.length;
    return part.length === 0 ? null : part;
  } catch {
    return null;
  }
}

/** Node's own refuses a member that something else follows. */
const gunzip: Unpack = (packed, options) => {
  const flags = packed[3] ?? 0;
  let at = 10;
  if ((flags & 4) !== 0) at += 2 + packed.readUInt16LE(at);
  // A name, and a comment.
  for (const flag of [8, 16]) if ((flags & flag) !== 0) at = packed.indexOf(0, at) + 1;
  if ((flags & 2) !== 0) at += 2;
  return inflateRawSync(packed.subarray(at), options);
};

/** How the marks of gzip and zlib look in base64, and what follows them, over line ends. */
const PACKED_BASE64 = /(?<![\w+/-])(?:H4sI|eJ[wxyz]|eN[o-r])[\w+/-]{12,}(?:(?:\\n|\r?\n[ \t]*)[\w+/-]+)*/g;

function inBase64(content: Buffer, budget: Budget): readonly Buffer[] {
  if (!['H4sI', 'eJ', 'eN'].some((mark) => content.includes(mark))) return [];
  const parts: Buffer[] = [];
  for (const [found] of content.toString('latin1').matchAll(PACKED_BASE64)) {
    if (budget.members <= 0) break;
    const packed = Buffer.from(found.replaceAll('\\n', ''), 'base64');
    const part = tryUnpack(packed, found.startsWith('H4sI') ? gunzip : inflateSync, budget);
    if (part !== null) parts.push(part);
  }
  return parts;
}

function isText(content: Buffer): boolean {
  return !content.subarray(0, 512).some((byte) => byte < 9 || byte > 126);
}
