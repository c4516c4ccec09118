import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openapiValidator, type Violation } from '../openapi/validator.ts';
import { personOf } from './accounts.ts';
import { feedbackRoutes } from './feedback/routes-feedback.ts';
import { type LogStorage, startLogStorage } from './feedback/log-storage.ts';
import { createFaults, type FaultEffect, type Faults } from './faults.ts';
import { answerGraphql, graphqlExhausted, graphqlViolations } from './graphql.ts';
import { createRenderer } from './render.ts';
import { type Answer, type Call, notFound, refusal, type Route, text, type TokenIdentity } from './route.ts';
import { answerElsewhere } from './routes-elsewhere.ts';
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
  /** Tips of the git remote's branches by name. */
  readonly branches: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly tokens: Readonly<Record<string, TokenIdentity>>;
  /** A file of the default branch; null: it is not there. Without it there is none. */
  readonly textOf?: (path: string) => Promise<string | null>;
  /** Whether a pull request can be merged, where the state does not say; without it, it can. */
  readonly mergeable?: (pull: StoredPull) => Promise<Mergeability>;
  /** The first parent of a commit, where the state does not say; without it, it has none. */
  readonly parentOf?: (commit: string) => Promise<string | null>;
  /** A cache service's; without one the state's own list. */
  readonly caches?: CacheShelf;
  /** Where an Enterprise server has its REST API; GraphQL is at `/api/graphql` then. */
  readonly basePath?: '/api/v3';
  readonly now: () => number;
}

interface RecordedRequest {
  readonly method: string;
  /** Below the base path. */
  readonly path: string;
  readonly query: string;
  readonly body: unknown;
  /** Login of the token; null for a token that is not known. */
  readonly login: string | null;
}

export interface GitHub extends AsyncDisposable {
  readonly url: string;
  readonly state: GitHubState;
  /** What GitHub's own description forbids in a request, or in an answer of the stand-in itself (injected faults aside). */
  readonly violations: readonly Violation[];
  readonly requests: readonly RecordedRequest[];
  readonly faults: Faults;
  readonly logStorage: LogStorage;
}

/** GitHub's REST API for one repository, and what a run asks of GraphQL, on loopback: stateful, and judged on both sides by GitHub's OpenAPI description and its GraphQL schema. */
export async function startGitHub(options: GitHubOptions): Promise<GitHub> {
  const state = createState(options.repository, options.now());
  const logStorage = await startLogStorage(state);
  const faults = createFaults();
  const validator = openapiValidator();
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
        ? await graphqlViolations(text((sent as { readonly query?: unknown } | null)?.query))
        : validator.request(method, path, { query, body: sent })),
    );

    const fault = faults.take(method, path);
    if (fault !== null && suffersBefore(fault, outgoing)) return;
    const answer =
      token === null ? refusal(401, 'Bad credentials') : await operate({ method, path, query, sent, token });
    if (path !== '/graphql') violations.push(...validator.response(method, path, answer));
    for (const [name, value] of rateHeaders(path === '/graphql' ? 'graphql' : 'core')) outgoing.setHeader(name, value);
    if (answer.more !== undefined)
      outgoing.setHeader('link', linkHeader(new URL(incoming.url ?? '/', url), answer.more));
    if (fault?.kind === 'cut') cut(outgoing, answer);
    else send(outgoing, fault?.kind === 'lost' ? refusal(502, 'Server Error') : answer);
  }

  async function operate(request: {
    readonly method: string;
    readonly path: string;
    readonly query: URLSearchParams;
    readonly sent: unknown;
    readonly token: TokenIdentity;
  }): Promise<Answer> {
    const { method, path, query, sent, token } = request;
    if (path === '/rate_limit') return { status: 200, body: render.rate() };
    const isGraphql = method === 'POST' && path === '/graphql';
    if (!isWithinRate(isGraphql ? state.graphqlRate : state.rate))
      return isGraphql ? graphqlExhausted : refusal(403, 'API rate limit exceeded for installation ID 1.');

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
      logStorage: logStorage.url,
      textOf: async (file) => (await options.textOf?.(file)) ?? null,
    };
    if (isGraphql) return answerGraphql({ ...call, parameters: {} });
    const repository = `/repos/${options.repository.owner}/${options.repository.name}`;
    if (!`${path}/`.toLowerCase().startsWith(`${repository}/`.toLowerCase()))
      return answerElsewhere({ ...call, method });
    const found = findRoute(method, path, repository);
    // GitHub hides what a token may not see at all.
    if (found === null || token.permissions.metadata === undefined) return notFound;
    return mayDo(token, found.route)
      ? found.route.answer({ ...call, parameters: found.parameters })
      : refusal(403, `Resource not accessible by ${token.kind === 'app' ? 'integration' : 'personal access token'}`);
  }

  /** Uses up one request of what is left. */
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

  /** What is not below the base path stays as it is, and is no operation. */
  function belowBase(pathname: string): string {
    if (basePath === '') return pathname;
    if (pathname === '/api/graphql') return '/graphql';
    return pathname.startsWith(`${basePath}/`) && pathname !== `${basePath}/graphql`
      ? pathname.slice(basePath.length)
      : `/outside${pathname}`;
  }
}

const routes = [...repositoryRoutes, ...settingRoutes, ...issueRoutes, ...pullRoutes, ...feedbackRoutes].map(
  (route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:(number|id)/g, '(?<$1>\\d+)').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
  }),
);

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

/** `write` includes `read`. */
function mayDo(token: TokenIdentity, route: Route): boolean {
  return route.needs.some((right) => {
    const [area, level] = right.split('=') as [keyof TokenIdentity['permissions'], string];
    return token.permissions[area] === level || token.permissions[area] === 'write';
  });
}

/** Whether the fault took the operation's place. */
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
  // An injected text is sent as it is: a proxy's error page, or JSON that stops halfway.
  const isText = typeof answer.body === 'string';
  outgoing.setHeader('content-type', isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(answer.headers ?? {})) outgoing.setHeader(name, value);
  outgoing.end(answer.body === undefined ? undefined : isText ? answer.body : JSON.stringify(answer.body));
}

function cut(outgoing: ServerResponse, answer: Answer): void {
  const body = JSON.stringify(answer.body ?? {});
  outgoing.writeHead(answer.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  outgoing.write(body.slice(0, body.length / 2), () => outgoing.destroy());
}

function linkHeader(address: URL, { next, last }: NonNullable<Answer['more']>): string {
  const link = (page: number, relation: string) => {
    address.searchParams.set('page', String(page));
    return `<${address.href}>; rel="${relation}"`;
  };
  return [link(next, 'next'), link(last, 'last')].join(', ');
}

/** The parsed body; undefined when there is none. Text that is no JSON comes back as text, for the validator to object to. */
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
