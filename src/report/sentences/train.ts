import { listFirstNames } from '../../core/text/phrase.ts';
import {
  listPullsAhead,
  type MergeObstacle,
  findNextPull,
  type Train,
  type TrainPull,
  type AutoMerge,
} from '../../core/train/train.ts';
import { renderCode, renderProse } from '../markdown.ts';

const BEGIN = '<!-- ralph:merge-order -->';

const END = '<!-- ralph:merge-order-end -->';

/** The end of our part of a description; on a page of an earlier version, the order is inserted before it. */
const PART_END = '<!-- ralph:end -->';

/** Maximum number of pull requests listed. */
const LISTED = 20;

const OBSTACLE_WORDS: Readonly<Record<MergeObstacle, string>> = {
  conflict:
    'it conflicts with its base branch, which one of the next runs of the queue merges into it (each takes up one pull request)',
  foreign: 'it conflicts with its base branch, which is not the one that runs merge',
  checks: 'a check fails',
  'changes-requested': 'a reviewer requested changes',
  unfinished: 'it is still a draft',
  unknown: 'GitHub has not worked out yet whether it can be merged',
  update: 'a rule requires it to be up to date with its base branch, which the next run merges into it',
};

/** The obstacles that the page of a pull request shows in any case; they matter only for an order of several. */
const SHOWN_ELSEWHERE: readonly MergeObstacle[] = ['checks', 'changes-requested', 'unfinished', 'unknown'];

/** Returns which pull request to merge next, and why, as one sentence; empty unless there are several. */
export function renderNextToMerge(train: Train): string {
  const { pulls, isCompared } = train;
  if (pulls.length < 2) return '';
  const next = findNextPull(train);
  if (next === null) return `None of the ${String(pulls.length)} open pull requests can be merged now.`;
  const name = `#${String(next.number)}`;
  const how = next.needsReview ? `Review and merge ${name} next` : `Merge ${name} next`;
  const why = !isCompared
    ? 'it has waited longest (git could not tell which of them conflict with each other)'
    : next.conflictsWith.length === 0
      ? 'it conflicts with none of the others, and has waited longest of those'
      : `it conflicts with the fewest others (${numbersOf(next.conflictsWith)})`;
  return next.obstacle === 'update' ? `${name} is the next to merge: ${OBSTACLE_WORDS.update}.` : `${how}: ${why}.`;
}

/**
 * Returns what one pull request waits for, and whether it is behind its base branch, as one sentence of Markdown; empty
 * if neither is the case.
 */
export function describePullStanding(train: Train, pull: TrainPull): string {
  const ahead = listPullsAhead(train, pull);
  const facts = [
    ...(pull.obstacle === null || (train.pulls.length < 2 && SHOWN_ELSEWHERE.includes(pull.obstacle))
      ? []
      : [OBSTACLE_WORDS[pull.obstacle]]),
    ...(ahead.length === 0 ? [] : [`it conflicts with ${numbersOf(ahead)}, which comes first`]),
    ...(pull.behind === 'left' && pull.obstacle !== 'conflict' && pull.obstacle !== 'foreign'
      ? ['it is only behind its base branch and stays so: no rule requires it to be up to date']
      : []),
    ...(pull.stale.length === 0
      ? []
      : [
          `it was verified before its base branch changed the same files (${listFirstNames(pull.stale.map((path) => renderCode(path, 120)))})`,
        ]),
  ];
  return facts.length === 0 ? '' : `#${String(pull.number)}: ${facts.join('; ')}.`;
}

/** Describes the result of auto-merge, and advice, in a few sentences of Markdown. */
export function renderAutoMerge({ number, kind, detail }: AutoMerge): string {
  const name = `#${String(number)}`;
  switch (kind) {
    case 'armed':
      return `Auto-merge of ${name} is on: GitHub merges it as soon as the rules of its base branch hold. A merge that the job's own token has armed starts no workflow; the token of a GitHub App solves that.`;
    case 'still-armed':
      return `Auto-merge of ${name} is on, although its newest commit is a person's, and GitHub refused to switch it off: ${renderProse(detail, 300)} Switch it off yourself, or review that commit.`;
    case 'at-once':
      return `Auto-merge of ${name} is off: nothing keeps it from being merged now, so GitHub arms nothing. Merge it yourself, or have a rule of its base branch require a review or a check.`;
    case 'not-allowed':
      return `Auto-merge of ${name} is off: the repository does not allow it. Turn on “Allow auto-merge” in its settings, under Pull Requests.`;
    case 'refused':
      return `Auto-merge of ${name} is off, since GitHub refused it: ${renderProse(detail, 300)} Merge it yourself, or solve that: the next run tries again.`;
    case 'look-at':
      return `Auto-merge of ${name} is off: it has files to look at first (${renderCode(detail, 300)}). Merge it yourself once you have reviewed them.`;
    default:
      return `Auto-merge of ${name} is off: ${PREVENTED_WORDS[kind]}.`;
  }
}

const PREVENTED_WORDS = {
  unknown: "its branch's state could not be read",
  incomplete: 'its work is not complete. The next run continues it',
  unverified: 'its newest commit was not verified in a clean clone. Set `verify`, or merge it yourself',
  person: "its newest commit is a person's. Merge it yourself once you have reviewed that",
  'switched-off': 'somebody has switched it off. Switch it on again, or merge it yourself',
  'review-again': 'its commits are newer than what people decided. Review it again',
} as const;

/** Renders the order of all open pull requests as Markdown; empty if there is nothing to report. */
export function renderTrainSection(train: Train | null): string {
  if (train === null) return '';
  const lines = train.pulls.slice(0, LISTED).map((pull) => describePullStanding(train, pull));
  const armed = train.autoMerge === null ? '' : renderAutoMerge(train.autoMerge);
  const said = [renderNextToMerge(train), armed, ...lines].filter((line) => line !== '');
  return said.length === 0 ? '' : ['### Merge order', ...said.map((line) => `- ${line}`)].join('\n');
}

/**
 * Renders the order on the page of one pull request, between its own markers; `number` is null for a pull request that
 * is about to be opened.
 */
export function renderTrainPart(train: Train | null, number: number | null): string {
  if (train === null) return '';
  const own = train.pulls.find((pull) => pull.number === number);
  const lines = [
    renderNextToMerge(train),
    ...(own === undefined ? [] : [describePullStanding(train, own)]),
    ...(train.autoMerge !== null && train.autoMerge.number === number ? [renderAutoMerge(train.autoMerge)] : []),
  ].filter((line) => line !== '');
  return lines.length === 0 ? '' : `${BEGIN}\n${lines.join('\n\n')}\n${END}`;
}

/** Returns the description with the present order; leaves a description without our part as it is. */
export function withTrainPart(body: string, part: string): string {
  const [begin, end] = [body.indexOf(BEGIN), body.indexOf(END)];
  if (begin !== -1 && end > begin) {
    const [before, after] = [body.slice(0, begin), body.slice(end + END.length)];
    return part === '' ? `${before.trimEnd()}\n\n${after.trimStart()}` : `${before}${part}${after}`;
  }
  const close = body.lastIndexOf(PART_END);
  return part === '' || close === -1 ? body : `${body.slice(0, close).trimEnd()}\n\n${part}\n${body.slice(close)}`;
}

function numbersOf(numbers: readonly number[]): string {
  return listFirstNames(numbers.map((number) => `#${String(number)}`));
}
