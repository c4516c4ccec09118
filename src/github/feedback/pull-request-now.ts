import { setTimeout } from 'node:timers/promises';
import type {
  PullRequestNow,
  ReviewNow,
  ReviewState,
  ThreadComment,
  ThreadNow,
} from '../../core/feedback/pull-request-now.ts';
import { isEmailOfBot } from '../../core/snapshot/stored-pull.ts';
import { cutText, flattenText, completeSentence } from '../../core/text/phrase.ts';
import { type Client, type ForgeOptions, type Octokit, type RepositoryName, toAccount, usualPace } from '../client.ts';
import { extractGraphqlAnswer, isUnknownField, mayWorkInParts } from '../graphql/errors.ts';
import { readAllowedParts, listChecks, type RefusedParts } from './checks-now.ts';
import {
  type ChecksAnswer,
  type ChecksPart,
  buildChecksQuery,
  type CommentAnswer,
  emailOfAuthor,
  MAX_UNRESOLVED_THREADS,
  type PlainCommentAnswer,
  type PullAnswer,
  buildPullRequestQuery,
  type ReviewAnswer,
  buildConversationQuery,
  keepShownEntries,
  SMALL_PAGE,
  type ThreadAnswer,
  type ThreadPage,
  type ThreadsAnswer,
  buildThreadsQuery,
  readStanding,
  type BranchAnswer,
} from './pull-request-query.ts';
import { askWithKnownFields, type LackingFields, parseMergeability, convertStanding } from './standing.ts';

const READY = 'markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { id } }';

const DRAFT = 'convertPullRequestToDraft(input: { pullRequestId: $id }) { pullRequest { id } }';

const DISARM = 'disablePullRequestAutoMerge(input: { pullRequestId: $id }) { pullRequest { id } }';

const DEQUEUE = 'dequeuePullRequest(input: { id: $id }) { mergeQueueEntry { id } }';

/** Seconds until GitHub is asked again whether a pull request conflicts, which the first query makes it compute. */
export const COMPUTES_SECONDS = 2;

/** Number of pages of threads beyond the first: 500 threads in total. */
const MORE_PAGES = 4;

/**
 * Creates a function that reads what people and CI say about the open pull request of a branch, or returns null if
 * there is no such pull request.
 */
export function createPullRequestReader(
  { ask }: Client,
  { log, pace = usualPace }: Pick<ForgeOptions, 'log' | 'pace'>,
): (branch: string) => Promise<PullRequestNow | null> {
  return (branch) =>
    ask(
      { doing: `read the comments and checks on the pull request of ${branch}`, needs: ['pull-requests: read'] },
      async (octokit, at) => {
        const inParts = (): Promise<ReadPull | null> => {
          log.info(
            'GitHub did not answer the whole query about the pull request, so it is sent again in smaller parts.',
          );
          return readInParts(octokit, at, branch);
        };
        const whole = await readAtOnce(octokit, at, branch).catch((error: unknown) => {
          if (!mayWorkInParts(error)) throw error;
          return inParts();
        });
        const isPartial = whole !== null && whole.page === MAX_UNRESOLVED_THREADS && whole.refused.isTemporary;
        const read = isPartial ? await inParts().catch(() => whole) : whole;
        if (read === null) return null;
        const { pull, refused } = read;
        if (refused.checks === null && refused.statuses !== null)
          log.info(`Commit statuses are not read. ${refused.statuses}`);
        const threads = await allThreads(octokit, at, read);
        const mergeable = parseMergeability(pull.mergeable);
        if (mergeable !== 'unknown') return toPullRequest({ pull, threads, refused, mergeable });
        await setTimeout(COMPUTES_SECONDS * pace.secondMs);
        const again = await readStanding(octokit, at, branch).catch(ignoreFailure);
        return toPullRequest({ pull, threads, refused, mergeable: again?.mergeable ?? mergeable });
      },
    );
}

/** Ignores a failed second query about the mergeability, which then stays unknown. */
function ignoreFailure(error: unknown): null {
  if (mayWorkInParts(error)) return null;
  throw error;
}

/** A pull request as GitHub returned it; `page` is the size of a page of threads. */
interface ReadPull {
  readonly pull: PullAnswer;
  readonly refused: RefusedParts;
  readonly page: number;
  readonly lacking: LackingFields;
}

async function readAtOnce(octokit: Octokit, at: RepositoryName, branch: string): Promise<ReadPull | null> {
  return askWithKnownFields(async (lacking) => {
    const { data, refused } = await readAllowedParts(
      octokit.graphql<BranchAnswer<PullAnswer>>(buildPullRequestQuery(lacking), {
        ...at,
        branch: `refs/heads/${branch}`,
      }),
    );
    const [pull] = keepShownEntries(data.repository.ref?.associatedPullRequests);
    return pull === undefined || pull.isCrossRepository
      ? null
      : { pull, refused, page: MAX_UNRESOLVED_THREADS, lacking };
  });
}

/**
 * Reads the conversation in small pages, and the checks of head and base in separate queries, which may fail without
 * losing the rest.
 */
async function readInParts(octokit: Octokit, at: RepositoryName, branch: string): Promise<ReadPull | null> {
  const variables = { ...at, branch: `refs/heads/${branch}` };
  return askWithKnownFields(async (lacking) => {
    const { repository } = await octokit.graphql<BranchAnswer<PullAnswer>>(buildConversationQuery(lacking), variables);
    const [pull] = keepShownEntries(repository.ref?.associatedPullRequests);
    if (pull === undefined || pull.isCrossRepository) return null;
    const [head, base] = [await checksPart('head'), await checksPart('base')];
    const { commits = { nodes: null } } = head.found;
    const { baseRef = pull.baseRef } = base.found;
    const refused = head.refused.checks === null ? base.refused : head.refused;
    return { pull: { ...pull, commits, baseRef }, refused, page: SMALL_PAGE, lacking };
  });

  async function checksPart(
    part: ChecksPart,
  ): Promise<{ readonly found: Partial<Pick<PullAnswer, 'commits' | 'baseRef'>>; readonly refused: RefusedParts }> {
    try {
      const { data, refused } = await askWithKnownFields((lacking) =>
        readAllowedParts(octokit.graphql<ChecksAnswer>(buildChecksQuery(part, lacking), variables)),
      );
      return { found: keepShownEntries(data.repository.ref?.associatedPullRequests)[0] ?? {}, refused };
    } catch (error) {
      if (!mayWorkInParts(error)) throw error;
      const [first] = extractGraphqlAnswer(error).errors ?? [];
      const words = first?.message ?? (error instanceof Error ? error.message : '');
      const why = completeSentence(`GitHub answers: ${cutText(flattenText(words), 300)}`);
      // An unknown field stays unknown until the server is updated, so this failure is not temporary.
      const isTemporary = first === undefined || !isUnknownField(first);
      return { found: {}, refused: { checks: why, statuses: null, isTemporary } };
    }
  }
}

interface Threads {
  /** The newest unresolved threads, oldest first. */
  readonly open: readonly ThreadNow[];
  readonly more: number;
}

/**
 * Reads the unresolved threads. GitHub cannot leave out resolved ones, so an open thread of a long review may be
 * several pages later.
 */
async function allThreads(
  octokit: Octokit,
  at: RepositoryName,
  { pull: { number, reviewThreads }, page: size, lacking }: ReadPull,
): Promise<Threads> {
  const isOpen = ({ isResolved }: ThreadAnswer): boolean => !isResolved;
  let page: ThreadPage = reviewThreads;
  let unread = page.totalCount - (page.nodes?.length ?? 0);
  const open = keepShownEntries(page).filter(isOpen);
  for (
    let more = 0;
    more < MORE_PAGES && open.length < MAX_UNRESOLVED_THREADS && page.pageInfo.hasPreviousPage;
    more += 1
  ) {
    const { repository } = await octokit.graphql<ThreadsAnswer>(buildThreadsQuery(size, lacking), {
      ...at,
      number,
      before: page.pageInfo.startCursor,
    });
    page = repository.pullRequest.reviewThreads;
    unread -= page.nodes?.length ?? 0;
    open.unshift(...keepShownEntries(page).filter(isOpen));
  }
  const threads = open
    .map(toThread)
    .filter((thread) => thread !== null)
    .toSorted((left, right) => startOf(left) - startOf(right));
  const beyond = Math.max(0, threads.length - MAX_UNRESOLVED_THREADS);
  return { open: threads.slice(beyond), more: beyond + Math.max(0, unread) };
}

function toPullRequest(read: {
  readonly pull: PullAnswer;
  readonly threads: Threads;
  readonly refused: RefusedParts;
  readonly mergeable: PullRequestNow['mergeable'];
}): PullRequestNow {
  const { pull, threads, refused, mergeable } = read;
  const base = pull.baseRef?.target ?? null;
  return {
    ...convertStanding(pull),
    number: pull.number,
    url: pull.url,
    head: pull.headRefOid,
    heads: headsOf(pull),
    base: { branch: pull.baseRefName, tip: base?.oid ?? pull.baseRefOid },
    mergeable,
    threads: threads.open,
    moreThreads: threads.more,
    reviews: keepShownEntries(pull.reviews).flatMap(toReview),
    comments: keepShownEntries(pull.comments).flatMap(toPlainComment),
    checks:
      refused.checks === null
        ? { kind: 'known', head: listChecks(keepShownEntries(pull.commits)[0]?.commit ?? null), base: listChecks(base) }
        : { kind: 'unreadable', why: refused.checks, ...(refused.isTemporary ? { isTemporary: true } : {}) },
  };
}

/**
 * Returns the head and, if it is a merge of two commits or a bot's commit, the first parents down to the first other
 * commit.
 */
function headsOf({ headRefOid, newest }: PullAnswer): PullRequestNow['heads'] {
  const commits = keepShownEntries(newest).map(({ commit }) => commit);
  const below: string[] = [];
  let at: string | undefined = headRefOid;
  do {
    const commit = commits.find(({ oid }) => oid === at);
    const [first, second] = keepShownEntries(commit?.parents);
    const isOfPerson = second === undefined && (commit === undefined || !isEmailOfBot(emailOfAuthor(commit)));
    at = isOfPerson ? undefined : first?.oid;
    if (at !== undefined) below.push(at);
  } while (at !== undefined);
  return [headRefOid, ...below];
}

/** Converts a thread; returns null if no comment in it was submitted yet. */
function toThread(answer: ThreadAnswer): ThreadNow | null {
  const [first] = keepShownEntries(answer.first).flatMap(toComment);
  if (first === undefined) return null;
  const others = keepShownEntries(answer.newest)
    .filter(({ isMinimized }) => !isMinimized)
    .flatMap(toComment)
    .filter(({ id }) => id !== first.id);
  const { id, isOutdated, path, line, startLine, originalLine, diffSide, startDiffSide } = answer;
  return {
    ...{ id, isOutdated, path, line, startLine, originalLine },
    side: sides[diffSide],
    startSide: startDiffSide == null ? null : sides[startDiffSide],
    comments: [first, ...others],
  };
}

const sides = { LEFT: 'left', RIGHT: 'right' } as const;

function startOf({ comments: [first] }: ThreadNow): number {
  return first?.at ?? 0;
}

/**
 * Converts a comment. Leaves out comments that are not submitted yet, which a person's token can see. A hidden comment
 * has no text.
 */
function toComment(answer: CommentAnswer): readonly ThreadComment[] {
  const id = numberOf(answer.fullDatabaseId);
  if (id === null || answer.state === 'PENDING') return [];
  const comment: ThreadComment = {
    id,
    review: numberOf(answer.pullRequestReview?.fullDatabaseId ?? null),
    by: toAccount(answer.author),
    text: answer.isMinimized ? '' : answer.body,
    at: Date.parse(answer.createdAt),
    hunk: answer.diffHunk,
  };
  return [comment];
}

function toReview({ fullDatabaseId, url, state, body, submittedAt, author }: ReviewAnswer): readonly ReviewNow[] {
  const id = numberOf(fullDatabaseId);
  if (id === null) return [];
  const review: ReviewNow = {
    id,
    url,
    by: toAccount(author),
    state: reviewStates[state],
    text: body,
    at: submittedAt === null ? null : Date.parse(submittedAt),
  };
  return [review];
}

function toPlainComment({ fullDatabaseId, isMinimized, ...answer }: PlainCommentAnswer): readonly ReviewNow[] {
  const id = numberOf(fullDatabaseId);
  if (id === null || isMinimized) return [];
  const { url, body: text, author, createdAt } = answer;
  return [{ id, url, by: toAccount(author), state: 'comment', text, at: Date.parse(createdAt) }];
}

const reviewStates = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes-requested',
  COMMENTED: 'commented',
  DISMISSED: 'dismissed',
  PENDING: 'pending',
} as const;

/** Parses a number with 64 bits, which comes as text; returns null if it is not a valid id. */
function numberOf(text: string | null): number | null {
  const number = Number(text ?? Number.NaN);
  return Number.isSafeInteger(number) && number > 0 ? number : null;
}

/**
 * Removes a pull request from the merge queue, makes it a draft and switches its auto-merge off, as far as necessary.
 * If auto-merge cannot be switched off, the pull request becomes ready again as before.
 */
export async function withdrawFromMerging(client: Client, number: number, standing: ReviewState): Promise<void> {
  const { id, isDraft, autoMerge, isQueued } = standing;
  const name = `pull request #${String(number)}`;
  if (isQueued) await change(client, { doing: `remove ${name} from the merge queue`, mutation: DEQUEUE, id });
  // Nobody can merge a draft, so make the pull request a draft before the rest.
  if (!isDraft) await change(client, { doing: `make ${name} a draft again`, mutation: DRAFT, id });
  if (!autoMerge) return;
  try {
    await change(client, { doing: `switch off auto-merge of ${name}`, mutation: DISARM, id });
  } catch (error) {
    if (!isDraft) await markReady(client, number, id).catch(() => undefined);
    throw error;
  }
}

/** Marks a draft as ready for review. */
export function markReady(client: Client, number: number, id: string): Promise<void> {
  const doing = `mark pull request #${String(number)} as ready for review`;
  return change(client, { doing, mutation: READY, id });
}

/** Turns a pull request that is ready for review into a draft. */
export function makeDraft(client: Client, number: number, id: string): Promise<void> {
  return change(client, { doing: `make pull request #${String(number)} a draft again`, mutation: DRAFT, id });
}

function change(
  { ask }: Client,
  { doing, mutation, id }: { readonly doing: string; readonly mutation: string; readonly id: string },
): Promise<void> {
  return ask({ doing, needs: ['pull-requests: write', 'contents: write'] }, async (octokit) => {
    await octokit.graphql(`mutation ($id: ID!) { ${mutation} }`, { id });
  });
}
