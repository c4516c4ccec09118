import type { PullRequestNow, ReviewState } from '../../core/feedback/pull-request-now.ts';
import { type Actor, toAccount } from '../client.ts';
import { extractGraphqlAnswer, findUnknownName } from '../graphql/errors.ts';

/**
 * Fields of a pull request that an older Enterprise server may not know; without them the pull request is treated as
 * one without auto-merge or merge queue.
 */
const OPTIONAL = { autoMergeRequest: 'autoMergeRequest { enabledAt }', isInMergeQueue: 'isInMergeQueue' } as const;

/** Other fields and arguments that older servers may not know, with their replacements. */
const REPLACED: Readonly<Record<string, readonly [RegExp, string]>> = {
  // Use `databaseId`, whose 32 bits are enough on older servers.
  fullDatabaseId: [/\bfullDatabaseId\b/g, 'fullDatabaseId: databaseId'],
  file: [/\bfile \{ path \}/g, ''],
  startDiffSide: [/\bstartDiffSide\b/g, ''],
  writersOnly: [/, writersOnly: true/g, ''],
  conclusions: [/\bfailed: checkRuns\([^)]*\) \{ nodes \{[^}]*\} \}/g, ''],
};

/** Additional fields and types that the query for the list of open pull requests contains but can do without. */
const OF_THE_TRAIN: readonly string[] = ['rules', 'RequiredStatusChecksParameters', 'mergeStateStatus'];

/** Returns the query without the fields that the server does not know. */
export function removeUnknownFields(query: string, lacking: LackingFields): string {
  return [...lacking].reduce((text, name) => {
    const replaced = Object.hasOwn(REPLACED, name) ? REPLACED[name] : undefined;
    return replaced === undefined ? text : text.replace(...replaced);
  }, query);
}

/** The fields that this server does not know. */
export type LackingFields = ReadonlySet<string>;
const noFieldLacks: LackingFields = new Set();

/**
 * Returns the fields with people's decisions on a pull request (draft, reviews, auto-merge), for a query with
 * `ACCOUNT_FRAGMENT`.
 */
export function buildStandingFields(lacking: LackingFields): string {
  const known = Object.entries(OPTIONAL).filter(([name]) => !lacking.has(name));
  return `id isDraft reviewDecision ${known.map(([, field]) => field).join(' ')}
    latestOpinionatedReviews(first: 50, writersOnly: true) { nodes { state author { ...Account } } }`;
}

export interface StandingAnswer {
  readonly id: string;
  readonly isDraft: boolean;
  readonly reviewDecision: 'APPROVED' | 'CHANGES_REQUESTED' | 'REVIEW_REQUIRED' | null;
  readonly autoMergeRequest?: { readonly enabledAt: string | null } | null;
  readonly isInMergeQueue?: boolean;
  readonly latestOpinionatedReviews: {
    readonly nodes: readonly ({ readonly state: string; readonly author: Actor | null } | null)[] | null;
  } | null;
}

/** Converts GitHub's answer to the decisions of people on a pull request. */
export function convertStanding(answer: StandingAnswer): ReviewState {
  const { id, isDraft, reviewDecision, autoMergeRequest = null, isInMergeQueue = false } = answer;
  const opinions = (answer.latestOpinionatedReviews?.nodes ?? []).filter((node) => node !== null);
  const peopleWho = (wanted: string): readonly string[] =>
    opinions.flatMap(({ state, author }) => {
      const account = state === wanted ? toAccount(author) : null;
      return account?.kind === 'user' ? [account.login] : [];
    });
  return {
    id,
    isDraft,
    decision: convertDecision(reviewDecision),
    approvedBy: peopleWho('APPROVED'),
    changesRequestedBy: peopleWho('CHANGES_REQUESTED'),
    autoMerge: autoMergeRequest !== null,
    isQueued: isInMergeQueue,
  };
}

/** Returns the reviewers' decision in Ralph's words, or null if no review is required. */
export function convertDecision(answer: StandingAnswer['reviewDecision']): ReviewState['decision'] {
  return answer === null ? null : decisions[answer];
}

const decisions = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes-requested',
  REVIEW_REQUIRED: 'review-required',
} as const;

/** Sends a query with all fields and, if the server does not know some of them, once more without those. */
export async function askWithKnownFields<T>(ask: (lacking: LackingFields) => Promise<T>): Promise<T> {
  try {
    return await ask(noFieldLacks);
  } catch (error) {
    const { errors = [] } = extractGraphqlAnswer(error);
    const unknown = errors.flatMap(({ message = '' }) => findUnknownName(message) ?? []);
    const isKnownHow = (name: string): boolean =>
      Object.hasOwn(OPTIONAL, name) || Object.hasOwn(REPLACED, name) || OF_THE_TRAIN.includes(name);
    if (unknown.length === 0 || !unknown.every(isKnownHow)) throw error;
    return ask(new Set(unknown));
  }
}

/** Converts GitHub's word for the mergeability of a pull request. */
export function parseMergeability(answer: string): PullRequestNow['mergeable'] {
  return answer === 'MERGEABLE' ? 'mergeable' : answer === 'CONFLICTING' ? 'conflicting' : 'unknown';
}
