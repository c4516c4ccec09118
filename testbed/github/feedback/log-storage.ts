import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32, deflateRawSync } from 'node:zlib';
import type { GitHubState } from '../state.ts';
import { checkRunOf, signatureOf } from './checks.ts';
import type { StoredLog } from './stored.ts';

/** The server where GitHub keeps job logs. It accepts no tokens, only the signature in an address. */
export interface LogStorage extends AsyncDisposable {
  readonly url: string;
  /** The headers of every request so far. */
  readonly requests: readonly IncomingHttpHeaders[];
}

export async function startLogStorage(state: GitHubState): Promise<LogStorage> {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer(({ url = '/', headers }, outgoing) => {
    requests.push(headers);
    const { pathname, searchParams } = new URL(url, 'http://storage');
    const found = checkRunOf(state, Number(/^\/logs\/(\d+)$/.exec(pathname)?.[1]));
    if (found === null || searchParams.get('sig') !== signatureOf(found.run)) outgoing.writeHead(403).end();
    else sendLog(outgoing, found.run.log);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendLog(outgoing: ServerResponse, log: StoredLog): void {
  if (log.kind === 'expired') return void outgoing.writeHead(404).end();
  const content = Buffer.from(log.content);
  if (log.kind === 'never-ends') return void outgoing.writeHead(200, { 'content-type': 'text/plain' }).write(content);
  if (log.kind === 'zip')
    return void outgoing.writeHead(200, { 'content-type': 'application/zip' }).end(zipOf(content));
  outgoing.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  if (log.kind === 'endless') repeat(outgoing, content);
  else outgoing.end(content);
}

/** Sends the content again and again for as long as the client reads. */
function repeat(outgoing: ServerResponse, content: Buffer): void {
  while (!outgoing.destroyed && outgoing.write(content));
  if (!outgoing.destroyed) outgoing.once('drain', () => repeat(outgoing, content));
}

/** Returns a zip archive of one file. Its header contains sizes, but a reader must not rely on them. */
export function zipOf(content: Buffer): Buffer {
  const name = Buffer.from('0_test.txt');
  const packed = deflateRawSync(content);
  const about = Buffer.alloc(26);
  about.writeUInt16LE(20, 0);
  about.writeUInt16LE(8, 4);
  about.writeUInt32LE(crc32(content), 10);
  about.writeUInt32LE(packed.length, 14);
  about.writeUInt32LE(content.length, 18);
  about.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), about, name, packed]);
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), about, Buffer.alloc(14), name]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, entry, end]);
}
