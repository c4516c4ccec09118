import { gatherCalls, settleCall } from '../../ports/gathered-calls.ts';
import type { Client, Octokit, RepositoryName } from '../client.ts';
import { askAboutIssues, type IssueQuestion } from '../histories.ts';
import type { KnownNodes } from './issue-writes.ts';

export interface KnownComment {
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  /** Time of the last change in ms; infinite for a comment that this run wrote. */
  readonly writtenAt: number;
}

/** The search for the comment of a marker. */
interface CommentSearch extends RepositoryName {
  readonly octokit: Octokit;
  readonly issue_number: number;
  readonly marker: string;
}

/**
 * Creates the search for the action's comments. Simultaneous calls are combined: ten threads in one request.
 */
export function createCommentSearch(
  client: Client,
  threads: KnownThreads & { readonly nodes: KnownNodes },
): (search: CommentSearch) => Promise<KnownComment | null> {
  const { known, read } = threads;
  return gatherCalls(async (searches: readonly CommentSearch[]) => {
    if (searches.length > 1) await readThreads(client, searches, threads);
    const found: PromiseSettledResult<KnownComment | null>[] = [];
    for (const { octokit, ...one } of searches)
      found.push(await settleCall(() => findComment(octokit, { ...one, known, read })));
    return found;
  });
}

/**
 * Finds the action's oldest comment with a marker as its first line, and adds the action's other comments on the way to
 * `known`. The author must be a bot or belong to the repository. Asking for the token's account would cost a request,
 * which GITHUB_TOKEN is refused anyway. A stranger who copies the marker meets neither condition, so nobody can make
 * the action write into a comment that they can change.
 */
async function findComment(
  octokit: Octokit,
  { marker, known, read, ...issue }: Omit<CommentSearch, 'octokit'> & KnownThreads,
): Promise<KnownComment | null> {
  const there = known.get(buildCommentKey(issue.issue_number, marker));
  if (there !== undefined || read.has(issue.issue_number)) return there ?? null;
  for await (const ours of readOwnComments(octokit, issue)) {
    rememberComments(known, issue.issue_number, ours);
    const found = known.get(buildCommentKey(issue.issue_number, marker));
    if (found !== undefined) return found;
  }
  read.add(issue.issue_number);
  return null;
}

/** The comments that this run knows, by `buildCommentKey`, and the threads that were read to their end. */
export interface KnownThreads {
  readonly known: Map<string, KnownComment>;
  readonly read: Set<number>;
}

const THREAD =
  'id comments(first: 100) { pageInfo { hasNextPage } nodes { id fullDatabaseId body updatedAt authorAssociation author { __typename } } }';

/** The query for the first comments of threads. A body may have 65,536 characters, so ten are 66 MB at worst. */
const threadQuestion: IssueQuestion = {
  field: 'issueOrPullRequest',
  selection: `... on Issue { ${THREAD} } ... on PullRequest { ${THREAD} }`,
  fragments: '',
  atOnce: 10,
};

interface ThreadAnswer {
  readonly id: string;
  readonly comments: {
    readonly pageInfo: { readonly hasNextPage: boolean };
    readonly nodes: readonly ({
      readonly id: string;
      readonly fullDatabaseId: string;
      readonly body: string;
      readonly updatedAt: string;
      readonly authorAssociation: string;
      readonly author: { readonly __typename: string } | null;
    } | null)[];
  };
}

/** Reads the first comments of several threads that are not read yet, ten threads in one request. */
async function readThreads(
  client: Client,
  searches: readonly CommentSearch[],
  { known, read, nodes }: KnownThreads & { readonly nodes: KnownNodes },
): Promise<void> {
  const numbers = searches.map(({ issue_number: number }) => number).filter((number) => !read.has(number));
  const purpose = { doing: 'read the comments on issues', needs: ['issues: read'] };
  const found = await askAboutIssues<ThreadAnswer>(client, purpose, { ...threadQuestion, numbers });
  for (const [number, { id, comments }] of found) {
    nodes.threads.set(number, id);
    const listed = comments.nodes.filter((one) => one !== null).map(toListed);
    rememberComments(known, number, listed.filter(isCommentOfAction));
    if (!comments.pageInfo.hasNextPage) read.add(number);
  }
}

function toListed(comment: NonNullable<ThreadAnswer['comments']['nodes'][number]>): FoundComment & ReadComment {
  const { id, fullDatabaseId, body, updatedAt, authorAssociation, author } = comment;
  const user = author === null ? null : { type: author.__typename };
  const ids = { id: Number(fullDatabaseId), node_id: id };
  return { ...ids, body, updated_at: updatedAt, author_association: authorAssociation, user };
}

type ReadComment = Pick<ListedComment, 'id' | 'node_id' | 'body' | 'updated_at'>;

export type ListedComment = Awaited<ReturnType<Octokit['rest']['issues']['listComments']>>['data'][number];

/** Yields the action's comments in a thread, page by page, oldest first. */
export async function* readOwnComments(
  octokit: Octokit,
  thread: RepositoryName & { readonly issue_number: number },
): AsyncGenerator<readonly ListedComment[]> {
  const pages = octokit.paginate.iterator(octokit.rest.issues.listComments, { ...thread, per_page: 100 });
  for await (const { data } of pages) yield data.filter(isCommentOfAction);
}

/** Adds comments of a thread to those that are known. */
export function rememberComments(
  known: Map<string, KnownComment>,
  number: number,
  comments: readonly ReadComment[],
): void {
  for (const { id, node_id: nodeId, body = '', updated_at: writtenAt } of comments) {
    const key = buildCommentKey(number, firstLineOfComment(body));
    if (!known.has(key)) known.set(key, { id, nodeId, body, writtenAt: Date.parse(writtenAt) });
  }
}

/** Returns the key of the comment of a marker in a thread. */
export function buildCommentKey(number: number, marker: string): string {
  return `${String(number)} ${marker}`;
}

/** A comment as REST lists it, with the fields that identify its author. */
export interface FoundComment {
  readonly body?: string;
  readonly user: { readonly type: string } | null;
  readonly author_association: string;
}

/** Returns true if a comment begins with a marker, and a bot or a member of the repository has written it. */
export function isCommentOfAction({ body = '', user, author_association: association }: FoundComment): boolean {
  return (
    isMarker(firstLineOfComment(body)) &&
    (user?.type === 'Bot' || ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(association))
  );
}

function isMarker(line: string): boolean {
  return line.startsWith('<!-- ') && line.endsWith(' -->');
}

/** Returns the first line of a comment, which is a marker in a comment of the action. */
export function firstLineOfComment(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}
