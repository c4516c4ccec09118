import { z } from 'zod';
import { OWN_COMMENT_MARKER } from '../people/command.ts';
import type { Immutable } from '../policy.ts';
import { hashId, issueOfId, nameOfLane, nameOfTaskId, parseTaskName, QUEUE } from '../tasks/ids.ts';

/** The beginning of the dashboard's text, which identifies the dashboard. */
export const DASHBOARD_MARKER = `${OWN_COMMENT_MARKER}dashboard -->`;

/** The end of the line with the time, which is the only line that changes in every run. */
export const TIME_MARKER = `${OWN_COMMENT_MARKER}time -->`;

export const boxKinds = ['run', 'pause', 'resume', 'retry', 'skip'] as const;

const boxSchema = z.object({ kind: z.enum(boxKinds), subject: z.string().max(80) });

/** A box: its request and its subject, which is a lane (`run`, `pause`, `resume`) or a task (`retry`, `skip`). */
export type DashboardBox = Immutable<z.infer<typeof boxSchema>>;

export const tickSchema = z.lazy(() =>
  z.object({
    box: boxSchema,
    /** The account that ticked the box; null if unknown. */
    by: z.object({ login: z.string().max(100), id: z.number().nullable(), kind: z.enum(['user', 'bot']) }).nullable(),
  }),
);

/** A ticked box, which is an order only if the account that ticked it has permission. */
export type Tick = Immutable<z.infer<typeof tickSchema>>;

/** A version of the dashboard's text. */
export interface Revision {
  readonly by: Tick['by'];
  /** The text; null if GitHub does not return it. */
  readonly text: string | null;
}

/** Maximum number of ticks read at once. */
export const MAX_TICKS = 30;

/** Renders the line of a box. The result depends only on the box. */
export function renderBox(box: DashboardBox): string {
  return `- [ ] ${wordsOfBox(box)} ${OWN_COMMENT_MARKER}${box.kind} ${box.subject} -->`;
}

/** Returns the request of a box in words. */
export function wordsOfBox({ kind, subject }: DashboardBox): string {
  switch (kind) {
    case 'run':
      return 'Run the queue now';
    case 'pause':
    case 'resume':
      return `${kind === 'pause' ? 'Pause' : 'Resume'} ${nameOfLane(subject)}`;
    case 'retry':
      return `Retry ${nameOfTaskId(subject)}`;
    case 'skip':
      return `Take ${nameOfTaskId(subject)} out of the queue`;
  }
}

/** Returns true if a text begins with the dashboard's marker. The dashboard's issue is never a task. */
export function isDashboardText(body: string): boolean {
  return body.trimStart().startsWith(DASHBOARD_MARKER);
}

/** Returns a short hash of a text that ignores its time line and the form of its line ends. */
export function hashPageContent(body: string): string {
  const lines = body.replaceAll('\r\n', '\n').trim().split('\n');
  return hashId(lines.filter((line) => !line.endsWith(TIME_MARKER)).join('\n'));
}

/**
 * Returns the ticked boxes of a text. A line is used only if it is exactly what `renderBox` writes, so that each box
 * does what its words say.
 */
export function findTickedBoxes(text: string): readonly DashboardBox[] {
  const boxes = text.split(/\r?\n/).flatMap((line) => {
    const [, , kind, subject = ''] = TICKED.exec(line) ?? [];
    const box = boxKinds.flatMap((known) => (known === kind ? [{ kind: known, subject }] : []))[0];
    const isOurs = box !== undefined && isSubject(box) && renderBox(box) === line.trim().replace(/^- \[x\]/i, '- [ ]');
    return isOurs ? [box] : [];
  });
  return boxes.filter((box, at) => boxes.findIndex((one) => isSameBox(one, box)) === at).slice(0, MAX_TICKS);
}

const TICKED = new RegExp(`^\\s*- \\[x\\] (.{1,200}) ${OWN_COMMENT_MARKER}([a-z]+) ([\\w.-]{1,80}) -->\\s*$`, 'i');

function isSubject({ kind, subject }: DashboardBox): boolean {
  switch (kind) {
    case 'run':
      return subject === QUEUE;
    case 'pause':
    case 'resume':
      return subject === QUEUE || issueOfId(subject) !== null;
    case 'retry':
      return parseTaskName(subject) === subject;
    case 'skip':
      return issueOfId(subject) !== null;
  }
}

/**
 * Returns the boxes that were ticked in these versions (oldest first) and still are in the last one, each with the
 * account whose version ticked it. `before` holds the ticks of the preceding version, which are not returned again;
 * null if that version is unknown. A tick's `by` is null if another account may have made it.
 */
export function findTicks(revisions: readonly Revision[], before: readonly Tick[] | null): readonly Tick[] {
  return standingTicks(revisions, before).filter((tick) => before?.includes(tick) !== true);
}

/** Returns the ticks of the last version, including those of `before`. */
function standingTicks(revisions: readonly Revision[], before: readonly Tick[] | null): readonly Tick[] {
  let ticks = before ?? [];
  let isKnown = before !== null;
  for (const { by, text } of revisions) {
    if (text !== null) {
      const [earlier, author] = [ticks, isKnown ? by : null];
      ticks = findTickedBoxes(text).map((box) => earlier.find((one) => isSameBox(one.box, box)) ?? { box, by: author });
    }
    isKnown = text !== null;
  }
  return ticks;
}

export const obeyedPageSchema = z.lazy(() =>
  z.object({
    number: z.number().int().positive(),
    edits: z.number().int().min(0),
    ticks: z.array(tickSchema).max(MAX_TICKS),
  }),
);

/**
 * The newest version of the dashboard whose ticks were obeyed: the number of its issue, the number of edits up to it,
 * and its ticks.
 */
export type ObeyedPage = Immutable<z.infer<typeof obeyedPageSchema>>;

/**
 * Returns the ticked boxes of a page (`all`) and those that were not obeyed yet (`fresh`): a box stays ticked until the
 * run that obeys it rewrites the page. `read` is the version that was obeyed last; null if none.
 */
export function findPageTicks(
  { number, edits, revisions }: Pick<ObeyedPage, 'number' | 'edits'> & { readonly revisions: readonly Revision[] },
  read: ObeyedPage | null,
): { readonly all: readonly Tick[]; readonly fresh: readonly Tick[] } {
  const known = read !== null && read.number === number && read.edits <= edits ? read : { edits: 0, ticks: [] };
  const count = edits - known.edits;
  const since = count === 0 ? [] : revisions.slice(-count);
  const before = since.length < count ? null : known.ticks;
  return { all: standingTicks(since, before), fresh: findTicks(since, before) };
}

/** Returns true if two boxes make the same request. */
export function isSameBox(one: DashboardBox, other: DashboardBox): boolean {
  return one.kind === other.kind && one.subject === other.subject;
}

/** A judged tick. */
export interface AnsweredTick extends Tick {
  readonly result: 'obeyed' | 'not-allowed' | 'failed';
  /** The reason why the tick could not be obeyed, as a sentence; empty if it was obeyed. */
  readonly why: string;
}
