import { flatten } from '../../core/text/one-line.ts';
import { HIDDEN_CLOSING, HIDDEN_OPENING, parseHiddenStatus } from './status-json.ts';

const BEGIN = '<!-- ralph:begin -->';
const END = '<!-- ralph:end -->';

/** What people read of a pull request. */
export interface PullRequestText {
  readonly title: string;
  readonly body: string;
}

/** Our part of a body, so that it is found again. */
export function markedPart(part: string): string {
  return `${BEGIN}\n${part}\n${END}`;
}

/** The pull request with our part in place of the one before: what people wrote around it stays, and a title of theirs. */
export function withPeoplesText(present: PullRequestText, own: PullRequestText): PullRequestText {
  const { before, after } = peoplesText(present.body);
  return {
    title: isOurTitle(present) ? own.title : present.title,
    body: [before.trimEnd(), own.body, after.trimStart()].filter((text) => text !== '').join('\n\n'),
  };
}

/** Characters of a body that are not ours. */
export function peoplesChars({ body }: PullRequestText): number {
  const { before, after } = peoplesText(body);
  return before.length + after.length;
}

function isOurTitle({ title, body }: PullRequestText): boolean {
  const hidden = parseHiddenStatus(body);
  const written = hidden.kind === 'found' ? (hidden.status.title ?? null) : null;
  // Earlier versions did not remember what they wrote.
  return title === '' || (written === null ? title.startsWith('Ralph: ') : flatten(written) === flatten(title));
}

/** How the bodies of earlier versions begin, which have no markers. */
const EARLIER_HEADLINE =
  /^\*\*(?:Complete|Blocked|Parked|Cancelled|Killed|Idle|Paused|Noted|Updated|(?:Halted|Stopped|Failed|Waiting)[^*\n]{0,60}|(?:Iteration|Time|Cost) limit)\.\*\* /m;

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

/** What stands behind our hidden status, which was the end of our part. */
function afterHidden(body: string): string {
  const hidden = body.lastIndexOf(HIDDEN_OPENING);
  const close = hidden === -1 ? -1 : body.indexOf(HIDDEN_CLOSING, hidden);
  return close === -1 ? '' : body.slice(close + HIDDEN_CLOSING.length);
}
