import type { Forge } from '../ports/forge.ts';
import { fitBody } from './body.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { statusOf } from './errors.ts';

type CommentMethods = Pick<Forge, 'upsertComment' | 'amendComment' | 'react'>;

interface KnownComment {
  readonly id: number;
  readonly body: string;
  /** Ms; infinite for one that this run wrote. */
  readonly writtenAt: number;
}

/** Comments that we keep up to date, and reactions. Remembers its comments, so that a second update needs no search. */
export function createComments({ ask }: Client): CommentMethods {
  const known = new Map<string, KnownComment>();

  return {
    upsertComment(number, marker, text) {
      const key = keyOf(number, marker);
      const body = withMarker(marker, text);
      return ask(
        { doing: `write the comment on #${String(number)}`, needs: ['issues: write'] },
        async (octokit, at) => {
          const current = known.get(key) ?? (await find(octokit, { ...at, issue_number: number, marker, known }));
          if (current !== null && sameText(current.body, body)) known.set(key, current);
          else
            known.set(
              key,
              (await tryUpdate(octokit, at, { current, body })) ??
                (await create(octokit, { ...at, issue_number: number, body })),
            );
        },
      );
    },

    async amendComment(number, marker, { body: text, writtenBefore }) {
      const key = keyOf(number, marker);
      const current = known.get(key);
      const body = withMarker(marker, text);
      if (current === undefined || current.writtenAt >= writtenBefore || sameText(current.body, body)) return;
      await ask(
        { doing: `bring an older comment on #${String(number)} up to date`, needs: ['issues: write'] },
        async (octokit, at) => {
          const updated = await tryUpdate(octokit, at, { current, body });
          if (updated !== null) known.set(key, updated);
        },
      );
    },

    react(target, reaction) {
      const on = target.kind === 'issue' ? `#${String(target.number)}` : `comment ${String(target.id)}`;
      return ask({ doing: `react to ${on}`, needs: ['issues: write'] }, async (octokit, at) => {
        if (target.kind === 'issue')
          await octokit.rest.reactions.createForIssue({ ...at, issue_number: target.number, content: reaction });
        else
          await octokit.rest.reactions
            .createForIssueComment({ ...at, comment_id: target.id, content: reaction })
            .catch(unlessDeleted);
      });
    },
  };
}

/** A person who deletes a comment does not want to hear of it. */
function unlessDeleted(error: unknown): void {
  if (statusOf(error) !== 404) throw error;
}

function keyOf(number: number, marker: string): string {
  return `${String(number)} ${marker}`;
}

function withMarker(marker: string, text: string): string {
  return fitBody(firstLine(text) === marker ? text : `${marker}\n${text}`);
}

/**
 * The oldest comment that is ours, and on the way `known` learns of our others: its first line is the marker, and its author is a bot or belongs to the repository.
 * Asking who the token is would cost a request that GITHUB_TOKEN is refused anyway; a stranger who copies the
 * marker is neither, so nobody can make us write into a comment that they can change.
 */
async function find(
  octokit: Octokit,
  {
    marker,
    known,
    ...issue
  }: RepositoryName & {
    readonly issue_number: number;
    readonly marker: string;
    readonly known: Map<string, KnownComment>;
  },
): Promise<KnownComment | null> {
  for await (const { data } of octokit.paginate.iterator(octokit.rest.issues.listComments, {
    ...issue,
    per_page: 100,
  })) {
    const ours = data.filter(
      ({ body = '', user, author_association: association }) =>
        isMarker(firstLine(body)) &&
        (user?.type === 'Bot' || ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(association)),
    );
    for (const { id, body = '', updated_at: writtenAt } of ours) {
      const key = keyOf(issue.issue_number, firstLine(body));
      if (!known.has(key)) known.set(key, { id, body, writtenAt: Date.parse(writtenAt) });
    }
    const found = known.get(keyOf(issue.issue_number, marker));
    if (found !== undefined) return found;
  }
  return null;
}

/** null when there is none, or when somebody deleted it meanwhile. */
async function tryUpdate(
  octokit: Octokit,
  at: RepositoryName,
  { current, body }: { readonly current: KnownComment | null; readonly body: string },
): Promise<KnownComment | null> {
  if (current === null) return null;
  try {
    await octokit.rest.issues.updateComment({ ...at, comment_id: current.id, body });
    return { id: current.id, body, writtenAt: Number.POSITIVE_INFINITY };
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

/** Not repeated after a failure: GitHub may have written it already, and a second comment would stay forever. */
async function create(
  octokit: Octokit,
  comment: RepositoryName & { readonly issue_number: number; readonly body: string },
): Promise<KnownComment> {
  const { data } = await octokit.rest.issues.createComment({ ...comment, request: { retries: 0 } });
  return { id: data.id, body: comment.body, writtenAt: Number.POSITIVE_INFINITY };
}

function isMarker(line: string): boolean {
  return line.startsWith('<!-- ') && line.endsWith(' -->');
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? '';
}

/** GitHub may store other line ends, and drops blanks at both ends. */
function sameText(left: string, right: string): boolean {
  const plain = (text: string) => text.replaceAll('\r\n', '\n').trim();
  return plain(left) === plain(right);
}
