import { NOTICE_LABEL } from '../core/people/labels.ts';
import type { Forge, IssueComment, IssueHistory } from '../ports/forge.ts';
import { ACCOUNT_FRAGMENT, type Actor, type Client, type Octokit, type RepositoryName, toAccount } from './client.ts';
import type { RequestPurpose } from './errors.ts';
import { mayWorkInParts } from './graphql/errors.ts';

/**
 * A query about issues: a field of the repository that takes a number, what to select of it, and how many fit into one
 * request.
 */
export interface IssueQuestion {
  readonly field: 'issue' | 'issueOrPullRequest';
  readonly selection: string;
  /** Definitions of the fragments that `selection` uses. */
  readonly fragments: string;
  readonly atOnce: number;
}

/** Number of parts into which a query is divided if GitHub could not answer it. */
const PARTS = 5;

type Answers<T> = Readonly<Record<string, T | null>>;

type HistoryMethods = Pick<Forge, 'issueHistories' | 'commentsOf' | 'ownComment'>;

/** Creates methods that read who labelled, reopened, changed and commented on issues. */
export function createHistoryMethods(client: Client): HistoryMethods {
  return {
    async issueHistories(numbers, taskLabel, demands = []) {
      const labels = [taskLabel.toLowerCase(), NOTICE_LABEL];
      const found = await askAboutIssues<HistoryAnswer>(
        client,
        { doing: 'read who labelled and changed issues', needs: ['issues: read'] },
        { ...historyQuestion(demands), numbers },
      );
      return new Map([...found].map(([number, answer]) => [number, toHistory(answer, labels, demands)]));
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

    async ownComment(number, marker) {
      const purpose = { doing: `read the comments on #${String(number)}`, needs: ['issues: read'] };
      const found = await askAboutIssues<OwnCommentsAnswer>(client, purpose, { ...ownQuestion, numbers: [number] });
      const own = found
        .get(number)
        ?.comments.nodes.findLast((one) => one?.viewerDidAuthor === true && one.body.split(/\r?\n/, 1)[0] === marker);
      return own == null
        ? null
        : { body: own.body, at: Date.parse(own.createdAt), isEdited: own.lastEditedAt !== null };
    },
  };
}

/**
 * The events that set or unset the property that a search qualifier names, with the fields to select. Only events of a
 * demanded qualifier are queried, because older servers do not know them all.
 */
const GIVING: Readonly<Record<string, readonly (readonly [type: string, selection: string])[]>> = {
  assignee: [
    ['AssignedEvent', 'assignee { ... on Actor { login } }'],
    ['UnassignedEvent', 'assignee { ... on Actor { login } }'],
  ],
  milestone: [
    ['MilestonedEvent', 'milestoneTitle'],
    ['DemilestonedEvent', 'milestoneTitle'],
  ],
  type: [
    ['IssueTypeAddedEvent', 'issueType { name }'],
    ['IssueTypeChangedEvent', 'issueType { name } prevIssueType { name }'],
    ['IssueTypeRemovedEvent', 'issueType { name }'],
  ],
  project: [['AddedToProjectV2Event', '']],
};

/** Returns the query for histories. GitHub lists the changes of a body newest first, and the events oldest first. */
function historyQuestion(demands: readonly string[]): IssueQuestion {
  const giving = Object.entries(GIVING).flatMap(([qualifier, events]) =>
    demands.some((demand) => demand.startsWith(`${qualifier}:`)) ? events : [],
  );
  const author = demands.some((demand) => demand.startsWith('author:')) ? 'createdAt author { ...Account }' : '';
  const types = giving.map(([type]) => `, ${type.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '_').toUpperCase()}`);
  return {
    field: 'issue',
    selection: '...History',
    atOnce: 50,
    fragments: `fragment History on Issue {
  ${author}
  lastEditedAt
  editor { ...Account }
  includesCreatedEdit
  userContentEdits(first: 50) { pageInfo { hasNextPage } nodes { editedAt editor { ...Account } } }
  timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT, RENAMED_TITLE_EVENT, REOPENED_EVENT${types.join('')}]) {
    pageInfo { hasPreviousPage }
    nodes {
      __typename
      ... on LabeledEvent { createdAt actor { ...Account } label { name } }
      ... on UnlabeledEvent { createdAt actor { ...Account } label { name } }
      ... on RenamedTitleEvent { createdAt actor { ...Account } }
      ... on ReopenedEvent { createdAt actor { ...Account } }
      ${giving.map(([type, selection]) => `... on ${type} { createdAt actor { ...Account } ${selection} }`).join('\n      ')}
    }
  }
}
${ACCOUNT_FRAGMENT}`,
  };
}

/** The query for comments. A body may have 65,536 characters, so ten issues are 33 MB at worst. */
const commentsQuestion: IssueQuestion = {
  field: 'issue',
  selection: '...Comments',
  fragments: `fragment Comments on Issue {
  comments(last: 50) { nodes { author { ...Account } body createdAt lastEditedAt editor { ...Account } isMinimized } }
}
${ACCOUNT_FRAGMENT}`,
  atOnce: 10,
};

/** The query for this account's own comments. */
const ownQuestion: IssueQuestion = {
  field: 'issue',
  selection: 'comments(last: 100) { nodes { viewerDidAuthor body createdAt lastEditedAt } }',
  fragments: '',
  atOnce: 1,
};

interface OwnCommentsAnswer {
  readonly comments: {
    readonly nodes: readonly (
      | (Pick<CommentAnswer, 'body' | 'createdAt' | 'lastEditedAt'> & { readonly viewerDidAuthor: boolean })
      | null
    )[];
  };
}

interface HistoryAnswer {
  readonly createdAt?: string;
  readonly author?: Actor | null;
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
  readonly __typename: string;
  readonly createdAt: string;
  readonly actor: Actor | null;
  readonly label?: { readonly name: string };
  readonly assignee?: { readonly login?: string } | null;
  readonly milestoneTitle?: string;
  readonly issueType?: { readonly name: string } | null;
  readonly prevIssueType?: { readonly name: string } | null;
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

/** Converts a history. Only `labels` (in lower case) and the qualifiers `demands` count. */
function toHistory(answer: HistoryAnswer, labels: readonly string[], demands: readonly string[]): IssueHistory {
  const { nodes, pageInfo } = answer.timelineItems;
  const events = nodes.filter(isThere);
  const ofType = (...types: readonly string[]) =>
    oldestFirst(
      events
        .filter(({ __typename: type }) => types.includes(type))
        .map((event) => ({ ...deedBy(event.actor, event.createdAt), event })),
    );
  const body = bodyEdits(answer);
  const opening = deedBy(answer.author ?? null, answer.createdAt ?? '');
  const given = oldestFirst(
    events.flatMap((event) =>
      givenBy(event).map(([kind, what]) => ({ ...deedBy(event.actor, event.createdAt), kind, what })),
    ),
  );
  return {
    given: [{ ...opening, kind: 'set' as const, what: `author:${opening.by?.login ?? ''}` }, ...given]
      .map((one) => ({ ...one, what: one.what.toLowerCase() }))
      .filter(({ what }) => demands.includes(what)),
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
    // An entry that GitHub withholds makes the history incomplete, because it may matter.
    truncated: body.truncated || pageInfo.hasPreviousPage || events.length < nodes.length,
  };
}

/** Returns the properties that an event set or unset, each as a search names it. */
function givenBy(event: EventAnswer): readonly (readonly ['set' | 'unset', string])[] {
  const { __typename: type, label, assignee, milestoneTitle, issueType, prevIssueType } = event;
  const kind = /^Un|^De|Removed/.test(type) ? 'unset' : 'set';
  const named = {
    label: label?.name,
    assignee: assignee?.login,
    milestone: milestoneTitle,
    type: issueType?.name,
    project: type === 'AddedToProjectV2Event' ? '' : undefined,
  };
  return [
    ...(prevIssueType == null ? [] : [['unset', `type:${prevIssueType.name}`] as const]),
    ...Object.entries(named).flatMap(([qualifier, value]) =>
      value === undefined ? [] : [[kind, `${qualifier}:${value}`] as const],
    ),
  ];
}

type Edits = Pick<IssueHistory, 'edits' | 'truncated'>;

/**
 * Returns the changes of the body. The oldest entry may be the first version, which is not a change. A change that
 * GitHub withholds may have been made by anybody, as late as the last one.
 */
function bodyEdits({ userContentEdits, includesCreatedEdit, lastEditedAt, editor }: HistoryAnswer): Edits {
  const nodes = userContentEdits?.nodes ?? [];
  const isCut = userContentEdits?.pageInfo.hasNextPage ?? false;
  const listed = oldestFirst(nodes.filter(isThere).map((edit) => deedBy(edit.editor, edit.editedAt)));
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
    edited: lastEditedAt === null ? null : deedBy(editor, lastEditedAt),
    minimized: isMinimized,
  };
}

function deedBy(actor: Actor | null, at: string) {
  return { by: toAccount(actor), at: Date.parse(at) };
}

function oldestFirst<T extends { readonly at: number }>(entries: readonly T[]): readonly T[] {
  return entries.toSorted((left, right) => left.at - right.at);
}

/** Returns true if GraphQL could show an entry; one that it could not show is null. */
function isThere<T>(entry: T | null): entry is T {
  return entry !== null;
}

/**
 * Returns GraphQL's answers by number, with as few requests as `atOnce` allows. Issues that no longer exist (deleted,
 * transferred), or that cannot exist, are left out. Only numbers are written into a query; names are passed as
 * variables.
 */
export async function askAboutIssues<T>(
  { ask }: Client,
  purpose: RequestPurpose,
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

/**
 * Returns true if a number is possible: a larger one is not an Int of GraphQL, and GitHub would refuse the whole query.
 */
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

/** Sends a query and, if GitHub cannot answer it for all issues, sends it again in parts of a few issues. */
async function sendInParts<T>(
  octokit: Octokit,
  at: RepositoryName,
  { part, question }: { readonly part: readonly number[]; readonly question: IssueQuestion },
): Promise<Answers<T>> {
  try {
    return await send<T>(octokit, at, query(part, question));
  } catch (error) {
    if (part.length === 1 || !mayWorkInParts(error)) throw error;
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
    const found = dataWithoutMissingIssues<T>(error);
    if (found === null) throw error;
    return found;
  }
}

/**
 * Returns the data of an answer whose only errors are about issues that do not exist; null if anything else went wrong.
 */
function dataWithoutMissingIssues<T>(error: unknown): Answers<T> | null {
  const { errors, data } = (error instanceof Error ? error : {}) as {
    readonly errors?: readonly { readonly type?: string; readonly path?: readonly unknown[] }[];
    readonly data?: { readonly repository?: Answers<T> | null } | null;
  };
  const isMissingIssue = errors?.every(({ type, path }) => type === 'NOT_FOUND' && path?.length === 2) ?? false;
  return isMissingIssue ? (data?.repository ?? null) : null;
}
