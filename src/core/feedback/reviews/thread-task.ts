import { withoutCommand } from '../../people/command.ts';
import type { Task, TaskComment } from '../../tasks/task.ts';
import { findUnseen, normalizeBlanks, toLineFeeds } from '../../text/cleaned.ts';
import { cleanText } from '../../text/clean.ts';
import { capText, flattenText, toOneLine } from '../../text/phrase.ts';
import type { FeedbackItem } from '../memory.ts';
import type { PullRequestNow, ThreadNow } from '../pull-request-now.ts';
import {
  formatCommentTaskId,
  FEEDBACK_PRIORITY,
  formatReviewTaskId,
  formatThreadTaskId,
  type FeedbackSubject,
} from '../subject.ts';
import { parseSuggestion } from './suggestions.ts';
import type { AnswerInThread, AskedReview, AskedThread } from './threads.ts';

/** Maximum characters of all comments of one task in a prompt. */
const MAX_CHARS = 6_000;
const MAX_COMMENT_CHARS = 2_000;
const MAX_HUNK_CHARS = 4_000;
const MAX_REVIEW_CHARS = 1_000;
const MAX_TITLE_CHARS = 120;
const MAX_PATH_CHARS = 200;
const MAX_NAME_CHARS = 50;

/** Creates the task to answer a thread; returns null if the asking comment has no visible text. */
export function taskOfThread(asked: AskedThread, { number, url }: Pick<PullRequestNow, 'number' | 'url'>): Task | null {
  const { thread, asking, by } = asked;
  const first = thread.comments[0] ?? asking;
  const words = visibleText(asking.text, MAX_COMMENT_CHARS);
  if (words === '') return null;
  const { line, path } = thread;
  const place = `${endOfPath(path)}${line === null ? '' : `:${line}`}`;
  return feedbackTask({
    id: formatThreadTaskId(first.id),
    title: taskTitle(`${by.login} on ${place}`, words),
    body: threadBody(asked),
    comments: newestComments(asked),
    pullRequest: number,
    url: `${url}#discussion_r${first.id}`,
    on: {
      kind: 'thread',
      thread: thread.id,
      replyTo: first.id,
      asked: asking.id,
      by: by.login,
      path,
      line,
      suggestion: parseSuggestion(asked),
    },
  });
}

/** Creates the memory's item for an answer found in its thread. Its rounds are unknown and counted as 0. */
export function itemOfAnswer(
  { thread: { path, line }, first, asked, answer }: AnswerInThread,
  { url }: Pick<PullRequestNow, 'url'>,
): FeedbackItem {
  const place = `${endOfPath(path)}${line === null ? '' : `:${line}`}`;
  const title = taskTitle(`${first.by?.login ?? 'Somebody'} on ${place}`, visibleText(first.text, MAX_COMMENT_CHARS));
  return { kind: 'thread', title, url: `${url}#discussion_r${first.id}`, rounds: 0, asked, answer };
}

/** Creates the task to answer a review as a whole, or a comment; returns null if it has no visible text. */
export function taskOfReview({ review, by }: AskedReview, { number }: Pick<PullRequestNow, 'number'>): Task | null {
  const words = visibleText(review.text, MAX_CHARS);
  if (words === '') return null;
  const isReview = review.state !== 'comment';
  const verb = review.state === 'changes-requested' ? 'requests changes' : isReview ? 'comments' : 'asks';
  return feedbackTask({
    id: isReview ? formatReviewTaskId(review.id) : formatCommentTaskId(review.id),
    title: taskTitle(`${by.login} ${verb}`, words),
    body: isReview
      ? 'This task is about the review as a whole; its comments on lines are separate tasks.'
      : 'This task comes from a comment on the pull request.',
    comments: [{ by: by.login, text: words }],
    pullRequest: number,
    url: review.url,
    on: { kind: isReview ? 'review' : 'comment', review: review.id, by: by.login },
  });
}

function feedbackTask(
  parts: Pick<Task, 'id' | 'title' | 'body' | 'comments'> & {
    readonly on: FeedbackSubject;
    readonly pullRequest: number;
    readonly url: string;
  },
): Task {
  const { id, title, body, comments, ...source } = parts;
  return {
    id,
    title,
    body,
    comments,
    source: { kind: 'feedback', ...source },
    priority: FEEDBACK_PRIORITY[source.on.kind],
    optional: false,
    obstacle: null,
    dependsOn: [],
  };
}

/** Returns the end of a long path, which identifies the file best and leaves room for words in a title. */
function endOfPath(path: string): string {
  const name = [...flattenText(path)];
  return name.length <= MAX_NAME_CHARS ? name.join('') : `…${name.slice(1 - MAX_NAME_CHARS).join('')}`;
}

/** Builds a title from the first line that is neither a quotation nor code. */
function taskTitle(who: string, words: string): string {
  const said = words.split('\n').find((line) => /[\p{L}\p{N}]/u.test(line) && !/^\s*(?:>|`{3}|~{3})/.test(line));
  return toOneLine(said === undefined ? who : `${who}: ${said}`, MAX_TITLE_CHARS);
}

function threadBody({ thread, asking, leftOut, review }: AskedThread): string {
  const { path, originalLine, isOutdated } = thread;
  const parts = [
    [
      `File: ${toOneLine(path, MAX_PATH_CHARS)}`,
      ...describeLines(thread),
      ...(isOutdated
        ? [
            `The code has changed since the comment was written${originalLine === null ? '' : ` on line ${originalLine}`}.`,
          ]
        : []),
      ...(leftOut === 0
        ? []
        : [`Not shown: ${leftOut} ${leftOut === 1 ? 'comment' : 'comments'} by people without write permission.`]),
    ].join('\n'),
    ...hunkPart(asking.hunk),
    ...reviewPart(review),
  ];
  return parts.join('\n\n');
}

/** Describes the lines of a thread. Removed lines are numbered in the old file. */
function describeLines({ line, startLine, side, startSide }: ThreadNow): readonly string[] {
  if (line === null) return [];
  if (side === 'right' && startSide === 'left')
    return [`Lines: from line ${startLine} of the old file, which the pull request removes, to line ${line}`];
  const isOne = startLine === null || startLine === line;
  return [
    isOne ? `Line: ${line}` : `Lines: ${startLine} to ${line}`,
    ...(side === 'left' ? ['The pull request removes this; line numbers refer to the old file.'] : []),
  ];
}

/** Returns the end of the hunk, because the comment is on its last line. */
function hunkPart(hunk: string): readonly string[] {
  const lines = withoutInvisible(hunk).trimEnd().split('\n');
  let chars = 0;
  const first = lines.findLastIndex((line) => {
    chars += line.length + 1;
    return chars > MAX_HUNK_CHARS;
  });
  const kept = lines.slice(first + 1).join('\n') || capText(lines.at(-1) ?? '', MAX_HUNK_CHARS);
  if (kept === '') return [];
  const longest = Math.max(2, ...[...kept.matchAll(/`+/g)].map(([marks]) => marks.length));
  const fence = '`'.repeat(longest + 1);
  return [`The part of the change that the comment is on:\n\n${fence}diff\n${kept}\n${fence}`];
}

function reviewPart(review: string | null): readonly string[] {
  const words = review === null ? '' : visibleText(review, MAX_REVIEW_CHARS);
  return words === '' ? [] : [`The review that the thread belongs to says:\n\n${words.replaceAll(/^/gm, '> ')}`];
}

/** Returns the newest comments that fit, oldest first; the asking comment is always included. */
function newestComments({ conversation }: AskedThread): readonly TaskComment[] {
  const kept: TaskComment[] = [];
  let left = MAX_CHARS;
  for (const { by, text, isOurs } of conversation.toReversed()) {
    const words = visibleText(text, MAX_COMMENT_CHARS);
    if (words.length > left) break;
    if (words !== '') kept.unshift({ by: isOurs ? 'Ralph' : flattenText(by), text: words });
    left -= words.length;
  }
  return kept;
}

/** Returns the text of a comment that readers of the page see. */
function visibleText(text: string, maxChars: number): string {
  const clean = cleanText(withoutCommand(text)).text.trim();
  // A cut may remove the end of a markup element and so hide text; therefore the text is cleaned again.
  return clean.length <= maxChars ? clean : cleanText(capText(clean, maxChars)).text.trim();
}

/** Returns code without invisible characters. */
function withoutInvisible(code: string): string {
  const text = toLineFeeds(code).toWellFormed();
  let seen = '';
  let done = 0;
  for (const { start, end } of findUnseen(text)) {
    seen += text.slice(done, start);
    done = end;
  }
  return normalizeBlanks(seen + text.slice(done));
}
