import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenapiValidator, type Violation } from '../openapi/validator.ts';
import { personOf } from './accounts.ts';
import { feedbackRoutes } from './feedback/routes-feedback.ts';
import { type LogStorage, startLogStorage } from './feedback/log-storage.ts';
import { createFaults, type FaultEffect, type Faults } from './faults.ts';
import { answerGraphql, graphqlExhausted, findGraphqlViolations } from './graphql/graphql.ts';
import { createRenderer } from './render.ts';
import {
  type GitHubAnswer,
  type Call,
  notFound,
  createRefusal,
  type Route,
  text,
  type TokenIdentity,
} from './route.ts';
import { answerElsewhere } from './routes-elsewhere.ts';
import { commitRoutes } from './routes-commits.ts';
import { issueRoutes } from './routes-issues.ts';
import { pullRoutes } from './routes-pulls.ts';
import { repositoryRoutes } from './routes-repository.ts';
import { settingRoutes } from './routes-settings.ts';
import {
  type CacheShelf,
  createState,
  type GitHubState,
  type Mergeability,
  type Rate,
  shelfOf,
  type StoredPull,
} from './state.ts';

export interface GitHubOptions {
  readonly repository: GitHubState['repository'];
  /** Returns the tips of the git remote's branches by name. */
  readonly branches: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly tokens: Readonly<Record<string, TokenIdentity>>;
  /** Returns a file of the default branch, or null if it does not exist; by default no file exists. */
  readonly textOf?: (path: string) => Promise<string | null>;
  /** Returns whether a pull request can be merged, if the state does not say so; by default it can. */
  readonly mergeable?: (pull: StoredPull) => Promise<Mergeability>;
  /** Returns the first parent of a commit, if the state does not say; by default it has none. */
  readonly parentOf?: (commit: string) => Promise<string | null>;
  /** The bare repository in which commits are made; by default no commits are made. */
  readonly repositoryFolder?: string;
  /** The caches of a cache service; defaults to the state's own list. */
  readonly caches?: CacheShelf;
  /** The base path of REST on an Enterprise server; GraphQL is then at `/api/graphql`. */
  readonly basePath?: '/api/v3';
  readonly now: () => number;
}

interface RecordedRequest {
  readonly method: string;
  /** The path below the base path. */
  readonly path: string;
  readonly query: string;
  readonly body: unknown;
  /** The login of the token, or null for an unknown token. */
  readonly login: string | null;
}

export interface GitHub extends AsyncDisposable {
  readonly url: string;
  readonly state: GitHubState;
  /** Violations of GitHub's own description by requests, and by the stand-in's answers (injected faults aside). */
  readonly violations: readonly Violation[];
  readonly requests: readonly RecordedRequest[];
  readonly faults: Faults;
  readonly logStorage: LogStorage;
}

/**
 * Starts GitHub's REST API for one repository, and the GraphQL that a run uses, on loopback. It is stateful; requests
 * and answers are validated against GitHub's OpenAPI description and GraphQL schema.
 */
export async function startGitHub(options: GitHubOptions): Promise<GitHub> {
  const state = createState(options.repository, options.now());
  const logStorage = await startLogStorage(state);
  const faults = createFaults();
  const validator = createOpenapiValidator();
  const violations: Violation[] = [];
  const requests: RecordedRequest[] = [];

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch((error: unknown) => {
      violations.push({
        where: `${incoming.method ?? ''} ${incoming.url ?? ''}`,
        problem: `broke the stand-in: ${String(error)}`,
      });
      outgoing.destroy();
    });
  });
  const { basePath = '' } = options;
  const url = `${await listen(server)}${basePath}`;
  const render = createRenderer(state, url);

  return {
    url,
    state,
    violations,
    requests,
    faults,
    logStorage,
    async [Symbol.asyncDispose]() {
      await logStorage[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const method = incoming.method ?? 'GET';
    const { pathname, searchParams: query } = new URL(incoming.url ?? '/', url);
    const path = belowBase(pathname);
    const sent = await readBody(incoming);
    const token =
      options.tokens[/^(?:token|bearer) (.+)$/i.exec(incoming.headers.authorization ?? '')?.[1] ?? ''] ?? null;
    requests.push({ method, path, query: query.toString(), body: sent, login: token?.login ?? null });
    violations.push(
      ...(path === '/graphql'
        ? await findGraphqlViolations(text((sent as { readonly query?: unknown } | null)?.query))
        : validator.request(method, path, { query, body: sent })),
    );

    const fault = faults.take(method, path);
    if (fault !== null && suffersBefore(fault, outgoing)) return;
    const answer =
      token === null ? createRefusal(401, 'Bad credentials') : await operate({ method, path, query, sent, token });
    if (path !== '/graphql') violations.push(...validator.response(method, path, answer));
    for (const [name, value] of rateHeaders(path === '/graphql' ? 'graphql' : 'core')) outgoing.setHeader(name, value);
    if (answer.more !== undefined)
      outgoing.setHeader('link', linkHeader(new URL(incoming.url ?? '/', url), answer.more));
    if (fault?.kind === 'cut') cut(outgoing, answer);
    else send(outgoing, fault?.kind === 'lost' ? createRefusal(502, 'Server Error') : answer);
  }

  async function operate(request: {
    readonly method: string;
    readonly path: string;
    readonly query: URLSearchParams;
    readonly sent: unknown;
    readonly token: TokenIdentity;
  }): Promise<GitHubAnswer> {
    const { method, path, query, sent, token } = request;
    if (path === '/rate_limit') return { status: 200, body: render.rate() };
    const isGraphql = method === 'POST' && path === '/graphql';
    if (!isWithinRate(isGraphql ? state.graphqlRate : state.rate))
      return isGraphql ? graphqlExhausted : createRefusal(403, 'API rate limit exceeded for installation ID 1.');

    const call: Omit<Call, 'parameters'> = {
      state,
      render,
      path,
      query,
      body: (sent ?? {}) as Call['body'],
      token,
      viewer: token.kind === 'app' ? { login: token.login, type: 'Bot' } : personOf(state, token.login),
      now: options.now(),
      caches: options.caches ?? shelfOf(state.caches),
      branches: async () => options.branches(),
      mergeable: async (pull) => state.mergeable.get(pull.number) ?? (await options.mergeable?.(pull)) ?? 'MERGEABLE',
      parentOf: async (commit) => state.parents.get(commit) ?? (await options.parentOf?.(commit)) ?? null,
      repositoryFolder: options.repositoryFolder ?? null,
      logStorage: logStorage.url,
      textOf: async (file) => (await options.textOf?.(file)) ?? null,
    };
    if (isGraphql) return answerGraphql({ ...call, parameters: {} });
    const repository = `/repos/${options.repository.owner}/${options.repository.name}`;
    if (!`${path}/`.toLowerCase().startsWith(`${repository}/`.toLowerCase()))
      return answerElsewhere({ ...call, method });
    const found = findRoute(method, path, repository);
    // GitHub answers 404 for anything that a token may not see.
    if (found === null || token.permissions.metadata === undefined) return notFound;
    return mayDo(token, found.route)
      ? found.route.answer({ ...call, parameters: found.parameters })
      : createRefusal(
          403,
          `Resource not accessible by ${token.kind === 'app' ? 'integration' : 'personal access token'}`,
        );
  }

  /** Uses up one request of the rate limit; returns false if none is left. */
  function isWithinRate(rate: Rate): boolean {
    if (options.now() >= rate.resetAt)
      Object.assign(rate, { remaining: rate.limit, resetAt: options.now() + 3_600_000 });
    if (rate.remaining === 0) return false;
    rate.remaining -= 1;
    return true;
  }

  function rateHeaders(resource: 'core' | 'graphql'): readonly (readonly [string, string])[] {
    const { limit, remaining, resetAt } = resource === 'core' ? state.rate : state.graphqlRate;
    const values = { limit, remaining, used: limit - remaining, reset: Math.floor(resetAt / 1000) };
    return [
      ...Object.entries(values).map(([name, value]) => [`x-ratelimit-${name}`, String(value)] as const),
      ['x-ratelimit-resource', resource],
    ];
  }

  /** Removes the base path; a path outside it is returned unchanged and matches no operation. */
  function belowBase(pathname: string): string {
    if (basePath === '') return pathname;
    if (pathname === '/api/graphql') return '/graphql';
    return pathname.startsWith(`${basePath}/`) && pathname !== `${basePath}/graphql`
      ? pathname.slice(basePath.length)
      : `/outside${pathname}`;
  }
}

const routes = [
  ...repositoryRoutes,
  ...commitRoutes,
  ...settingRoutes,
  ...issueRoutes,
  ...pullRoutes,
  ...feedbackRoutes,
].map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:(number|id)/g, '(?<$1>\\d+)').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
}));

function findRoute(
  method: string,
  path: string,
  repository: string,
): { readonly route: Route; readonly parameters: Record<string, string> } | null {
  if (!path.toLowerCase().startsWith(repository.toLowerCase())) return null;
  for (const { route, pattern } of routes) {
    const match = route.method === method ? pattern.exec(path.slice(repository.length)) : null;
    if (match !== null)
      return {
        route,
        parameters: Object.fromEntries(
          Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
        ),
      };
  }
  return null;
}

/** Returns true if the token has a right that the route needs; `write` includes `read`. */
function mayDo(token: TokenIdentity, route: Route): boolean {
  return route.needs.some((right) => {
    const [area, level] = right.split('=') as [keyof TokenIdentity['permissions'], string];
    return token.permissions[area] === level || token.permissions[area] === 'write';
  });
}

/** Applies a fault that replaces the operation; returns false for any other fault. */
function suffersBefore(fault: FaultEffect, outgoing: ServerResponse): boolean {
  if (fault.kind === 'answer') send(outgoing, fault);
  if (fault.kind === 'drop') outgoing.destroy();
  return fault.kind === 'answer' || fault.kind === 'drop' || fault.kind === 'hang';
}

function send(
  outgoing: ServerResponse,
  answer: { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
): void {
  outgoing.statusCode = answer.status;
  // An injected text is sent unchanged, such as a proxy's error page or truncated JSON.
  const isText = typeof answer.body === 'string';
  outgoing.setHeader('content-type', isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(answer.headers ?? {})) outgoing.setHeader(name, value);
  outgoing.end(answer.body === undefined ? undefined : isText ? answer.body : JSON.stringify(answer.body));
}

function cut(outgoing: ServerResponse, answer: GitHubAnswer): void {
  const body = JSON.stringify(answer.body ?? {});
  outgoing.writeHead(answer.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  outgoing.write(body.slice(0, body.length / 2), () => outgoing.destroy());
}

function linkHeader(address: URL, { next, last }: NonNullable<GitHubAnswer['more']>): string {
  const link = (page: number, relation: string) => {
    address.searchParams.set('page', String(page));
    return `<${address.href}>; rel="${relation}"`;
  };
  return [link(next, 'next'), link(last, 'last')].join(', ');
}

/**
 * Returns the parsed body, or undefined if none. Invalid JSON is returned as text, for the validator to
 * reject.
 */
async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
