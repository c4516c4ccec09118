import { listNeedsIn, type Need } from '../core/people/notifications.ts';
import type { ForgeAdapter } from '../ports/forge.ts';
import { fitBody } from './pull-requests.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { readHttpStatus } from './errors.ts';
import {
  buildCommentKey,
  createCommentSearch,
  firstLineOfComment,
  type FoundComment,
  isCommentOfAction,
  type KnownComment,
  type ListedComment,
  readOwnComments,
  rememberComments,
} from './wishes/find-comments.ts';
import type { KnownNodes, WriteOnIssue } from './wishes/issue-writes.ts';

type CommentMethods = Pick<
  ForgeAdapter,
  'upsertComment' | 'amendComment' | 'settleComments' | 'settleNotifications' | 'react'
>;

/** The beginning of every notification's first line. */
const NOTIFICATION_START = '<!-- ralph-action:notification ';
const SETTLED_MARKER = '<!-- ralph-action:settled -->';

/** GraphQL's names of the reactions. */
const REACTIONS = { eyes: 'EYES', '+1': 'THUMBS_UP', '-1': 'THUMBS_DOWN', confused: 'CONFUSED' } as const;
const REACT = 'mutation ($input: AddReactionInput!) { addReaction(input: $input) { clientMutationId } }';

/**
 * Creates the access to comments, which keeps them up to date and adds reactions. It remembers its comments, so that a
 * second update needs no search.
 */
export function createCommentMethods(
  client: Client,
  { nodes, write }: { readonly nodes: KnownNodes; readonly write: WriteOnIssue },
): CommentMethods {
  const { ask } = client;
  const known = new Map<string, KnownComment>();
  /** Threads that were read to their end: a comment that is not in `known` does not exist there. */
  const read = new Set<number>();
  const search = createCommentSearch(client, { known, read, nodes });
  const createComment = (octokit: Octokit, comment: RepositoryName & { issue_number: number; body: string }) => {
    const { body, issue_number: number } = comment;
    const subjectId = nodes.threads.get(number);
    return write<KnownComment>(octokit, {
      mutation: subjectId === undefined ? null : { name: 'addComment', input: { subjectId, body } },
      answerOf: (data) => {
        const { id: nodeId, fullDatabaseId: id } = (data as CreatedAnswer).commentEdge.node;
        return { id: Number(id), nodeId, body, writtenAt: Number.POSITIVE_INFINITY };
      },
      alone: () => create(octokit, comment),
    });
  };

  return {
    upsertComment(number, marker, text) {
      const key = buildCommentKey(number, marker);
      return ask(
        { doing: `write the comment on #${String(number)}`, needs: ['issues: write'] },
        async (octokit, at) => {
          const current = known.get(key) ?? (await search({ octokit, ...at, issue_number: number, marker }));
          const body = withMarker(marker, typeof text === 'string' ? text : text(current?.body ?? null));
          // If a write fails, its effect is unknown, so the thread has to be searched again.
          const wasRead = read.delete(number);
          const isWritten = current !== null && sameText(current.body, body);
          const written = isWritten
            ? current
            : ((await tryUpdate(octokit, { ...at, write }, { current, body })) ??
              (await createComment(octokit, { ...at, issue_number: number, body })));
          known.set(key, written);
          if (wasRead) read.add(number);
          return { id: written.id };
        },
      );
    },

    async amendComment(number, marker, { body: text, writtenBefore, closing }) {
      const key = buildCommentKey(number, marker);
      const current = known.get(key);
      const body = withMarker(closing ? SETTLED_MARKER : marker, text);
      if (current === undefined || current.writtenAt >= writtenBefore || sameText(current.body, body)) return;
      await ask(
        { doing: `bring an older comment on #${String(number)} up to date`, needs: ['issues: write'] },
        async (octokit, at) => {
          // Read the comment again, because another run may have changed it since this run found it.
          const newest = await octokit.rest.issues.getComment({ ...at, comment_id: current.id }).catch(unlessDeleted);
          if (newest === undefined || Date.parse(newest.data.updated_at) >= writtenBefore) return;
          if (closing) {
            known.delete(key);
            await rewrite(octokit, [{ nodeId: current.nodeId, body, closing }]);
            return;
          }
          const updated = await tryUpdate(octokit, { ...at, write }, { current, body });
          if (updated !== null) known.set(key, updated);
        },
      );
    },

    settleComments(settled) {
      return ask({ doing: 'mark earlier notifications as settled', needs: ['issues: write'] }, async (octokit, at) => {
        const rewritten: Rewritten[] = [];
        for (const { id, words, closing } of settled) {
          const found = await octokit.rest.issues.getComment({ ...at, comment_id: id }).catch(unlessDeleted);
          if (found !== undefined && isNotification(found.data))
            rewritten.push(settledText(found.data, { words, closing }));
        }
        await rewrite(octokit, rewritten);
        for (const [key, comment] of known) if (settled.some(({ id }) => id === comment.id)) known.delete(key);
      });
    },

    settleNotifications(number, { needs, words }) {
      const isOver = (need: Need): boolean =>
        needs.some(({ kind, about }) => kind === need.kind && about === need.about);
      return ask(
        { doing: `settle the notifications on #${String(number)}`, needs: ['issues: write'] },
        async (octokit, at) => {
          for await (const page of readOwnComments(octokit, { ...at, issue_number: number })) {
            const others = page.filter(({ body = '' }) => !listNeedsIn(firstLineOfComment(body)).some(isOver));
            rememberComments(known, number, others);
            const settled = page.flatMap((comment) => {
              const asked = listNeedsIn(firstLineOfComment(comment.body ?? ''));
              return asked.some(isOver) ? [settledText(comment, { words, closing: asked.every(isOver) })] : [];
            });
            await rewrite(octokit, settled);
          }
        },
      );
    },

    react(target, reaction) {
      const on = target.kind === 'issue' ? `#${String(target.number)}` : `${target.kind} ${String(target.id)}`;
      const needs = [target.kind === 'review' ? 'pull-requests: write' : 'issues: write'];
      return ask({ doing: `react to ${on}`, needs }, async (octokit, at) => {
        const content = REACTIONS[reaction];
        if (target.kind === 'issue') {
          const subjectId = nodes.threads.get(target.number);
          await write(octokit, {
            mutation: subjectId === undefined ? null : { name: 'addReaction', input: { subjectId, content } },
            answerOf: () => undefined,
            alone: () =>
              octokit.rest.reactions.createForIssue({ ...at, issue_number: target.number, content: reaction }),
          });
        } else if (target.kind === 'review')
          // Use GraphQL, because REST has no reactions to reviews.
          await octokit.graphql(REACT, { input: { subjectId: target.id, content } }).catch(unlessAllMissing);
        else
          await octokit.rest.reactions
            .createForIssueComment({ ...at, comment_id: target.id, content: reaction })
            .catch(unlessDeleted);
      });
    },
  };
}

/** A comment's new text; a null text stays unchanged. `closing` hides the comment as resolved. */
interface Rewritten {
  readonly nodeId: string;
  readonly body: string | null;
  readonly closing: boolean;
}

/**
 * Returns a notification with `words` added, which say how it was settled. `closing` is true if it asks for nothing
 * else.
 */
function settledText(
  { node_id: nodeId, body = '' }: Pick<ListedComment, 'node_id' | 'body'>,
  { words, closing }: { readonly words: string; readonly closing: boolean },
): Rewritten {
  const [marker = '', ...rest] = body.split(/\r?\n/);
  // Keep the text of the run that settled the comment, because that run knew more about it.
  if (marker === SETTLED_MARKER) return { nodeId, body: null, closing };
  const conversationFields = rest.includes(words) ? rest : ['', words, ...rest];
  const settled = fitBody([closing ? SETTLED_MARKER : marker, ...conversationFields].join('\n'));
  return { nodeId, body: sameText(body, settled) ? null : settled, closing };
}

/** Sends all changes in one request; comments that were deleted in the meantime are left out. */
async function rewrite(octokit: Octokit, rewritten: readonly Rewritten[]): Promise<void> {
  const changes = rewritten.flatMap(({ body, closing }, index) => {
    const n = String(index);
    return [
      ...(body === null
        ? []
        : [`u${n}: updateIssueComment(input: { id: $i${n}, body: $b${n} }) { issueComment { databaseId } }`]),
      ...(closing
        ? [
            `m${n}: minimizeComment(input: { subjectId: $i${n}, classifier: RESOLVED }) { minimizedComment { isMinimized } }`,
          ]
        : []),
    ];
  });
  if (changes.length === 0) return;
  const named = rewritten
    .map((one, index) => ({ ...one, n: String(index) }))
    .filter(({ body, closing }) => body !== null || closing);
  const types = named.map(({ n, body }) => `$i${n}: ID!${body === null ? '' : `, $b${n}: String!`}`);
  const values = Object.fromEntries(
    named.flatMap(({ n, nodeId, body }) => [[`i${n}`, nodeId], ...(body === null ? [] : [[`b${n}`, body]])]),
  ) as Record<string, string>;
  await octokit.graphql(`mutation (${types.join(', ')}) { ${changes.join(' ')} }`, values).catch(unlessAllMissing);
}

/** Ignores the error of GraphQL for a request whose targets are all deleted. */
function unlessAllMissing(error: unknown): void {
  const { errors = [] } = (error instanceof Error ? error : {}) as {
    readonly errors?: readonly { readonly type?: string }[];
  };
  if (errors.length === 0 || errors.some(({ type }) => type !== 'NOT_FOUND')) throw error;
}

/** Ignores the error for a deleted comment, which somebody deleted on purpose. */
function unlessDeleted(error: unknown): undefined {
  if (readHttpStatus(error) !== 404) throw error;
}

/**
 * Returns true if a comment is a notification from this action. A state may name any comment, and other people's
 * comments are never changed.
 */
function isNotification({ body = '', ...comment }: FoundComment): boolean {
  const first = firstLineOfComment(body);
  return isCommentOfAction({ body, ...comment }) && (first.startsWith(NOTIFICATION_START) || first === SETTLED_MARKER);
}

function withMarker(marker: string, text: string): string {
  return fitBody(firstLineOfComment(text) === marker ? text : `${marker}\n${text}`);
}

interface CreatedAnswer {
  readonly commentEdge: { readonly node: { readonly id: string; readonly fullDatabaseId: string } };
}

/** Updates a comment; returns null if the comment does not exist or somebody has deleted it. */
async function tryUpdate(
  octokit: Octokit,
  { write, ...at }: RepositoryName & { readonly write: WriteOnIssue },
  { current, body }: { readonly current: KnownComment | null; readonly body: string },
): Promise<KnownComment | null> {
  if (current === null) return null;
  try {
    await write(octokit, {
      mutation: { name: 'updateIssueComment', input: { id: current.nodeId, body } },
      answerOf: () => undefined,
      alone: () => octokit.rest.issues.updateComment({ ...at, comment_id: current.id, body }),
    });
    return { ...current, body, writtenAt: Number.POSITIVE_INFINITY };
  } catch (error) {
    if (readHttpStatus(error) === 404) return null;
    throw error;
  }
}

/**
 * Creates a comment without retries. After a failure GitHub may have written it already, and a second comment would
 * stay forever.
 */
async function create(
  octokit: Octokit,
  comment: RepositoryName & { readonly issue_number: number; readonly body: string },
): Promise<KnownComment> {
  const { data } = await octokit.rest.issues.createComment({ ...comment, request: { retries: 0 } });
  return { id: data.id, nodeId: data.node_id, body: comment.body, writtenAt: Number.POSITIVE_INFINITY };
}

/** Returns true if GitHub treats two texts as equal; it may store other line ends and drops blanks at both ends. */
function sameText(left: string, right: string): boolean {
  const plain = (text: string) => text.replaceAll('\r\n', '\n').trim();
  return plain(left) === plain(right);
}
