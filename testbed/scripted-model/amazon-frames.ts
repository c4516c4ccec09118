import { crc32 } from 'node:zlib';

const frameHeaders = Buffer.concat(
  Object.entries({ ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }).flatMap(
    ([name, value]) => [
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, 0, value.length]),
      Buffer.from(value),
    ],
  ),
);

/**
 * Encodes one event in Amazon's framing: lengths, their checksum, headers, JSON with the event in base64, checksum of
 * the whole frame.
 */
export function encodeEventFrame(event: object): Buffer {
  const payload = Buffer.from(
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' }),
  );
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(16 + frameHeaders.length + payload.length, 0);
  lengths.writeUInt32BE(frameHeaders.length, 4);
  const begin = Buffer.concat([lengths, checksum(lengths), frameHeaders, payload]);
  return Buffer.concat([begin, checksum(begin)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
