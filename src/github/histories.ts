import { NOTICE_LABEL } from '../core/people/labels.ts';
import type { Forge, IssueComment, IssueHistory } from '../ports/forge.ts';
import { ACCOUNT_FRAGMENT, toAccount, type Actor } from './accounts.ts';
import type { Client } from './client.ts';
import { askAboutIssues, type IssueQuestion } from './issue-queries.ts';

type HistoryMethods = Pick<Forge, 'issueHistories' | 'commentsOf'>;

/** Who labelled, reopened, changed and said what. */
export function createHistories(client: Client): HistoryMethods {
  return {
    async issueHistories(numbers, taskLabel) {
      const labels = [taskLabel.toLowerCase(), NOTICE_LABEL];
      const found = await askAboutIssues<HistoryAnswer>(
        client,
        { doing: 'read who labelled and changed issues', needs: ['issues: read'] },
        { ...historyQuestion, numbers },
      );
      return new Map([...found].map(([number, answer]) => [number, toHistory(answer, labels)]));
    },

    async commentsOf(numbers) {
      const found = await askAboutIssues<CommentsAnswer>(
        client,
        { doing: 'read the comments on issues', needs: ['issues: read'] },
        { ...commentsQuestion, numbers },
      );
      return new Map(
        [...found].map(([number, { comments }]) => [number, comments.nodes.filter(isThere).map(toComment)]),
      );
    },
  };
}

/** GitHub lists the changes of a body newest first, the events oldest first. */
const historyQuestion: IssueQuestion = {
  field: 'issue',
  selection: '...History',
  fragments: `fragment History on Issue {
  lastEditedAt
  editor { ...Account }
  includesCreatedEdit
  userContentEdits(first: 50) { pageInfo { hasNextPage } nodes { editedAt editor { ...Account } } }
  timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT, RENAMED_TITLE_EVENT, REOPENED_EVENT]) {
    pageInfo { hasPreviousPage }
    nodes {
      __typename
      ... on LabeledEvent { createdAt actor { ...Account } label { name } }
      ... on UnlabeledEvent { createdAt actor { ...Account } label { name } }
      ... on RenamedTitleEvent { createdAt actor { ...Account } }
      ... on ReopenedEvent { createdAt actor { ...Account } }
    }
  }
}
${ACCOUNT_FRAGMENT}`,
  atOnce: 50,
};

/** A body may have 65,536 characters: ten issues are 33 MB at worst. */
const commentsQuestion: IssueQuestion = {
  field: 'issue',
  selection: '...Comments',
  fragments: `fragment Comments on Issue {
  comments(last: 50) { nodes { author { ...Account } body createdAt lastEditedAt editor { ...Account } isMinimized } }
}
${ACCOUNT_FRAGMENT}`,
  atOnce: 10,
};

interface HistoryAnswer {
  readonly lastEditedAt: string | null;
  readonly editor: Actor | null;
  readonly includesCreatedEdit: boolean;
  readonly userContentEdits: {
    readonly pageInfo: { readonly hasNextPage: boolean };
    readonly nodes: readonly (EditAnswer | null)[];
  } | null;
  readonly timelineItems: {
    readonly pageInfo: { readonly hasPreviousPage: boolean };
    readonly nodes: readonly (EventAnswer | null)[];
  };
}

interface EditAnswer {
  readonly editedAt: string;
  readonly editor: Actor | null;
}

interface EventAnswer {
  readonly __typename: 'LabeledEvent' | 'UnlabeledEvent' | 'RenamedTitleEvent' | 'ReopenedEvent';
  readonly createdAt: string;
  readonly actor: Actor | null;
  readonly label?: { readonly name: string };
}

interface CommentsAnswer {
  readonly comments: { readonly nodes: readonly (CommentAnswer | null)[] };
}

interface CommentAnswer {
  readonly author: Actor | null;
  readonly body: string;
  readonly createdAt: string;
  readonly lastEditedAt: string | null;
  readonly editor: Actor | null;
  readonly isMinimized: boolean;
}

/** `labels`: in lower case, the only ones that count. */
function toHistory(answer: HistoryAnswer, labels: readonly string[]): IssueHistory {
  const { nodes, pageInfo } = answer.timelineItems;
  const events = nodes.filter(isThere);
  const ofType = (...types: readonly EventAnswer['__typename'][]) =>
    oldestFirst(
      events
        .filter(({ __typename: type }) => types.includes(type))
        .map((event) => ({ ...did(event.actor, event.createdAt), event })),
    );
  const body = bodyEdits(answer);
  return {
    labelings: ofType('LabeledEvent', 'UnlabeledEvent')
      .map(({ by, at, event }) => ({
        kind: event.__typename === 'LabeledEvent' ? ('labeled' as const) : ('unlabeled' as const),
        label: event.label?.name ?? '',
        by,
        at,
      }))
      .filter(({ label }) => labels.includes(label.toLowerCase())),
    reopenings: ofType('ReopenedEvent').map(({ by, at }) => ({ by, at })),
    edits: oldestFirst([...body.edits, ...ofType('RenamedTitleEvent').map(({ by, at }) => ({ by, at }))]),
    // What GitHub keeps back is not known to be harmless.
    truncated: body.truncated || pageInfo.hasPreviousPage || events.length < nodes.length,
  };
}

type Edits = Pick<IssueHistory, 'edits' | 'truncated'>;

/** Changes of the body. The oldest entry may be the first writing, which is not a change. One that GitHub keeps back may have been made by anybody, as late as the last. */
function bodyEdits({ userContentEdits, includesCreatedEdit, lastEditedAt, editor }: HistoryAnswer): Edits {
  const nodes = userContentEdits?.nodes ?? [];
  const isCut = userContentEdits?.pageInfo.hasNextPage ?? false;
  const listed = oldestFirst(nodes.filter(isThere).map((edit) => did(edit.editor, edit.editedAt)));
  const edits = includesCreatedEdit && !isCut ? listed.slice(1) : listed;
  const isKeptBack = listed.length < nodes.length;
  const last =
    lastEditedAt === null ? null : { by: isKeptBack ? null : toAccount(editor), at: Date.parse(lastEditedAt) };
  const isHidden = last !== null && (isKeptBack || !edits.some(({ at }) => at >= last.at));
  return { edits: isHidden ? [...edits, last] : edits, truncated: isCut || isHidden || isKeptBack };
}

function toComment({ author, body, createdAt, lastEditedAt, editor, isMinimized }: CommentAnswer): IssueComment {
  return {
    by: toAccount(author),
    body,
    at: Date.parse(createdAt),
    edited: lastEditedAt === null ? null : did(editor, lastEditedAt),
    minimized: isMinimized,
  };
}

function did(actor: Actor | null, at: string) {
  return { by: toAccount(actor), at: Date.parse(at) };
}

function oldestFirst<T extends { readonly at: number }>(entries: readonly T[]): readonly T[] {
  return entries.toSorted((left, right) => left.at - right.at);
}

/** A list of GraphQL has null for an entry that it could not show. */
function isThere<T>(entry: T | null): entry is T {
  return entry !== null;
}
