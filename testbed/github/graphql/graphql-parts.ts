import { GraphQLError } from 'graphql';

export interface Slice {
  readonly first?: number | null;
  readonly last?: number | null;
  /** The cursor, which is the position of an entry. */
  readonly before?: string | null;
  readonly after?: string | null;
}

/** Returns a slice of a list. GitHub requires `first` or `last` and returns at most 100 entries. */
export function sliceConnection(entries: readonly object[], { first, last, before, after }: Slice): object {
  const size = first ?? last ?? 0;
  if (size < 1 || size > 100)
    throw createGraphqlFailure(
      size > 100 ? 'EXCESSIVE_PAGINATION' : 'MISSING_PAGINATION_BOUNDARIES',
      'You must provide a `first` or `last` value between 1 and 100 to properly paginate the connection.',
    );
  const end = before == null ? entries.length : placeOf(before);
  const fromStart = typeof first === 'number';
  const behind = after == null ? 0 : placeOf(after) + 1;
  const start = fromStart ? behind : Math.max(0, end - size);
  const nodes = entries.slice(start, fromStart ? Math.min(end, start + size) : end);
  return {
    totalCount: entries.length,
    nodes,
    pageInfo: {
      hasNextPage: fromStart && start + nodes.length < end,
      hasPreviousPage: !fromStart && start > 0,
      startCursor: nodes.length === 0 ? null : cursorOf(start),
      endCursor: nodes.length === 0 ? null : cursorOf(start + nodes.length - 1),
    },
  };
}

function cursorOf(place: number): string {
  return Buffer.from(`cursor:${String(place)}`).toString('base64');
}

function placeOf(cursor: string): number {
  return Number(Buffer.from(cursor, 'base64').toString('utf8').replace('cursor:', ''));
}

/**
 * Creates an error in GitHub's form, with the type beside the message; the `graphql` package would put it under
 * `extensions`.
 */
export function createGraphqlFailure(type: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { type } });
}

/** Formats an instant as GitHub does, without a fraction of a second. */
export function formatGithubInstant(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
