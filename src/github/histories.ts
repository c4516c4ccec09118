import { NOTICE_LABEL } from '../core/people/labels.ts';
import type { Forge, IssueComment, IssueHistory } from '../ports/forge.ts';
import { ACCOUNT_FRAGMENT, type Actor, type Client, type Octokit, type RepositoryName, toAccount } from './client.ts';
import type { Purpose } from './errors.ts';
import { isWorthSmaller } from './graphql/weather.ts';

/** What is wanted to know of issues: a field of the repository that takes a number, what to select of it, and how many fit one request. */
export interface IssueQuestion {
  readonly field: 'issue' | 'issueOrPullRequest';
  readonly selection: string;
  /** Definitions of the fragments that `selection` uses. */
  readonly fragments: string;
  readonly atOnce: number;
}

/** Into so many parts a question is divided that GitHub could not answer. */
const PARTS = 5;

type Answers<T> = Readonly<Record<string, T | null>>;

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

/**
 * GraphQL's answers by number, in as few requests as `atOnce` allows. What is not there any more (deleted, transferred),
 * or cannot be there, is left out. Numbers are all that is written into a query; names go as variables.
 */
export async function askAboutIssues<T>(
  { ask }: Client,
  purpose: Purpose,
  { numbers, ...question }: IssueQuestion & { readonly numbers: readonly number[] },
): Promise<ReadonlyMap<number, T>> {
  const wanted = [...new Set(numbers)].filter(isPossible);
  const found = new Map<number, T>();
  for (let from = 0; from < wanted.length; from += question.atOnce) {
    const part = wanted.slice(from, from + question.atOnce);
    const answers = await ask(purpose, (octokit, at) => sendInParts<T>(octokit, at, { part, question }));
    for (const number of part) {
      const answer = answers[aliasOf(number)] ?? null;
      if (answer !== null) found.set(number, answer);
    }
  }
  return found;
}

/** A larger number is no Int of GraphQL, and would have the whole query refused. */
function isPossible(number: number): boolean {
  return Number.isInteger(number) && number > 0 && number < 2 ** 31;
}

function aliasOf(number: number): string {
  return `i${String(number)}`;
}

function query(numbers: readonly number[], { field, selection, fragments }: IssueQuestion): string {
  const fields = numbers.map((number) => `${aliasOf(number)}: ${field}(number: ${String(number)}) { ${selection} }`);
  return `query ($owner: String!, $repo: String!) { repository(owner: $owner, name: $repo) { ${fields.join(' ')} } }\n${fragments}`;
}

/** Sends a query once more, in parts of a few issues, if GitHub cannot answer it for all of them. */
async function sendInParts<T>(
  octokit: Octokit,
  at: RepositoryName,
  { part, question }: { readonly part: readonly number[]; readonly question: IssueQuestion },
): Promise<Answers<T>> {
  try {
    return await send<T>(octokit, at, query(part, question));
  } catch (error) {
    if (part.length === 1 || !isWorthSmaller(error)) throw error;
    const few = Math.ceil(part.length / PARTS);
    let answers: Answers<T> = {};
    for (let from = 0; from < part.length; from += few)
      answers = { ...answers, ...(await send<T>(octokit, at, query(part.slice(from, from + few), question))) };
    return answers;
  }
}

async function send<T>(octokit: Octokit, at: RepositoryName, text: string): Promise<Answers<T>> {
  try {
    return (await octokit.graphql<{ readonly repository: Answers<T> }>(text, { ...at })).repository;
  } catch (error) {
    const found = besideMissing<T>(error);
    if (found === null) throw error;
    return found;
  }
}

/** GraphQL answers with data and errors at once when some issues are not there; null when anything else went wrong as well. */
function besideMissing<T>(error: unknown): Answers<T> | null {
  const { errors, data } = (error instanceof Error ? error : {}) as {
    readonly errors?: readonly { readonly type?: string; readonly path?: readonly unknown[] }[];
    readonly data?: { readonly repository?: Answers<T> | null } | null;
  };
  const isMissingIssue = errors?.every(({ type, path }) => type === 'NOT_FOUND' && path?.length === 2) ?? false;
  return isMissingIssue ? (data?.repository ?? null) : null;
}
