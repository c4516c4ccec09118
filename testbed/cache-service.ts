import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CacheShelf } from './github/state.ts';

/** One scope of a cache token, as GitHub writes it in the claim `ac`: 1 = read, 2 = write, 3 = both. */
export interface CacheScope {
  readonly Scope: string;
  readonly Permission: number;
}

interface CacheEntry {
  readonly id: number;
  readonly scope: string;
  readonly key: string;
  readonly version: string;
  readonly createdAt: number;
  /** A reserved key can be neither restored nor reserved again. */
  state: 'reserved' | 'complete';
  content: Buffer;
}

export type CacheStep = 'lookup' | 'reserve' | 'upload' | 'finalize' | 'download';

/**
 * A number is the HTTP status of the answer; `corrupt` answers with invalid JSON, or with an archive in which a byte is
 * changed.
 */
export type CacheFault = number | 'hang' | 'drop' | 'corrupt';

export interface CacheService extends AsyncDisposable {
  readonly url: string;
  /** The variables that the runner would give to an action that starts now. */
  readonly env: Readonly<Record<string, string>>;
  /** The entries, oldest first. */
  readonly entries: CacheEntry[];
  /** The complete entries as GitHub's REST API shows and deletes them. */
  readonly shelf: CacheShelf;
  readonly requests: { readonly step: CacheStep; readonly method: string; readonly key: string }[];
  /** The fault of each step, in effect from the moment it is set. */
  readonly faults: Partial<Record<CacheStep, CacheFault>>;
  /** Sets the kind of token that the next run gets; GitHub gives label and comment events a read-only one. */
  setMode(mode: 'read' | 'write'): void;
}

/** GitHub's cache service (v2, twirp over JSON) and its blob store, on loopback and in memory. */
export async function startCacheService(
  options: { readonly scopes?: readonly CacheScope[]; readonly readOnly?: boolean } = {},
): Promise<CacheService> {
  const scopes = options.scopes ?? [{ Scope: 'refs/heads/main', Permission: READ_BIT | WRITE_BIT }];
  const entries: CacheEntry[] = [];
  const requests: CacheService['requests'] = [];
  const faults: CacheService['faults'] = {};
  const blocks = new Map<string, Buffer>();
  let reserved = 0;
  let mode: 'read' | 'write' = options.readOnly === true ? 'read' : 'write';

  const shelf: CacheShelf = {
    list: () =>
      entries
        .filter(({ state }) => state === 'complete')
        .map(({ id, key, scope, version, content, createdAt }) => ({
          id,
          key,
          ref: scope,
          version,
          sizeInBytes: content.length,
          createdAt,
        })),
    remove: ({ id }) =>
      void entries.splice(
        entries.findIndex((entry) => entry.id === id),
        1,
      ),
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;

  return {
    url,
    get env() {
      const granted =
        mode === 'write'
          ? scopes
          : scopes.map(({ Scope, Permission }) => ({ Scope, Permission: Permission & READ_BIT }));
      return {
        ACTIONS_RESULTS_URL: url,
        ACTIONS_CACHE_SERVICE_V2: 'True',
        ACTIONS_RUNTIME_TOKEN: createCacheToken(granted),
        ACTIONS_CACHE_MODE: mode,
        // The library speaks v2 only to github.com, *.ghe.com and *.localhost.
        GITHUB_SERVER_URL: 'http://github.localhost',
      };
    },
    entries,
    shelf,
    requests,
    faults,
    setMode(next) {
      mode = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    respond(request, await readBody(request), response);
  }

  function respond(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const address = new URL(request.url ?? '/', url);
    const step = stepOf(request.method ?? '', address.pathname);
    if (step === null) return answer(response, 404, { code: 'bad_route', msg: `no handler for ${address.pathname}` });
    const message = step === 'upload' || step === 'download' ? {} : (JSON.parse(body.toString('utf8')) as RpcRequest);
    requests.push({ step, method: request.method ?? '', key: message.key ?? address.pathname });

    const fault = faults[step];
    if (fault === 'hang') return;
    if (fault === 'drop' && step !== 'download') {
      request.socket.destroy();
      return;
    }
    if (typeof fault === 'number') return answer(response, fault, { code: 'internal', msg: `fault ${String(fault)}` });
    if (step === 'upload') return upload(address, body, response);
    if (step === 'download') return download(address, request, response);

    if (fault === 'corrupt')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>captive portal</html>');
    const granted = scopesOf(request.headers.authorization);
    if (granted === null)
      return answer(response, 401, { code: 'unauthenticated', msg: 'token is missing or unreadable' });
    if (step === 'lookup') return lookup(message, granted, response);
    if (step === 'reserve') return reserve(message, granted, response);
    return finalize(message, granted, response);
  }

  function lookup(
    { key = '', restore_keys = [], version }: RpcRequest,
    granted: readonly CacheScope[],
    response: ServerResponse,
  ): void {
    const readable = granted.filter(({ Permission }) => Permission & READ_BIT);
    if (readable.length === 0)
      return answer(response, 403, {
        code: 'permission_denied',
        msg: 'cache read denied: token has no readable scopes',
      });
    const newestFirst = entries.filter((entry) => entry.state === 'complete' && entry.version === version).reverse();
    for (const { Scope } of readable) {
      const inScope = newestFirst.filter((entry) => entry.scope === Scope);
      const found =
        inScope.find((entry) => entry.key === key) ??
        [key, ...restore_keys]
          .map((prefix) => inScope.find((entry) => entry.key.startsWith(prefix)))
          .find((entry) => entry !== undefined);
      if (found)
        return answer(response, 200, { ok: true, signed_download_url: blobUrl(found), matched_key: found.key });
    }
    answer(response, 200, { ok: false, signed_download_url: '', matched_key: '' });
  }

  function reserve(
    { key = '', version = '' }: RpcRequest,
    granted: readonly CacheScope[],
    response: ServerResponse,
  ): void {
    const scope = granted.find(({ Permission }) => Permission & WRITE_BIT)?.Scope;
    if (scope === undefined)
      return answer(response, 200, {
        ok: false,
        signed_upload_url: '',
        message: 'cache write denied: token has no writable scopes',
      });
    if (entries.some((entry) => entry.scope === scope && entry.key === key && entry.version === version)) {
      return answer(response, 409, {
        code: 'already_exists',
        msg: 'cache entry with the same key, version, and scope already exists',
      });
    }
    reserved += 1;
    const entry: CacheEntry = {
      id: reserved,
      scope,
      key,
      version,
      createdAt: Date.now(),
      state: 'reserved',
      content: Buffer.alloc(0),
    };
    entries.push(entry);
    answer(response, 200, { ok: true, signed_upload_url: blobUrl(entry), message: '' });
  }

  function finalize(
    { key, version, size_bytes }: RpcRequest,
    granted: readonly CacheScope[],
    response: ServerResponse,
  ): void {
    const scope = granted.find(({ Permission }) => Permission & WRITE_BIT)?.Scope;
    const entry = entries.find(
      (candidate) => candidate.scope === scope && candidate.key === key && candidate.version === version,
    );
    if (entry?.content.length !== Number(size_bytes))
      return answer(response, 200, { ok: false, entry_id: '0', message: 'uploaded size differs' });
    entry.state = 'complete';
    answer(response, 200, { ok: true, entry_id: String(entry.id), message: '' });
  }

  /** Azure's Put Blob, Put Block and Put Block List. */
  function upload(address: URL, body: Buffer, response: ServerResponse): void {
    const entry = entryOf(address);
    if (entry === undefined) return answer(response, 403, { code: 'AuthenticationFailed' });
    const operation = address.searchParams.get('comp');
    if (operation === 'block') {
      blocks.set(`${String(entry.id)}/${address.searchParams.get('blockid') ?? ''}`, body);
    } else if (operation === 'blocklist') {
      const ids = [...body.toString('utf8').matchAll(/<Latest>([^<]*)<\/Latest>/g)].map((match) => match[1] ?? '');
      entry.content = Buffer.concat(ids.map((id) => blocks.get(`${String(entry.id)}/${id}`) ?? Buffer.alloc(0)));
    } else {
      entry.content = faults.upload === 'corrupt' ? corrupted(body) : body;
    }
    const headers = {
      etag: `"${randomUUID()}"`,
      'last-modified': new Date().toUTCString(),
      'x-ms-request-id': randomUUID(),
      'x-ms-version': '2025-01-05',
    };
    response.writeHead(201, headers).end();
  }

  function download(address: URL, request: IncomingMessage, response: ServerResponse): void {
    const entry = entryOf(address);
    if (entry === undefined) return answer(response, 404, { code: 'BlobNotFound' });
    const content = faults.download === 'corrupt' ? corrupted(entry.content) : entry.content;
    response.writeHead(200, { 'content-length': content.length, 'content-type': 'application/octet-stream' });
    if (faults.download !== 'drop') return void response.end(request.method === 'HEAD' ? undefined : content);
    response.write(content.subarray(0, content.length / 2), () => request.socket.destroy());
  }

  function blobUrl(entry: CacheEntry): string {
    return `${url}account/caches/${String(entry.id)}?sig=${randomUUID()}`;
  }

  function entryOf(address: URL): CacheEntry | undefined {
    return entries.find((entry) => address.pathname === `/account/caches/${String(entry.id)}`);
  }
}

interface RpcRequest {
  readonly key?: string;
  readonly restore_keys?: readonly string[];
  readonly version?: string;
  readonly size_bytes?: string;
}

const READ_BIT = 1;
const WRITE_BIT = 2;

/**
 * A token with the form of GitHub's: a JWT whose claim `ac` lists the scopes as JSON text. Its signature is not
 * checked.
 */
export function createCacheToken(scopes: readonly CacheScope[]): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ ac: JSON.stringify(scopes) })}.${encode('sandbox')}`;
}

function scopesOf(authorization: string | undefined): readonly CacheScope[] | null {
  try {
    const claims = Buffer.from(authorization?.replace(/^Bearer /, '').split('.')[1] ?? '', 'base64url').toString(
      'utf8',
    );
    return JSON.parse((JSON.parse(claims) as { ac: string }).ac) as CacheScope[];
  } catch {
    return null;
  }
}

function stepOf(method: string, path: string): CacheStep | null {
  const rpc = /^\/twirp\/github\.actions\.results\.api\.v1\.CacheService\/(\w+)$/.exec(path)?.[1];
  if (rpc === 'GetCacheEntryDownloadURL') return 'lookup';
  if (rpc === 'CreateCacheEntry') return 'reserve';
  if (rpc === 'FinalizeCacheEntryUpload') return 'finalize';
  if (!path.startsWith('/account/caches/')) return null;
  return method === 'PUT' ? 'upload' : 'download';
}

function corrupted(content: Buffer): Buffer {
  const copy = Buffer.from(content);
  const middle = Math.floor(copy.length / 2);
  copy.writeUInt8((copy[middle] ?? 0) ^ 0xff, middle);
  return copy;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
