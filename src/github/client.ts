import type { Octokit } from '@octokit/rest';
import { UserError } from '../errors.ts';
import type { Account, Forge, Permission, RequestsSent } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import { explainError, type Purpose, statusOf, type TokenSource } from './errors.ts';
import { graphqlAnswerIn, isGraphqlWeather, isTooLarge } from './graphql/weather.ts';
import { fetchFor } from './proxied-fetch.ts';

export type { Octokit };

export interface RepositoryName {
  readonly owner: string;
  readonly repo: string;
}

export interface ForgeOptions {
  readonly token: string;
  readonly tokenFrom: TokenSource;
  /** Without a slash at the end; `https://api.github.com`, or `https://HOST/api/v3` of an Enterprise server. */
  readonly apiUrl: string;
  readonly repository: RepositoryName;
  /** Who asks, as the first words of the header. */
  readonly userAgent: string;
  readonly log: Log;
  /** For what matters to nobody but who looks for a fault; without it, that is not said. */
  readonly debug?: (text: string) => void;
  readonly now: () => number;
  /** Tests shorten what a person would wait for. */
  readonly pace?: Pace;
}

/**
 * `requestMs`: limit of one attempt. `secondMs`: length of the second in which pauses before a retry are counted. `retries` after
 * a server error or a broken connection, 1 and 4 seconds later; 0: nor after a pause that GitHub asks for. `outageMs`: a server
 * that has not answered for so long is asked once by each further request, and briefly, until it answers again. `downloadMs`: limit
 * of a file that GitHub keeps elsewhere.
 */
export interface Pace {
  readonly requestMs: number;
  readonly secondMs: number;
  readonly retries: number;
  readonly outageMs: number;
  readonly downloadMs: number;
}

/** GitHub itself ends a request after 10 seconds. An outage costs a run about as long, and not once for each thing it asks. */
export const usualPace: Pace = { requestMs: 12_000, secondMs: 1000, retries: 2, outageMs: 10_000, downloadMs: 30_000 };

/** Of `requestMs`, what an attempt gets while the server is out. */
const SHARE_IN_OUTAGE = 1 / 6;

/** Talks to the API; whatever GitHub refuses comes out as a UserError that says so in terms of `purpose`. */
export interface Client {
  ask<T>(purpose: Purpose, call: (octokit: Octokit, at: RepositoryName) => Promise<T>): Promise<T>;
  requests(): RequestsSent;
}

/** Loads Octokit at the first call: a run that needs no API does not pay for it. */
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
        connected ??= connect(options, meter);
        return await call(await connected, options.repository);
      } catch (error) {
        throw explainError(error, purpose, options);
      }
    },
    requests: () => requests,
  };
}

/** Hears of each attempt, and of what GitHub said with its answer. */
interface Meter {
  readonly onRequest: () => void;
  readonly onAnswer: (answer: Response) => void;
}

/** Whether the server has failed for longer than a retry can bridge. All requests of a run share it: what one has waited for, the next need not wait for again. */
interface Outage {
  /** `startedAt`: of the attempt. */
  readonly failed: (startedAt: number) => void;
  readonly answered: () => void;
  readonly isLong: () => boolean;
}

function watchOutage(now: () => number, { outageMs }: Pace): Outage {
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

/** What an answer says of the budget of REST; GraphQL has one of its own, and an Enterprise server may have none. */
function restBudget(headers: Headers): Partial<RequestsSent> {
  const header = (name: string): number => Number(headers.get(`x-ratelimit-${name}`) ?? NaN);
  const budget = { limit: header('limit'), remaining: header('remaining'), resetAt: header('reset') * 1000 };
  return (headers.get('x-ratelimit-resource') ?? 'core') === 'core' && Object.values(budget).every(Number.isSafeInteger)
    ? budget
    : {};
}

/** The longest pause that GitHub's secondary limit may impose; beyond it the run ends, as a waiting job costs money. */
const LONGEST_PAUSE_SECONDS = 60;

async function connect(
  { token, apiUrl, userAgent, log, now, pace = usualPace }: ForgeOptions,
  meter: Meter,
): Promise<Octokit> {
  // A line break in a header value makes fetch fail with a message that quotes the token.
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
  const octokit = new (Octokit.plugin(retry, throttling))({
    auth: token,
    baseUrl: apiUrl,
    userAgent,
    log: { debug: silent, info: silent, warn: (text: string) => log.info(text), error: silent },
    request: { fetch: bounded(send, { limitMs: pace.requestMs, now, outage }, meter) },
    // 403 and 429 are the throttling plugin's; the others will not get better by asking again.
    retry: {
      retries: pace.retries,
      retryAfterBaseValue: pace.secondMs,
      doNotRetry: [400, 401, 403, 404, 410, 422, 429, 451],
    },
    throttle: {
      ...unspaced,
      retryAfterBaseValue: pace.secondMs,
      fallbackSecondaryRateRetryAfter: LONGEST_PAUSE_SECONDS,
      onRateLimit: () => false,
      onSecondaryRateLimit: (...[retryAfter, , , retryCount]: readonly [number, unknown, unknown, number]) => {
        const again = pace.retries > 0 && retryCount === 0 && retryAfter <= LONGEST_PAUSE_SECONDS;
        if (again) log.info(`GitHub asks for a pause of ${String(retryAfter)} s (secondary rate limit).`);
        return again;
      },
    },
  });
  // Asked when an attempt has failed, not when it is made.
  octokit.hook.before('request', (options) => {
    const given = Object.getOwnPropertyDescriptor(options.request, 'retries');
    // A second attempt comes by with what the first one was given here.
    if (given?.get !== undefined) return;
    const retries = given?.value as number | undefined;
    Object.defineProperty(options.request, 'retries', {
      // Any number but 0 would also have those asked again that are never to be.
      get: () => (outage.isLong() ? 0 : retries),
      enumerable: true,
      configurable: true,
    });
  });
  return octokit;
}

const silent = () => undefined;

/** The plugin keeps 1 to 3 seconds between writes, for clients that write in bulk; a run writes a handful of times, one after another. Its queues do no more than this for us. */
const queue = { key: () => ({ schedule: (_job: unknown, turn: () => unknown) => turn() }) };

const unspaced = { write: queue, notifications: queue } as object;

/**
 * `send` with a time limit for the whole answer. An answer that is cut off, or is no JSON where it claims success
 * (a proxy's page), counts as a broken connection: Octokit alone would take it for an empty one.
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

/** GraphQL says 200 also where its servers failed: an answer without data is a failed one, which is asked for again. One that is too large is not: it would fail again. */
function withoutHiddenFailure(response: Response, body: unknown): Response {
  const { data = null, errors = [] } = graphqlAnswerIn(body);
  if (errors.length === 0 || hasData(data) || !errors.every(isGraphqlWeather) || errors.some(isTooLarge))
    return response;
  return Response.json({ message: errors[0]?.message ?? '', errors }, { status: 502 });
}

/** False also where nothing but empty fields came. */
function hasData(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.values(data).some((field) => field !== null);
}

/** A transferred issue leads to another repository, where a read may look but nothing must be written. */
function movedAway(headers: Headers): Response {
  return Response.json(
    { message: 'This issue was transferred, or the repository was renamed.' },
    { status: 410, headers },
  );
}

type AccountMethods = Pick<Forge, 'account' | 'permissionOf'>;

/** Who somebody is, and what they may do in the repository. Each is asked once a run. */
export function createAccounts({ ask }: Client): AccountMethods {
  return {
    account: onceEach((login) =>
      ask({ doing: `look for the account ${login}`, needs: ['metadata: read'] }, async (octokit) => {
        try {
          const { data } = await octokit.rest.users.getByUsername({ username: login });
          return toAccount({ __typename: data.type, login: data.login, databaseId: data.id });
        } catch (error) {
          if (statusOf(error) === 404) return null;
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
          if (statusOf(error) === 404) return 'none';
          throw error;
        }
      }),
    ),
  };
}

/** Somebody as GraphQL names them, for queries that hold `accountFragment`. */
export interface Actor {
  readonly __typename: string;
  readonly login: string;
  readonly databaseId?: number | null;
}

export const ACCOUNT_FRAGMENT =
  'fragment Account on Actor { __typename login ... on User { databaseId } ... on Bot { databaseId } }';

/**
 * In the form of REST, where the login of an app's bot ends in `[bot]`; GraphQL leaves that out. Who is neither a user nor
 * a bot is nobody: an import's placeholder (Mannequin) may bear the login of a person that it is not.
 */
export function toAccount(actor: Actor | null): Account | null {
  if (actor === null) return null;
  const { __typename: type, login, databaseId: id = null } = actor;
  if (type === 'Bot') return { login: login.endsWith('[bot]') ? login : `${login}[bot]`, id, kind: 'bot' };
  return type === 'User' ? { login, id, kind: 'user' } : null;
}

/** `permission` knows no maintain and triage, `role_name` may be an organisation's own role. */
const permissions: readonly Permission[] = ['admin', 'maintain', 'write', 'triage', 'read', 'none'];

/** Remembers answers, not failures. Logins are compared without case. */
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
