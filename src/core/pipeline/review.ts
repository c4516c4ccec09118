import { z } from 'zod';
import { AGENT_NAMES } from '../agent-names.ts';
import { countSchema, type Immutable } from '../policy.ts';
import { cutText, toOneLine } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** Severities of findings, the worst first. */
const severities = ['high', 'medium', 'low'] as const;

/** The severity from which findings keep a task from being done; with `none`, no finding does. */
export const reviewHolds = ['none', ...severities] as const;

export type ReviewHold = (typeof reviewHolds)[number];

/** Maximum length in characters of a final message in which findings are looked for. */
const MAX_MESSAGE_CHARS = 200_000;

/** Maximum number of findings of one review that are kept, the worst first; more are only counted. */
const MAX_FINDINGS = 20;

const MAX_FILE_CHARS = 200;

const MAX_TEXT_CHARS = 400;

/** Maximum number of opening braces, counted back from a `findings` key, that are tried as the start of its object. */
const MAX_STARTS = 50;

/** Maximum number of lists of findings in a final message; an agent gives one. */
const MAX_LISTS = 50;

const findingSchema = z.lazy(() =>
  z.object({
    file: z.string().min(1).describe('Path of the file, relative to the root of the repository.'),
    line: z
      .int()
      .min(0)
      .nullable()
      .default(null)
      .overwrite((line) => (line === 0 ? null : line))
      .describe('Line in the file; null or 0 for the file as a whole.'),
    severity: z
      .enum(severities)
      .describe('`high`: must not be merged; `medium`: should be fixed; `low`: a suggestion.'),
    text: z.string().min(1).describe('What is wrong, and what happens because of it.'),
  }),
);

/** The findings that a reviewing agent gives at the end of its final message. */
const findingsSchema = z.lazy(() =>
  z.object({ findings: z.array(findingSchema).describe('Empty if nothing was found.') }),
);

export const reviewSchema = z.lazy(() =>
  z.object({
    agent: z.enum(AGENT_NAMES),
    hold: z.enum(reviewHolds),
    /** The reason why the findings are not known; null if they are. */
    unreadable: z.string().nullable(),
    /** The findings that are kept, the worst first. */
    findings: z.array(findingSchema).max(MAX_FINDINGS),
    /** Number of further findings. */
    more: countSchema,
    /** Number of all findings that keep the task from being done. */
    holding: countSchema,
  }),
);

/** The result of an agent's review. Its texts are untrusted data. */
export type ReviewResult = Immutable<z.infer<typeof reviewSchema>>;

/** Returns a review without known findings; `why` says why they are not known. */
export function createUnreadableReview(by: Pick<ReviewResult, 'agent' | 'hold'>, why: string): ReviewResult {
  return { ...by, unreadable: why, findings: [], more: 0, holding: 0 };
}

/**
 * Parses the findings in a final message; accepts any text. All lists of findings in the message are read, so that a
 * quoted list cannot hide the agent's own.
 */
export function parseReview(by: Pick<ReviewResult, 'agent' | 'hold'>, message: string): ReviewResult {
  if (message.length > MAX_MESSAGE_CHARS)
    return createUnreadableReview(by, `its final message has more than ${MAX_MESSAGE_CHARS} characters`);
  const found = findingsIn(message);
  if (found.length > MAX_LISTS)
    return createUnreadableReview(by, `its final message has ${found.length} lists of findings`);
  if (found.at(-1) === undefined) return createUnreadableReview(by, 'its final message has no JSON with `findings`');
  const parsed = z.array(findingsSchema).safeParse(found.filter((json) => json !== undefined));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return createUnreadableReview(
      by,
      `${issue?.path.slice(1).join('.') ?? ''}: ${toOneLine(issue?.message ?? '', 100)}`,
    );
  }
  const findings = parsed.data.flatMap((part) => part.findings);
  const worstFirst = severities.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  const kept = worstFirst
    .slice(0, MAX_FINDINGS)
    .map((finding) => ({
      ...finding,
      file: cutText(toOneLine(finding.file, MAX_FILE_CHARS), MAX_FILE_CHARS),
      text: toOneLine(finding.text, MAX_TEXT_CHARS),
    }));
  const holding = by.hold === 'none' ? [] : severities.slice(0, severities.indexOf(by.hold) + 1);
  return {
    ...by,
    unreadable: null,
    findings: kept,
    more: findings.length - kept.length,
    holding: findings.filter(({ severity }) => holding.includes(severity)).length,
  };
}

/**
 * Returns every JSON object that has a `findings` key; undefined in place of a broken one. An object with a second such
 * key inside, which must not hide the first list, is returned as its lists.
 */
function findingsIn(message: string): readonly unknown[] {
  const keys = [...message.matchAll(/"findings"\s*:\s*[[{]/g)].map(({ index, 0: key }) => ({ index, key }));
  return keys.map(({ index, key }, at) => {
    const from = keys[at - 1]?.index ?? 0;
    const next = keys[at + 1]?.index;
    const object = jsonAround(message.slice(from, next), index - from);
    if (object !== undefined || next === undefined || keys.length > MAX_LISTS) return object;
    const start = index + key.length - 1;
    const findings = tryJson(message.slice(start, afterBracket(message, start)));
    return findings === undefined ? undefined : { findings };
  });
}

/** Returns the innermost JSON object around a position; undefined if none. */
function jsonAround(text: string, position: number): unknown {
  let start = position;
  for (let tried = 0; tried < MAX_STARTS && start > 0; tried += 1) {
    start = text.lastIndexOf('{', start - 1);
    const end = start < 0 ? 0 : afterBracket(text, start);
    const json = end > position ? tryJson(text.slice(start, end)) : undefined;
    if (json !== undefined) return json;
  }
  return undefined;
}

/** Returns the position after the closing bracket of the object or list that starts here; 0 if none. */
function afterBracket(text: string, start: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = start; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"') isQuoted = !isQuoted;
    else if (isQuoted) at += letter === '\\' ? 1 : 0;
    else if (letter === '{' || letter === '[') depth += 1;
    else if (letter === '}' || letter === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return 0;
}

/** Returns true if the task is not done because of this review. An unreadable review holds the task as well. */
export function isHeldBy({ hold, unreadable, holding }: ReviewResult): boolean {
  return hold !== 'none' && (unreadable !== null || holding > 0);
}

/** Describes a review, such as `2 findings` or `held by review: 2 findings`. Reasons in the text are untrusted data. */
export function describeReview(review: ReviewResult): string {
  const { unreadable, findings, more, holding } = review;
  const held = isHeldBy(review);
  const count = held ? holding : findings.length + more;
  const words = unreadable === null ? `${count} ${count === 1 ? 'finding' : 'findings'}` : `unreadable (${unreadable})`;
  return held ? `held by review: ${words}` : words;
}

/** Lists findings for a prompt, one per line, the worst last. They must be shown as data. */
export function formatFindings(reviews: readonly { readonly step: string; readonly review: ReviewResult }[]): string {
  return reviews
    .flatMap(({ step, review }) => [
      ...(review.unreadable === null ? [] : [`Step ${step}: ${describeReview(review)}`]),
      ...review.findings
        .toReversed()
        .map(({ file, line, severity, text }) => `- ${severity}: ${file}${line === null ? '' : `:${line}`}: ${text}`),
    ])
    .join('\n');
}

/** The instructions of a review that has no prompt of its own. */
export const REVIEW_PROMPT = `# Review

Review the changes that were made for the task below. Read the changed files and what uses them; \`git diff HEAD\` shows what is not committed, \`git log\` the rest. Look for what is wrong, missing, unsafe or untested, not for matters of taste. Change nothing: whatever you change is put back.`;

/** The end of the prompt of a review. */
export const REVIEW_PROTOCOL = `# How to end

Change nothing, and do not finish the task: you only review it. End your final message with your findings, as JSON of this form:

{"findings": [{"file": "src/total.ts", "line": 12, "severity": "high", "text": "Adds the price twice when the order has a discount."}]}

- \`file\` is a path from the root of the repository; \`line\` a line of it, or null for the whole file.
- \`severity\` is ${severities.map((severity) => `\`${severity}\``).join(', ')}: must not be merged, should be fixed, is a suggestion.
- You found nothing: {"findings": []}. A review without this JSON does not count as one.`;

/** Returns the published JSON Schema of the findings. */
export function buildFindingsSchema(): object {
  return { title: 'Findings of a review', ...z.toJSONSchema(findingsSchema, { io: 'input' }) };
}
