import type { Person } from './accounts.ts';
import type { Renderer } from './render.ts';
import type { CacheShelf, GitHubState, Mergeability, StoredPull } from './state.ts';

/** One operation of the stand-in. `needs`: any one of these rights is enough. */
export interface Route {
  readonly method: string;
  /** Below `/repos/{owner}/{repo}`, with `:name` for a variable part; '' is the repository itself. */
  readonly path: string;
  readonly needs: readonly Right[];
  readonly answer: (call: Call) => Answer | Promise<Answer>;
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

/** Who a token stands for. An `app` is GITHUB_TOKEN or another installation's token; without `metadata` it does not see the repository. */
export interface TokenIdentity {
  readonly login: string;
  readonly kind: 'app' | 'user';
  readonly permissions: Readonly<Partial<Record<Area, 'read' | 'write'>>>;
}

export interface Call {
  readonly state: GitHubState;
  readonly render: Renderer;
  /** Below the base path. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body; {} when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly token: TokenIdentity;
  readonly viewer: Person;
  readonly now: number;
  readonly caches: CacheShelf;
  /** Tips of the remote's branches by name. */
  readonly branches: () => Promise<Readonly<Record<string, string>>>;
  /** A file of the default branch; null: it is not there. */
  readonly textOf: (path: string) => Promise<string | null>;
  readonly mergeable: (pull: StoredPull) => Promise<Mergeability>;
  /** The first parent of a commit; null: it has none. */
  readonly parentOf: (commit: string) => Promise<string | null>;
  /** Where logs are kept. */
  readonly logStorage: string;
}

export interface Answer {
  readonly status: number;
  /** undefined: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** There are more pages; the server says so in a Link header. */
  readonly more?: { readonly next: number; readonly last: number };
}

export const notFound = refusal(404, 'Not Found');
export const issuesDisabled = refusal(410, 'Issues has been disabled in this repository.');

/** An answer in the form of GitHub's basic error. */
export function refusal(status: number, message: string): Answer {
  return { status, body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) } };
}

export interface FieldError {
  readonly resource: string;
  readonly field?: string;
  readonly code: string;
  readonly message?: string;
}

export function invalid(...errors: readonly FieldError[]): Answer {
  return {
    status: 422,
    body: { message: 'Validation Failed', documentation_url: 'https://docs.github.com/rest', errors, status: '422' },
  };
}

/** Of an issue's, a pull request's or a comment's body; the description does not give it. */
const MAX_BODY_CHARS = 65_536;

/** The answer to a body that is too long; null when it is not. */
export function tooLong(body: unknown, resource: string): Answer | null {
  if (typeof body !== 'string' || [...body].length <= MAX_BODY_CHARS) return null;
  return invalid({
    resource,
    code: 'custom',
    field: 'body',
    message: `body is too long (maximum is ${String(MAX_BODY_CHARS)} characters)`,
  });
}

/** The page of `items` that the call asks for. */
export function page<T>(call: Call, items: readonly T[], render: (item: T) => object): Answer {
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
