import type { Person } from './accounts.ts';
import type { Renderer } from './render.ts';
import type { CacheShelf, GitHubState, Mergeability, StoredPull } from './state.ts';

/** One operation of the stand-in. `needs` lists alternatives: any one of these rights is enough. */
export interface Route {
  readonly method: string;
  /** The path below `/repos/{owner}/{repo}`, with `:name` for a variable part; '' is the repository itself. */
  readonly path: string;
  readonly needs: readonly Right[];
  readonly answer: (call: Call) => GitHubAnswer | Promise<GitHubAnswer>;
}

type Right = `${Area}=${'read' | 'write'}`;
export type Area =
  | 'metadata'
  | 'contents'
  | 'issues'
  | 'pull_requests'
  | 'actions'
  | 'checks'
  | 'statuses'
  | 'secrets'
  | 'administration';

/**
 * The identity behind a token. `app` means GITHUB_TOKEN or the token of another installation. Without `metadata`, the
 * token cannot see the repository.
 */
export interface TokenIdentity {
  readonly login: string;
  readonly kind: 'app' | 'user';
  readonly permissions: Readonly<Partial<Record<Area, 'read' | 'write'>>>;
}

export interface Call {
  readonly state: GitHubState;
  readonly render: Renderer;
  /** The path below the base path. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body, or {} if none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly token: TokenIdentity;
  readonly viewer: Person;
  readonly now: number;
  readonly caches: CacheShelf;
  /** Returns the tips of the remote's branches by name. */
  readonly branches: () => Promise<Readonly<Record<string, string>>>;
  /** Returns a file of the default branch, or null if it does not exist. */
  readonly textOf: (path: string) => Promise<string | null>;
  readonly mergeable: (pull: StoredPull) => Promise<Mergeability>;
  /** Returns the first parent of a commit, or null if it has none. */
  readonly parentOf: (commit: string) => Promise<string | null>;
  /** The bare repository with git's objects, or null if none. */
  readonly repositoryFolder: string | null;
  /** The URL of the log storage. */
  readonly logStorage: string;
}

export interface GitHubAnswer {
  readonly status: number;
  /** The body; undefined for an answer without one. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set when there are more pages; the server then sends a Link header. */
  readonly more?: { readonly next: number; readonly last: number };
}

export const notFound = createRefusal(404, 'Not Found');
export const issuesDisabled = createRefusal(410, 'Issues has been disabled in this repository.');

/** Returns an answer in the form of GitHub's basic error. */
export function createRefusal(status: number, message: string): GitHubAnswer {
  return { status, body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) } };
}

export interface FieldError {
  readonly resource: string;
  readonly field?: string;
  readonly code: string;
  readonly message?: string;
}

export function createInvalidAnswer(...errors: readonly FieldError[]): GitHubAnswer {
  return {
    status: 422,
    body: { message: 'Validation Failed', documentation_url: 'https://docs.github.com/rest', errors, status: '422' },
  };
}

/** Maximum length of the body of an issue, a pull request or a comment; the OpenAPI description does not contain it. */
const MAX_BODY_CHARS = 65_536;

/** Returns the answer to a body that is too long, or null if it is short enough. */
export function refuseTooLong(body: unknown, resource: string): GitHubAnswer | null {
  if (typeof body !== 'string' || [...body].length <= MAX_BODY_CHARS) return null;
  return createInvalidAnswer({
    resource,
    code: 'custom',
    field: 'body',
    message: `body is too long (maximum is ${String(MAX_BODY_CHARS)} characters)`,
  });
}

/** Returns the page of `items` that the call requests. */
export function paginateItems<T>(call: Call, items: readonly T[], render: (item: T) => object): GitHubAnswer {
  const size = Math.min(Number(call.query.get('per_page') ?? 30), 100);
  const number = Number(call.query.get('page') ?? 1);
  const last = Math.max(1, Math.ceil(items.length / size));
  return {
    status: 200,
    body: items.slice((number - 1) * size, number * size).map((item) => render(item)),
    ...(number < last ? { more: { next: number + 1, last } } : {}),
  };
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
