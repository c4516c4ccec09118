import { z } from 'zod';
import { flattenText } from '../../core/text/phrase.ts';
import { renameKey, tryJson } from '../../core/text/try-json.ts';
import { HIDDEN_CLOSING, HIDDEN_OPENING } from './status-json.ts';
import { type RalphStatus, ralphStatusSchema } from './status-schema.ts';

const BEGIN = '<!-- ralph:begin -->';

const END = '<!-- ralph:end -->';

/** Title and body of a pull request, as people read them. */
export interface PullRequestText {
  readonly title: string;
  readonly body: string;
}

/** The beginning of the bodies that earlier versions wrote, which have no markers. */
const EARLIER_HEADLINE =
  /^\*\*(?:Complete|Blocked|Parked|Cancelled|Killed|Idle|Paused|Noted|Updated|(?:Halted|Stopped|Failed|Waiting)[^*\n]{0,60}|(?:Iteration|Time|Cost) limit)\.\*\* /m;

/** The readable status that is hidden in a body, if there is one. */
export type HiddenStatus =
  | { readonly kind: 'found'; readonly status: RalphStatus }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Puts our part of a body between its markers. */
export function wrapInMarkers(part: string): string {
  return `${BEGIN}\n${part}\n${END}`;
}

/** Replaces our part of the pull request. Keeps the text that people wrote around it, and a title that they changed. */
export function withPeoplesText(present: PullRequestText, own: PullRequestText): PullRequestText {
  const { before, after } = peoplesText(present.body);
  return {
    title: isOurTitle(present) ? own.title : present.title,
    body: [before.trimEnd(), own.body, after.trimStart()].filter((text) => text !== '').join('\n\n'),
  };
}

/** Returns the number of characters of a body that are not ours. */
export function countPeoplesChars({ body }: PullRequestText): number {
  const { before, after } = peoplesText(body);
  return before.length + after.length;
}

function isOurTitle({ title, body }: PullRequestText): boolean {
  const hidden = parseHiddenStatus(body);
  const written = hidden.kind === 'found' ? (hidden.status.title ?? null) : null;
  // Earlier versions did not store the title that they wrote, so recognize it by its beginning.
  return title === '' || (written === null ? title.startsWith('Ralph: ') : flattenText(written) === flattenText(title));
}

function peoplesText(body: string): { readonly before: string; readonly after: string } {
  const begin = body.indexOf(BEGIN);
  if (begin !== -1) {
    const end = body.lastIndexOf(END);
    return { before: body.slice(0, begin), after: end > begin ? body.slice(end + END.length) : afterHidden(body) };
  }
  const hidden = body.lastIndexOf(HIDDEN_OPENING);
  if (hidden === -1) return { before: body, after: '' };
  const headline = EARLIER_HEADLINE.exec(body.slice(0, hidden))?.index ?? hidden;
  return { before: body.slice(0, headline), after: afterHidden(body) };
}

/** Returns the text after our hidden status, with which our part of an older body ends. */
function afterHidden(body: string): string {
  const hidden = body.lastIndexOf(HIDDEN_OPENING);
  const close = hidden === -1 ? -1 : body.indexOf(HIDDEN_CLOSING, hidden);
  return close === -1 ? '' : body.slice(close + HIDDEN_CLOSING.length);
}

/** Parses the last hidden status of a body. Never throws. */
export function parseHiddenStatus(body: string): HiddenStatus {
  const start = body.lastIndexOf(HIDDEN_OPENING);
  if (start === -1) return { kind: 'absent' };
  const json = body.slice(start + HIDDEN_OPENING.length);
  const end = json.indexOf(HIDDEN_CLOSING);
  if (end === -1) return { kind: 'unreadable', why: 'the comment has no end' };
  const status = ralphStatusSchema.safeParse(renameKey(tryJson(json.slice(0, end)), 'lane', 'branchId'));
  return status.success
    ? { kind: 'found', status: status.data }
    : { kind: 'unreadable', why: z.prettifyError(status.error) };
}
