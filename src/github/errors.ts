import { ISSUES_SWITCHED_OFF, NOT_PERMITTED, UserError } from '../errors.ts';
import { MINUTE_MS } from '../core/countdown.ts';
import { RENEW_TOKEN } from '../core/refusals/server-rules.ts';
import { cutText, flattenText, completeSentence } from '../core/text/phrase.ts';
import { extractGraphqlAnswer, isServerFailure, type GraphqlError } from './graphql/errors.ts';

/** The purpose of a request. `doing` completes "GitHub did not let us …"; `needs` are workflow permissions. */
export interface RequestPurpose {
  readonly doing: string;
  readonly needs: readonly string[];
  /** Sentences that say what to do if GitHub does not understand a request (422). */
  readonly ifInvalid?: string;
}

/** The source of the token: the workflow's input, or a person who started the command line. */
export type TokenSource = 'input' | 'person';

/** The facts that an explanation may need in addition to the error. */
export interface RequestFacts {
  readonly token: string;
  readonly tokenFrom: TokenSource;
  /** Base URL of the API without trailing slash: `https://api.github.com`, or an Enterprise `https://HOST/api/v3`. */
  readonly apiUrl: string;
  readonly repository: { readonly owner: string; readonly repo: string };
  readonly now: () => number;
}

/**
 * Returns the UserError for a failed request, with the event, the value and advice. Sets no cause, because it would
 * contain the request with its headers. Returns any other error, such as a bug, unchanged.
 */
export function explainError(error: unknown, purpose: RequestPurpose, situation: RequestFacts): unknown {
  const refused = refusalOf(error);
  const explanation =
    refused !== null
      ? refusal(refused, purpose, situation)
      : isBrokenConnection(error)
        ? unreachable(error, purpose, situation)
        : null;
  if (explanation === null) return error;
  const [kind, message] = explanation;
  const reason = refused === null ? 'unreachable' : refusalReasonOf(refused);
  const withoutToken = (text: string): string => text.replaceAll(situation.token, '***');
  return new UserError(kind, withoutToken(message), { reason: withoutToken(reason) });
}

/** Returns GitHub's HTTP status for a request that it refused, or null if there was no answer. */
export function readHttpStatus(error: unknown): number | null {
  return refusalOf(error)?.status ?? null;
}

/**
 * Returns true if an object does not exist, or no longer exists. Status 410 means a deleted issue, or, from this client
 * itself, a write to a transferred one. Returns false for the 410 that GitHub sends if issues are turned off.
 */
export function isGoneError(error: unknown): boolean {
  const refused = refusalOf(error);
  return refused?.status === 404 || (refused?.status === 410 && isAboutOneIssue(refused.message));
}

/**
 * Returns true if GitHub refused a value (422) for a reason that `reason` matches in its message or its list of errors.
 */
export function isInvalid(error: unknown, reason: RegExp): boolean {
  const refused = refusalOf(error);
  return refused?.status === 422 && reason.test(`${refused.message} ${refused.details}`);
}

/** Matches GitHub's words for a token without a permission. */
const NOT_ACCESSIBLE = /^Resource not accessible by/i;

/** Returns a text that is equal for all refusals with the same reason; GitHub words a locked thread in many ways. */
function refusalReasonOf({ status, message }: Refusal): string {
  if (status === 410 && !isAboutOneIssue(message)) return ISSUES_SWITCHED_OFF;
  if (NOT_ACCESSIBLE.test(message)) return NOT_PERMITTED;
  return isLocked({ status, message }) ? 'locked' : `${String(status)} ${message}`;
}

function isLocked({ status, message }: Pick<Refusal, 'status' | 'message'>): boolean {
  return status === 403 && /\blocked\b/i.test(message);
}

type Explanation = readonly ['configuration' | 'infrastructure', string];

interface Refusal {
  readonly status: number;
  readonly message: string;
  /** GitHub's list of errors as JSON text; empty if there is no list. */
  readonly details: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

const VALID_TOKEN: Readonly<Record<TokenSource, string>> = {
  input: RENEW_TOKEN,
  person: 'It may have expired. Set GITHUB_TOKEN to a valid one, for example to what `gh auth token` prints.',
};

function refusal(refused: Refusal, purpose: RequestPurpose, situation: RequestFacts): Explanation {
  const { status, message, details, headers } = refused;
  const name = `${situation.repository.owner}/${situation.repository.repo}`;
  const failed = `GitHub did not let us ${purpose.doing} in ${name}`;
  const answer = `${String(status)} ${quote(message)}`.trim();
  const permissions = purpose.needs.map((need) => `\`${need}\``).join(' and ');
  if (status === 401) {
    return ['configuration', `GitHub does not accept the token (${answer}). ${VALID_TOKEN[situation.tokenFrom]}`];
  }
  const pause = rateLimit(refused, situation.now());
  if (pause !== null) return ['infrastructure', `${failed}: ${pause}`];
  if (/not permitted to create or approve pull requests/i.test(message)) {
    return [
      'configuration',
      `${failed} (${answer}). Turn on Settings → Actions → General → "Allow GitHub Actions to create and approve pull requests" (in an organisation the same setting may have to be allowed there first), or give the input \`github-token\` a token of an App or a person.`,
    ];
  }
  if (NOT_ACCESSIBLE.test(message)) {
    return [
      'configuration',
      `${failed} (${answer}). Add ${permissions} under \`permissions:\` in the workflow, or to the token that the input \`github-token\` gets.`,
    ];
  }
  if (isLocked(refused))
    return [
      'configuration',
      `${failed}: the conversation is locked (${answer}). Unlock it to read there what runs do.`,
    ];
  if (status === 404) {
    return [
      'configuration',
      `${failed}: with this token, GitHub finds nothing there (${answer}). Check that the repository is ${name}, and that the token can see it and has ${permissions}.`,
    ];
  }
  if (status === 410 && isAboutOneIssue(message)) return ['configuration', `${failed} (${answer}).`];
  if (status === 410)
    return [
      'configuration',
      `${failed} (${answer}). If issues are turned off, turn them on: Settings → General → Features → Issues.`,
    ];
  if (status >= 500)
    return [
      'infrastructure',
      `${failed}: its API failed (${answer}), more than once. Run again later; https://www.githubstatus.com shows whether GitHub has an incident.`,
    ];
  const hint =
    status === 422 && purpose.ifInvalid !== undefined
      ? purpose.ifInvalid
      : headers['x-github-sso'] === undefined
        ? `Check the rules of the repository and its organisation, and that the token has ${permissions}.`
        : 'Authorise the token for the organisation (SAML single sign-on).';
  return ['configuration', `${failed} (${answer}${details === '' ? '' : `: ${quote(details)}`}). ${hint}`];
}

function isAboutOneIssue(message: string): boolean {
  return /\b(deleted|transferred)\b/i.test(message);
}

/** Explains a rate limit and how long to wait; returns null if the refusal is not a rate limit. */
function rateLimit({ status, message, headers }: Refusal, now: number): string | null {
  if (status !== 403 && status !== 429) return null;
  const reset = Number(headers['x-ratelimit-reset']) * 1000;
  if (headers['x-ratelimit-remaining'] === '0' && Number.isFinite(reset)) {
    const limit =
      typeof headers['x-ratelimit-limit'] === 'string'
        ? `${quote(headers['x-ratelimit-limit'])} requests ${headers['x-ratelimit-resource'] === 'search' ? 'a minute' : 'an hour'}`
        : 'requests';
    return `the rate limit of this token (${limit}) is used up until ${new Date(reset).toISOString()}, in ${String(Math.max(1, Math.ceil((reset - now) / MINUTE_MS)))} min. Run again then, or give the input \`github-token\` a token with a limit of its own.`;
  }
  if (status !== 429 && !/\bsecondary rate\b/i.test(message)) return null;
  const seconds = Number(headers['retry-after']);
  return `it received too many requests in a short time (secondary rate limit). Run again ${seconds > 0 ? `in ${String(seconds)} s` : 'in a few minutes'}, and let fewer workflows use this token at the same time.`;
}

function unreachable(error: Error, purpose: RequestPurpose, { apiUrl }: RequestFacts): Explanation {
  return [
    'infrastructure',
    `GitHub could not be reached to ${purpose.doing}, at ${apiUrl}: ${completeSentence(quote(error.message))} Check the runner's network and proxy, and run again.`,
  ];
}

/**
 * Returns true if a request failed (Octokit's `HttpError`). If it contains no answer of GitHub, the connection failed.
 */
function isBrokenConnection(error: unknown): error is Error {
  return error instanceof Error && error.name === 'HttpError';
}

/** Returns GitHub's answer to a failed request, or null if there was no answer. */
function refusalOf(error: unknown): Refusal | null {
  const { response, data, errors, headers } = (error instanceof Error ? error : {}) as OctokitError;
  const listed =
    errors ?? (response?.status === 200 ? (data?.errors ?? extractGraphqlAnswer(error).errors) : null) ?? [];
  // Report a server failure first: the other errors may disappear with it, or else the next request reports them.
  const graphqlError = listed.find(isServerFailure) ?? listed[0];
  if (graphqlError !== undefined) return graphqlRefusal(graphqlError, headers ?? response?.headers ?? {});
  if (response?.status === undefined) return null;
  const answer: { readonly message?: unknown; readonly errors?: unknown } | null =
    typeof response.data === 'object' ? response.data : null;
  return {
    status: response.status,
    message:
      typeof answer?.message === 'string' ? answer.message : (extractGraphqlAnswer(error).errors?.[0]?.message ?? ''),
    details: answer?.errors === undefined ? '' : JSON.stringify(answer.errors),
    headers: response.headers ?? {},
  };
}

/** An error of Octokit. REST sets `response`, GraphQL `errors` and `headers`, its rate limit `response` and `data`. */
interface OctokitError {
  readonly response?: { readonly status?: number; readonly data?: unknown; readonly headers?: Refusal['headers'] };
  readonly data?: { readonly errors?: readonly GraphqlError[] };
  readonly errors?: readonly GraphqlError[];
  readonly headers?: Refusal['headers'];
}

/** Returns the refusal in a GraphQL error, which has status 200 and a type; two types mean a rate limit. */
function graphqlRefusal(error: GraphqlError, headers: Refusal['headers']): Refusal {
  const { type = '', message = '' } = error;
  const status =
    { FORBIDDEN: 403, NOT_FOUND: 404, RATE_LIMITED: 429, RATE_LIMIT: 429 }[type] ??
    (/\bsecondary rate\b/i.test(message)
      ? 429
      : /\bis locked\b/i.test(message)
        ? 403
        : isServerFailure(error)
          ? 502
          : 422);
  return { status, message, details: '', headers };
}

/** Returns a stranger's text as a single line of at most 300 characters. */
function quote(text: string): string {
  return cutText(flattenText(text), 300);
}
