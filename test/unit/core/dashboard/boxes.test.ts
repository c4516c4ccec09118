import { describe, expect, test } from 'vitest';
import {
  type DashboardBox,
  boxKinds,
  hashPageContent,
  DASHBOARD_MARKER,
  isDashboardText,
  renderBox,
  type Revision,
  findTickedBoxes,
  findTicks,
  findPageTicks,
  TIME_MARKER,
} from '../../../../src/core/dashboard/boxes.ts';

const PAUSE: DashboardBox = { kind: 'pause', subject: 'queue' };
const RETRY: DashboardBox = { kind: 'retry', subject: 'issue-12' };

/** Returns the line of a box that is ticked. */
function ticked(box: DashboardBox): string {
  return renderBox(box).replace('[ ]', '[x]');
}

describe('a box', () => {
  test.each<{ readonly box: DashboardBox; readonly line: string }>([
    { box: { kind: 'run', subject: 'queue' }, line: '- [ ] Run the queue now <!-- ralph-action:run queue -->' },
    { box: PAUSE, line: '- [ ] Pause the queue <!-- ralph-action:pause queue -->' },
    { box: { kind: 'resume', subject: 'issue-7' }, line: '- [ ] Resume issue #7 <!-- ralph-action:resume issue-7 -->' },
    { box: RETRY, line: '- [ ] Retry #12 <!-- ralph-action:retry issue-12 -->' },
    {
      box: { kind: 'retry', subject: 'prd-US-001' },
      line: '- [ ] Retry prd-US-001 <!-- ralph-action:retry prd-US-001 -->',
    },
    {
      box: { kind: 'skip', subject: 'issue-7' },
      line: '- [ ] Take #7 out of the queue <!-- ralph-action:skip issue-7 -->',
    },
  ])('$box.kind $box.subject is the line `$line`, and is read back once ticked', ({ box, line }) => {
    expect(renderBox(box)).toBe(line);
    expect(findTickedBoxes(line)).toEqual([]);
    expect(findTickedBoxes(`text\r\n  ${line.replace('[ ]', '[X]')}\r\n`)).toEqual([box]);
  });

  test.each([
    { what: 'other words', line: '- [x] Retry #12 <!-- ralph-action:resume queue -->' },
    { what: 'no words', line: '- [x]  <!-- ralph-action:resume queue -->' },
    { what: 'words of another task', line: '- [x] Retry #12 <!-- ralph-action:retry issue-13 -->' },
    { what: 'words after it', line: `${ticked(PAUSE)} please` },
    { what: 'a second command', line: `${ticked(PAUSE)} ${ticked(RETRY)}` },
    { what: 'an unknown command', line: '- [x] Reset the queue <!-- ralph-action:reset queue -->' },
    { what: 'a subject that is not a task', line: '- [x] Retry x <!-- ralph-action:retry x -->' },
    { what: 'a skip that is not an issue', line: '- [x] Take prd-1 out of the queue <!-- ralph-action:skip prd-1 -->' },
    { what: 'a run of an issue', line: '- [x] Run the queue now <!-- ralph-action:run issue-1 -->' },
    { what: 'a name of an object', line: '- [x] Retry #1 <!-- ralph-action:constructor issue-1 -->' },
    { what: 'no marker', line: '- [x] Pause the queue' },
  ])('with $what does not count', ({ line }) => {
    expect(findTickedBoxes(line)).toEqual([]);
  });

  test('counts once, and no more than thirty are read', () => {
    expect(findTickedBoxes(`${ticked(PAUSE)}\n${ticked(PAUSE)}`)).toEqual([PAUSE]);
    const many = Array.from({ length: 50 }, (_, at): DashboardBox => ({
      kind: 'retry',
      subject: `issue-${String(at + 1)}`,
    }));
    expect(findTickedBoxes(many.map(ticked).join('\n'))).toHaveLength(30);
    expect(boxKinds).toHaveLength(5);
  });
});

const ann = { login: 'ann', id: 1, kind: 'user' } as const;
const eve = { login: 'eve', id: 2, kind: 'user' } as const;
const ralph = { login: 'ralph[bot]', id: 3, kind: 'bot' } as const;

function by(who: Revision['by'], ...boxes: readonly DashboardBox[]): Revision {
  return { by: who, text: boxes.map(ticked).join('\n') };
}

describe('who ticked a box', () => {
  test.each<{
    readonly what: string;
    readonly revisions: readonly Revision[];
    readonly before: readonly { readonly box: DashboardBox; readonly by: Revision['by'] }[] | null;
    readonly ticks: readonly { readonly box: DashboardBox; readonly by: Revision['by'] }[];
  }>([
    { what: 'nobody', revisions: [by(ralph)], before: [], ticks: [] },
    {
      what: 'the account of the version',
      revisions: [by(ralph), by(ann, PAUSE)],
      before: [],
      ticks: [{ box: PAUSE, by: ann }],
    },
    {
      what: 'not whoever edits the page later',
      revisions: [by(eve, PAUSE), by(ann, PAUSE, RETRY)],
      before: [],
      ticks: [
        { box: PAUSE, by: eve },
        { box: RETRY, by: ann },
      ],
    },
    { what: 'nobody once it is unticked', revisions: [by(eve, PAUSE), by(ann)], before: [], ticks: [] },
    {
      what: 'whoever ticked it again',
      revisions: [by(eve, PAUSE), by(ann), by(ann, PAUSE)],
      before: [],
      ticks: [{ box: PAUSE, by: ann }],
    },
    { what: 'nobody after our own version', revisions: [by(ann, PAUSE), by(ralph)], before: [], ticks: [] },
    {
      what: 'unknown in the first version when older ones are missing',
      revisions: [by(ann, PAUSE), by(ann, PAUSE, RETRY)],
      before: null,
      ticks: [
        { box: PAUSE, by: null },
        { box: RETRY, by: ann },
      ],
    },
    {
      what: 'unknown after a version without a text',
      revisions: [by(ralph), { by: eve, text: null }, by(ann, PAUSE)],
      before: [],
      ticks: [{ box: PAUSE, by: null }],
    },
    {
      what: 'not notified again of an earlier tick',
      revisions: [by(ann, PAUSE), by(ann, PAUSE, RETRY)],
      before: [{ box: PAUSE, by: ann }],
      ticks: [{ box: RETRY, by: ann }],
    },
    {
      what: 'notified of an earlier tick that was taken back and made again',
      revisions: [by(ann), by(ann, PAUSE)],
      before: [{ box: PAUSE, by: ann }],
      ticks: [{ box: PAUSE, by: ann }],
    },
  ])('is $what', ({ revisions, before, ticks }) => {
    expect(findTicks(revisions, before)).toEqual(ticks);
  });
});

describe('a page after a reading that was obeyed', () => {
  const read = { number: 7, edits: 2, ticks: [{ box: PAUSE, by: ann }] };
  const page = (edits: number, ...revisions: readonly Revision[]) => ({ number: 7, edits, revisions });
  test.each([
    { what: 'the box that is still ticked', on: page(2, by(ralph), by(ann, PAUSE)), all: [PAUSE], fresh: [] },
    {
      what: 'another box by another person',
      on: page(3, by(ralph), by(ann, PAUSE), by(eve, PAUSE, RETRY)),
      all: [PAUSE, RETRY],
      fresh: [RETRY],
    },
    {
      what: 'the same box again, after our own version',
      on: page(4, by(ralph), by(ann, PAUSE), by(ralph), by(eve, PAUSE)),
      all: [PAUSE],
      fresh: [PAUSE],
    },
    { what: 'another issue', on: { ...page(2, by(ralph), by(ann, PAUSE)), number: 8 }, all: [PAUSE], fresh: [PAUSE] },
    { what: 'a history that was made shorter', on: page(1, by(ann, PAUSE)), all: [PAUSE], fresh: [PAUSE] },
    { what: 'versions that GitHub does not list', on: page(9, by(ann, PAUSE)), all: [PAUSE], fresh: [PAUSE] },
  ])('$what', ({ on, all, fresh }) => {
    const found = findPageTicks(on, read);
    expect([found.all, found.fresh].map((ticks) => ticks.map(({ box }) => box))).toEqual([all, fresh]);
  });
});

test('a text is the same with another time and other line ends', () => {
  const page = (time: string, rest = 'a'): string => `${DASHBOARD_MARKER}\n\n${rest}\n\n${time} ${TIME_MARKER}`;
  expect(hashPageContent(page('1').replaceAll('\n', '\r\n'))).toBe(hashPageContent(`${page('2')}\n`));
  expect(hashPageContent(page('1', 'b'))).not.toBe(hashPageContent(page('1')));
  expect([isDashboardText(`\n${page('1')}`), isDashboardText('Quoting <!-- ralph-action:dashboard -->')]).toEqual([
    true,
    false,
  ]);
});
