import type { TaskHistory } from '../history/task-history.ts';
import type { IssueText } from '../tasks/issue-task.ts';

/** Facts about a task before it starts: the results of similar tasks, and advice on its text. */
export interface Forecast {
  readonly similar: SimilarTasks | null;
  readonly advice: readonly ForecastAdvice[];
}

/** Medians over similar tasks of this repository. */
export interface SimilarTasks {
  readonly count: number;
  /** The label that the tasks share; null if the group consists of all tasks of the repository. */
  readonly label: string | null;
  /** Median cost in US dollars; null if fewer than five costs are known. */
  readonly costUsd: number | null;
  readonly iterations: number;
  /** Percentage of tasks merged without a person's commits; null if this is known for fewer than five. */
  readonly untouchedPercent: number | null;
}

/**
 * Advice on a task that may not succeed. `thin`: its text names no goal, file or symbol. `large`: many of its boxes are
 * unrelated to one another.
 */
export type ForecastAdvice = { readonly kind: 'thin' } | { readonly kind: 'large'; readonly boxes: number };

/** Minimum number of finished tasks for a forecast. */
const TASKS_TO_FORECAST = 5;

/** Maximum number of unrelated boxes in one task that need no advice. */
export const MAX_UNRELATED_BOXES = 8;

/** Number of words from which any text counts as detailed enough. */
const WORDS_TO_EXPLAIN = 40;

/** Maximum length of a text that is examined; a longer one is detailed enough. */
const MAX_SHORT_CHARS = 4_000;

/** Maximum number of boxes compared. */
const MAX_BOXES = 100;

/**
 * Returns the cost and effort of tasks whose pull request was merged or closed: those that share a label with the task,
 * or all of them. Returns null if there are fewer than five.
 */
export function findSimilarTasks(histories: readonly TaskHistory[], labels: readonly string[]): SimilarTasks | null {
  const over = histories.filter(({ end }) => end !== 'open');
  const groups = [
    ...labels.map((label) => ({ label, of: over.filter((task) => task.labels.includes(label)) })),
    { label: null, of: over },
  ];
  // Use the smallest group that is large enough, because it predicts best.
  const [found] = groups
    .filter(({ of }) => of.length >= TASKS_TO_FORECAST)
    .toSorted((one, other) => one.of.length - other.of.length);
  if (found === undefined) return null;
  const { label, of } = found;
  const known = of.flatMap(({ end, isUntouched }) => (end === 'merged' ? (isUntouched ?? []) : false));
  return {
    ...{ count: of.length, label },
    costUsd: medianOf(of.flatMap(({ costUsd }) => costUsd ?? [])),
    iterations: Math.round(medianOf(of.map(({ iterations }) => iterations)) ?? 0),
    untouchedPercent:
      known.length < TASKS_TO_FORECAST ? null : Math.round((known.filter(Boolean).length / known.length) * 100),
  };
}

function medianOf(values: readonly number[]): number | null {
  if (values.length < TASKS_TO_FORECAST) return null;
  const sorted = values.toSorted((one, other) => one - other);
  const [low = 0, high = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}

/**
 * Returns true if an issue text states no goal: it is one or two words, or short and in English, and it has no box, no
 * code, no heading such as "Expected" and no word such as "should" or "fails".
 */
export function lacksCriterion({ title, body }: IssueText): boolean {
  if (body.length > MAX_SHORT_CHARS) return false;
  const text = plainText(body);
  const isShort = (text.match(/[\p{L}\p{N}]+/gu) ?? []).length < WORDS_TO_EXPLAIN;
  const isExplained =
    IN_MARKDOWN.some((one) => one.test(body)) || IN_WORDS.some((one) => one.test(`${title}\n${text}`));
  const isBare = text.trim() === '' && BARE_TITLE.test(title);
  return isShort && !isExplained && (isBare || ENGLISH.test(`${title}\n${text}`));
}

const IN_MARKDOWN = [
  /^ *(?:```|~~~)/m,
  /^#+ .*\b(?:accept|criteri|expect|done|require|must|should|check|result|steps)\w*.*\n+(?!#|_No response_)\S/im,
];

const IN_WORDS = [
  /^[ \t]*[-*+] \[[ xX]\] /m,
  /\b(?:should|must|shall|expect\w*|accept\w*|criteri\w+|require[sd]?|ensure|instead|so that|when(?:ever)?|never)\b/i,
  /\b(?:needs? to|ha(?:s|ve) to|can['’]?t|cannot|would like|want|typos?|renamed?|done|returns?|twice|duplicated?)\b/i,
  /\b(?:fail|crash|chok|hang|freez|leak|break|broke|err(?:or|ed)|exception|throw|wrong|incorrect|bug|miss)\w*/i,
  /\b(?:do|does|did|is|are|was)(?:n['’]?t| not)\b/i,
];

/** Matches words that almost every short English text contains, because the criteria exist only in English. */
const ENGLISH =
  /\b(?:an?|the|is|are|in|of|for|to|and|with|add|support|make|create|update|fix|improve|implement|change)\b/i;

/** Matches a title of one or two words, which is too short for a goal in any language of Latin letters. */
const BARE_TITLE = /^\s*[\p{Script=Latin}\d'’-]+(?:\s+[\p{Script=Latin}\d'’-]+)?[\s.!]*$/u;

/** Returns the text of an issue without comments, quotations, pictures, addresses and headings. */
function plainText(body: string): string {
  return body
    .split('<!--')
    .map((part, index) => (index === 0 ? part : part.slice((part + '-->').indexOf('-->') + 3)))
    .join('')
    .replaceAll(/!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)|https?:\S+|<img[^>\n]{0,500}>/g, '$1')
    .replaceAll(/^ *(?:>|#+ ).*$/gm, '');
}

/**
 * Returns the number of groups of open boxes that share no word with one another. All boxes that share a word with the
 * title are one group, and a reference to an issue counts as a word.
 */
export function countUnrelatedBoxes({ title, body }: IssueText): number {
  const boxes = [...plainText(body).matchAll(/^[ \t]*[-*+] \[ \] (.+)$/gm)]
    .slice(0, MAX_BOXES)
    .map(([, text = '']) => stemsOf(text));
  const shares = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
    [...one].some((stem) => other.has(stem));
  const groups = boxes.reduce<readonly ReadonlySet<string>[]>(
    (found, box) => [
      ...found.filter((group) => !shares(group, box)),
      new Set([...box, ...found.filter((group) => shares(group, box)).flatMap((group) => [...group])]),
    ],
    [stemsOf(title)],
  );
  return groups.filter((group) => boxes.some((box) => shares(group, box))).length;
}

/** Stems of words that name an action rather than a subject, and so occur in unrelated tasks. */
const COMMON = new Set(
  'about addin after allow before chang check creat delet docum enabl fix fixed from have imple impro into make more need other refac remov some suppo test tests than that their then this updat using when with write'.split(
    ' ',
  ),
);

function stemsOf(text: string): ReadonlySet<string> {
  const stems = (text.toLowerCase().match(/#\d+|[\p{L}\p{N}]{4,}/gu) ?? []).map((word) =>
    word.replace(/s$/, '').slice(0, 5),
  );
  return new Set(stems.filter((stem) => !COMMON.has(stem)));
}
