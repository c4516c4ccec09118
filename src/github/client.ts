import type { Octokit } from '@octokit/rest';
import { UserError } from '../errors.ts';
import type { Account, Forge, Permission, RequestsSent } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import { withNamedWait } from '../ports/waits.ts';
import { explainError, type RequestFacts, type RequestPurpose, readHttpStatus } from './errors.ts';
import { parseGraphqlAnswer, isServerFailure, isTooLarge } from './graphql/errors.ts';
import { fetchFor } from './proxied-fetch.ts';

export type { Octokit };

export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

export interface ForgeOptions extends RequestFacts {
  readonly repository: RepositoryName;
  /** The first words of the User-Agent header, which name the client. */
  readonly userAgent: string;
  readonly log: Log;
  /** Receives messages for debugging; without this function they are dropped. */
  readonly debug?: (text: string) => void;
  /** Time limits and pauses, which tests shorten. */
  readonly pace?: RequestPace;
}

/**
 * Time limits and pauses. `requestMs`: limit of one attempt. `secondMs`: length of the second in which pauses before a
 * retry are counted. `retries`: number of retries after a server error or a broken connection, 1 and 4 seconds later;
 * with 0, there is also no retry after a pause that GitHub asks for. `outageMs`: a server that has not answered for
 * this long gets one short attempt for each further request, until it answers again. `downloadMs`: limit of a file that
 * GitHub keeps elsewhere.
 */
export interface RequestPace {
  readonly requestMs: number;
  readonly secondMs: number;
  readonly retries: number;
  readonly outageMs: number;
  readonly downloadMs: number;
}

/**
 * The usual pace. GitHub ends a request after 10 seconds; an outage costs a run about that time, and not once per
 * request.
 */
export const usualPace: RequestPace = {
  requestMs: 12_000,
  secondMs: 1000,
  retries: 2,
  outageMs: 10_000,
  downloadMs: 30_000,
};

/** Share of `requestMs` that an attempt gets during an outage. */
const SHARE_IN_OUTAGE = 1 / 6;

/** A client of the API. Throws each refusal of GitHub as a UserError that explains it in terms of `purpose`. */
export interface Client {
  ask<T>(purpose: RequestPurpose, call: (octokit: Octokit, at: RepositoryName) => Promise<T>): Promise<T>;
  requests(): RequestsSent;
}

/** Creates a client that loads Octokit at the first call, so that a run without API calls does not pay for it. */
export function createClient(options: ForgeOptions): Client {
  let requests: RequestsSent = { sent: 0, limit: null, remaining: null, resetAt: null };
  const meter: Meter = {
    onRequest: () => (requests = { ...requests, sent: requests.sent + 1 }),
    onAnswer: ({ headers }) => (requests = { ...requests, ...restBudget(headers) }),
  };
  let connected: Promise<Octokit> | undefined;
  return {
    async ask(purpose, call) {
      try {
        return await withNamedWait(`GitHub, to ${purpose.doing}`, async () => {
          connected ??= connect(options, meter);
          return call(await connected, options.repository);
        });
      } catch (error) {
        throw explainError(error, purpose, options);
      }
    },
    requests: () => requests,
  };
}

/** Callbacks for counting: one for each attempt, one for each answer of GitHub. */
interface Meter {
  readonly onRequest: () => void;
  readonly onAnswer: (answer: Response) => void;
}

/**
 * The record of whether the server has failed for longer than a retry can bridge. All requests of a run share it, so
 * that only the first of them waits.
 */
interface Outage {
  /** Records a failed attempt that began at `startedAt`, in ms. */
  readonly failed: (startedAt: number) => void;
  readonly answered: () => void;
  readonly isLong: () => boolean;
}

function watchOutage(now: () => number, { outageMs }: RequestPace): Outage {
  let since: number | null = null;
  return {
    failed: (startedAt) => {
      since ??= startedAt;
    },
    answered: () => {
      since = null;
    },
    isLong: () => since !== null && now() - since >= outageMs,
  };
}

/**
 * Returns the REST budget that an answer states. GraphQL has its own budget, and an Enterprise server may have none.
 */
function restBudget(headers: Headers): Partial<RequestsSent> {
  const header = (name: string): number => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
  const budget = { limit: header('limit'), remaining: header('remaining'), resetAt: header('reset') * 1000 };
  return (headers.get('x-ratelimit-resource') ?? 'core') === 'core' && Object.values(budget).every(Number.isSafeInteger)
    ? budget
    : {};
}

/** Maximum pause that GitHub's secondary limit may impose; a longer one ends the run, because waiting costs money. */
const MAX_PAUSE_SECONDS = 60;

async function connect(
  { token, apiUrl, userAgent, log, now, pace = usualPace }: ForgeOptions,
  meter: Meter,
): Promise<Octokit> {
  // Refuse a line break, because fetch fails on it with a message that quotes the token.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UserError(
      'configuration',
      'The GitHub token is empty, or contains a space or a line break, which no token has. Set the input `github-token` to the bare token.',
    );
  }
  const [{ Octokit }, { retry }, { throttling }, send] = await Promise.all([
    import('@octokit/rest'),
    import('@octokit/plugin-retry'),
    import('@octokit/plugin-throttling'),
    fetchFor(apiUrl),
  ]);
  const outage = watchOutage(now, pace);
  const mayPause = (limit: string, ...[retryAfter, , , retryCount]: AskedPause): boolean => {
    const again = pace.retries > 0 && retryCount === 0 && retryAfter <= MAX_PAUSE_SECONDS;
    if (again) log.info(`GitHub asks for a pause of ${String(retryAfter)} s (${limit} rate limit).`);
    return again;
  };
  const octokit = new (Octokit.plugin(retry, throttling))({
    auth: token,
    baseUrl: apiUrl,
    userAgent,
    log: { debug: silent, info: silent, warn: (text: string) => log.info(text), error: silent },
    request: { fetch: bounded(send, { limitMs: pace.requestMs, now, outage }, meter) },
    // Do not retry these statuses: the throttling plugin handles 403 and 429, and for the others a retry does not help.
    retry: {
      retries: pace.retries,
      retryAfterBaseValue: pace.secondMs,
      doNotRetry: [400, 401, 403, 404, 410, 422, 429, 451],
    },
    throttle: {
      ...unspaced,
      retryAfterBaseValue: pace.secondMs,
      fallbackSecondaryRateRetryAfter: MAX_PAUSE_SECONDS,
      // Searches are limited per minute, all other requests per hour.
      onRateLimit: (...asked: AskedPause) => asked[1].url.startsWith('/search/') && mayPause('search', ...asked),
      onSecondaryRateLimit: (...asked: AskedPause) => mayPause('secondary', ...asked),
    },
  });
  // Define a getter, because the plugin reads the number only after a failed attempt.
  octokit.hook.before('request', (options) => {
    const given = Object.getOwnPropertyDescriptor(options.request, 'retries');
    // A second attempt already has the getter from the first one, so leave it.
    if (given?.get !== undefined) return;
    const retries = given?.value as number | undefined;
    Object.defineProperty(options.request, 'retries', {
      // Return only one of these two numbers: the plugin would retry all statuses with any other number.
      get: () => (outage.isLong() ? 0 : retries),
      enumerable: true,
      configurable: true,
    });
  });
  return octokit;
}

type AskedPause = readonly [seconds: number, request: { readonly url: string }, octokit: unknown, retries: number];

const silent = () => undefined;

/**
 * A queue that runs every job at once. The plugin's own queues leave 1 to 3 seconds between writes, which helps clients
 * that write in bulk; a run writes only a few times, one after another.
 */
const queue = { key: () => ({ schedule: (_job: unknown, turn: () => unknown) => turn() }) };

const unspaced = { write: queue, notifications: queue } as object;

/**
 * Returns `send` with a time limit for the whole answer. Treats an answer that is cut off, or is not JSON although it
 * claims success (a proxy's page), as a broken connection; Octokit alone would treat it as an empty answer.
 */
function bounded(
  send: typeof fetch,
  { limitMs, now, outage }: { readonly limitMs: number; readonly now: () => number; readonly outage: Outage },
  { onRequest, onAnswer }: Meter,
): typeof fetch {
  const attempt: typeof fetch = async (input, init) => {
    onRequest();
    const isRead = (init?.method ?? 'GET') === 'GET';
    const answer = await send(input, {
      ...init,
      ...(isRead ? {} : { redirect: 'manual' as const }),
      signal: AbortSignal.timeout(outage.isLong() ? Math.ceil(limitMs * SHARE_IN_OUTAGE) : limitMs),
    });
    const response = answer.status >= 300 && answer.status < 400 && !isRead ? movedAway(answer.headers) : answer;
    onAnswer(response);
    const body = await response.clone().text();
    if (response.ok && response.status !== 204) return withoutHiddenFailure(response, JSON.parse(body));
    return response;
  };
  return async (input, init) => {
    const startedAt = now();
    try {
      const response = await attempt(input, init);
      if (response.status >= 500) outage.failed(startedAt);
      else outage.answered();
      return response;
    } catch (error) {
      outage.failed(startedAt);
      throw error;
    }
  };
}

/**
 * Turns a GraphQL answer with status 200 and without data, which means that the servers failed, into status 502, so
 * that it is retried. Leaves the answer to a query that is too large, because a retry would fail again.
 */
function withoutHiddenFailure(response: Response, body: unknown): Response {
  const { data = null, errors = [] } = parseGraphqlAnswer(body);
  if (errors.length === 0 || hasData(data) || !errors.every(isServerFailure) || errors.some(isTooLarge))
    return response;
  return Response.json({ message: errors[0]?.message ?? '', errors }, { status: 502 });
}

/** Returns true if a field of the data has content, so not if all fields are null. */
function hasData(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.values(data).some((field) => field !== null);
}

/**
 * Returns a refusal for a write that was redirected. A transferred issue leads to another repository, where reads are
 * harmless but writes are not allowed.
 */
function movedAway(headers: Headers): Response {
  return Response.json(
    { message: 'This issue was transferred, or the repository was renamed.' },
    { status: 410, headers },
  );
}

type AccountMethods = Pick<Forge, 'account' | 'permissionOf'>;

/** Creates lookups of accounts and of their permissions in the repository; each is requested once per run. */
export function createAccountLookups({ ask }: Client): AccountMethods {
  return {
    account: onceEach((login) =>
      ask({ doing: `look for the account ${login}`, needs: ['metadata: read'] }, async (octokit) => {
        try {
          const { data } = await octokit.rest.users.getByUsername({ username: login });
          return toAccount({ __typename: data.type, login: data.login, databaseId: data.id });
        } catch (error) {
          if (readHttpStatus(error) === 404) return null;
          throw error;
        }
      }),
    ),

    permissionOf: onceEach((login) =>
      ask({ doing: `read the permission of ${login}`, needs: ['contents: read'] }, async (octokit, at) => {
        try {
          const { permission, role_name: role } = (
            await octokit.rest.repos.getCollaboratorPermissionLevel({ ...at, username: login })
          ).data;
          return (
            permissions.find((known) => known === role) ?? permissions.find((known) => known === permission) ?? 'none'
          );
        } catch (error) {
          if (readHttpStatus(error) === 404) return 'none';
          throw error;
        }
      }),
    ),
  };
}

/** An account as GraphQL describes it, for queries with `ACCOUNT_FRAGMENT`. */
export interface Actor {
  readonly __typename: string;
  readonly login: string;
  readonly databaseId?: number | null;
}

export const ACCOUNT_FRAGMENT =
  'fragment Account on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }';

/**
 * Returns an account as REST describes it: there the login of an app's bot ends in `[bot]`, which GraphQL leaves out.
 * Returns null unless the account is a user or a bot, because the placeholder of an import (Mannequin) may have the
 * login of another person.
 */
export function toAccount(actor: Actor | null): Account | null {
  if (actor === null) return null;
  const { __typename: type, login, databaseId: id = null } = actor;
  if (type === 'Bot') return { login: login.endsWith('[bot]') ? login : `${login}[bot]`, id, kind: 'bot' };
  return type === 'User' ? { login, id, kind: 'user' } : null;
}

/** All permissions. GitHub's `permission` never says maintain or triage; `role_name` may be a custom role. */
const permissions: readonly Permission[] = ['admin', 'maintain', 'write', 'triage', 'read', 'none'];

/** Remembers answers, but not failures. Logins are compared without case. */
function onceEach<T>(find: (login: string) => Promise<T>): (login: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (login) => {
    const key = login.toLowerCase();
    const answer = known.get(key) ?? find(login);
    known.set(key, answer);
    answer.catch(() => known.delete(key));
    return answer;
  };
}
