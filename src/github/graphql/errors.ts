/** An error of GraphQL, as an answer lists it. */
export interface GraphqlError {
  readonly type?: string;
  readonly message?: string;
  readonly path?: readonly unknown[];
  readonly extensions?: { readonly code?: unknown } | null;
}

/** The answer to a GraphQL request: errors, and the data that could be read. */
export interface GraphqlAnswer {
  readonly data?: unknown;
  readonly errors?: readonly GraphqlError[];
}

/** Returns true if GitHub's servers failed to answer the query, which is temporary and not the caller's fault. */
export function isServerFailure({ type, message, extensions }: GraphqlError): boolean {
  const code = typeof extensions?.code === 'string' ? extensions.code : '';
  return (
    SERVER_FAILURE_TYPES.test(type ?? '') || SERVER_FAILURE_TYPES.test(code) || SERVER_FAILURE_WORDS.test(message ?? '')
  );
}

const SERVER_FAILURE_TYPES =
  /^(?:INTERNAL(?:_SERVER)?(?:_ERROR)?|SERVICE_UNAVAILABLE|RESOURCE_LIMITS_EXCEEDED|TIME_?OUT|TIMED_?OUT|LOADING|BAD_GATEWAY|GATEWAY_TIMEOUT)$/i;
const SERVER_FAILURE_WORDS =
  /\bsomething went wrong\b|\btimed ?out\b|\btimeout\b|\bresource limits?\b.*\bexceeded\b|\bcouldn't respond to your request in time\b|\btemporarily unavailable\b|\binternal (?:server )?error\b/i;

/** Returns true if GitHub refused the query for its size: a smaller query may succeed, but not the same one. */
export function isTooLarge({ type, message, extensions }: GraphqlError): boolean {
  return [type, extensions?.code, message].some(
    (text) => typeof text === 'string' && /RESOURCE_LIMITS_EXCEEDED|\bresource limits?\b/i.test(text),
  );
}

/** Returns the errors and the data of a failed GraphQL request, regardless of the part of Octokit that threw. */
export function extractGraphqlAnswer(error: unknown): GraphqlAnswer {
  const { errors, data, response } = (error instanceof Error ? error : {}) as {
    readonly errors?: unknown;
    readonly data?: unknown;
    readonly response?: { readonly data?: unknown };
  };
  if (Array.isArray(errors)) return { errors: errors.filter(isError), data };
  return parseGraphqlAnswer(response?.data);
}

/** Returns the errors and the data in the body of an answer, or neither if the body has another form. */
export function parseGraphqlAnswer(body: unknown): GraphqlAnswer {
  if (typeof body !== 'object' || body === null || !('errors' in body) || !Array.isArray(body.errors)) return {};
  return { errors: body.errors.filter(isError), data: 'data' in body ? body.data : undefined };
}

function isError(one: unknown): one is GraphqlError {
  return typeof one === 'object' && one !== null;
}

/**
 * Returns true if a read may succeed in smaller parts: the server failed or was too slow, the query was too large, or
 * the server does not know a field.
 */
export function mayWorkInParts(error: unknown): boolean {
  const { errors = [] } = extractGraphqlAnswer(error);
  if (errors.length > 0) return errors.some((one) => isServerFailure(one) || isUnknownField(one));
  const { name, response } = (error instanceof Error ? error : {}) as {
    readonly name?: string;
    readonly response?: { readonly status?: number };
  };
  // Without an answer, the connection broke or the time limit was reached, so smaller parts may succeed.
  return name === 'HttpError' && (response?.status === undefined || response.status >= 500);
}

/** Returns true if the server is older than the query. */
export function isUnknownField({ message = '' }: GraphqlError): boolean {
  return findUnknownName(message) !== null;
}

/** Returns the field, argument or type that the server says it does not know, or null for any other error. */
export function findUnknownName(message: string): string | null {
  const found = /^(?:Field '(\w+)' doesn't exist on type|.* doesn't accept argument '(\w+)'|No such type (\w+)\b)/;
  const [, field, argument, type] = found.exec(message) ?? [];
  return field ?? argument ?? type ?? null;
}
