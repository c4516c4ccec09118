import type { Feedback, FeedbackItem } from '../../core/feedback/memory.ts';
import type { TaskId } from '../../core/tasks/ids.ts';
import type { RunReport } from '../../handover/report.ts';
import { selectLaneReport } from '../facts.ts';
import { formatCount } from '../format.ts';

/** A request on the pull request, by id. `isOpen` is true while there is no answer, or while a person must decide. */
export interface FeedbackRequest {
  readonly id: TaskId;
  readonly item: FeedbackItem;
  readonly isOpen: boolean;
}

/** Lists every request that the lane remembers, oldest first. */
export function listFeedbackRequests(report: RunReport): readonly FeedbackRequest[] {
  return listStoredRequests(selectLaneReport(report)?.answers.items ?? {});
}

/** Lists the requests that a state remembers, in the order of the state. */
export function listStoredRequests(items: Feedback['items']): readonly FeedbackRequest[] {
  return Object.entries(items).map(([id, item]) => ({ id, item, isOpen: isOpen(item) }));
}

/** Returns one request, or null if the lane does not remember it. */
export function findFeedbackRequest(report: RunReport, id: TaskId): FeedbackItem | null {
  return listFeedbackRequests(report).find((asked) => asked.id === id)?.item ?? null;
}

function isOpen({ answer }: FeedbackItem): boolean {
  return answer === null || answer.kind === 'given-up';
}

/** Lists failed checks of the newest commit that were answered without a change, so that CI is still red. */
export function listStillRedChecks(report: RunReport): readonly FeedbackRequest[] {
  const { checks = null, headSha = null } = selectLaneReport(report) ?? {};
  // A remembered failure may have passed since, after a person re-ran the check, so look at the present counts.
  const isRed = checks?.counts == null || checks.counts.failed > checks.alsoOnBase.length;
  return listFeedbackRequests(report).filter(
    ({ item: { kind, asked, answer } }) =>
      isRed && kind === 'check' && answer?.kind === 'unchanged' && asked === headSha,
  );
}

/** Describes the objections of people and CI to the pull request, as a sentence part; empty if none is known. */
export function describeObjections(report: RunReport): string {
  const red = listStillRedChecks(report).length;
  const isUnread = (selectLaneReport(report)?.checks?.unreadable ?? null) !== null;
  return [
    describeOpenRequests(listFeedbackRequests(report)),
    red === 0 ? '' : `${formatCount(red, 'check')} still ${red === 1 ? 'fails' : 'fail'}`,
    isUnread ? 'its checks could not be read' : '',
  ]
    .filter((words) => words !== '')
    .join('; ');
}

type AskedKind = Pick<FeedbackRequest, 'isOpen'> & {
  readonly item: Pick<FeedbackItem, 'kind'> & { readonly answer: { readonly kind: string } | null };
};

/** Renders `2 review threads and 1 failed check are open, 1 needs a person`; empty if nothing is open. */
function describeOpenRequests(asked: readonly AskedKind[]): string {
  const open = asked.filter((one) => one.isOpen);
  if (open.length === 0) return '';
  const parts = Object.entries(NOUNS).flatMap(([kind, noun]) => {
    const some = open.filter(({ item }) => item.kind === kind).length;
    return some === 0 ? [] : [formatCount(some, noun)];
  });
  const last = parts.at(-1) ?? '';
  const names = parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
  const left = open.filter(({ item }) => item.answer?.kind === 'given-up').length;
  const needs = left === 0 ? '' : `, ${left === 1 ? '1 needs' : `${String(left)} need`} a person`;
  return `${names} ${open.length === 1 ? 'is' : 'are'} open${needs}`;
}

const NOUNS: Readonly<Record<FeedbackItem['kind'], string>> = {
  thread: 'review thread',
  review: 'review',
  comment: 'request',
  check: 'failed check',
  conflict: 'merge conflict',
};

/** Renders `3 answered, 1 review thread is open`; empty if there was no request. */
export function renderFeedbackCounts(asked: readonly AskedKind[]): string {
  const answered = asked.filter((one) => !one.isOpen).length;
  return [...(answered === 0 ? [] : [`${answered} answered`]), describeOpenRequests(asked)]
    .filter((part) => part !== '')
    .join(', ');
}

/**
 * Returns the page of a request. People ask in this repository, while checks may be anywhere. The page of a conflict is
 * the merge or, until there is one, the conflicting commit. Empty if there is no page.
 */
export function findRequestPage(
  { kind, url, asked, answer }: FeedbackItem,
  { repositoryUrl }: Pick<RunReport, 'repositoryUrl'>,
): string {
  if (kind === 'conflict') {
    const commit = answer?.commit ?? asked;
    return /^[0-9a-f]{7,64}$/.test(commit) ? `${repositoryUrl}/commit/${commit}` : '';
  }
  if (url === null) return '';
  return kind === 'check' || url.startsWith(`${repositoryUrl}/`) ? url : '';
}
