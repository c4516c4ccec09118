import { expect, test } from 'vitest';
import { createKillDeadline, membersOfTree, type ProcessEntry } from '../../../src/processes/process-tree.ts';

const entry = (pid: number, given: Partial<ProcessEntry> = {}): ProcessEntry => ({
  pid,
  parent: 1,
  group: pid,
  startedAt: '100',
  tagged: false,
  ...given,
});
const tree = { runTag: 't', group: 10 };

test.each<{ rule: string; processes: ProcessEntry[]; known?: string[]; members: number[] }>([
  { rule: 'what carries the run tag', processes: [entry(20, { tagged: true }), entry(30)], members: [20] },
  { rule: 'what belongs to the group', processes: [entry(10), entry(11, { group: 10 }), entry(12)], members: [10, 11] },
  {
    rule: 'descendants, in whatever order they are listed',
    processes: [entry(42, { parent: 41 }), entry(41, { parent: 20 }), entry(20, { tagged: true })],
    members: [42, 41, 20],
  },
  { rule: 'what was seen before, after its parent has died', processes: [entry(41)], known: ['41:100'], members: [41] },
  {
    rule: 'not a later process with the same id',
    processes: [entry(41, { startedAt: '900' })],
    known: ['41:100'],
    members: [],
  },
])('the tree holds $rule', ({ processes, known = [], members }) => {
  expect(membersOfTree(tree, processes, new Set(known)).map(({ pid }) => pid)).toEqual(members);
});

test('without a group only tags count', () => {
  expect(membersOfTree({ runTag: 't', group: null }, [entry(10), entry(0, { group: 0 })], new Set())).toEqual([]);
});

test.each<{ rule: string; looks: [now: number, left: number][]; over: boolean }>([
  { rule: 'before the first kill', looks: [[900, 3]], over: false },
  { rule: 'at the first look after it, however late that is', looks: [[9_000, 3]], over: false },
  {
    rule: 'while some end',
    looks: [
      [1_000, 3],
      [2_900, 2],
      [4_800, 1],
    ],
    over: false,
  },
  {
    rule: 'when none has ended for that long',
    looks: [
      [1_000, 3],
      [2_000, 4],
      [3_000, 3],
    ],
    over: true,
  },
])('two seconds of killing from the first on are over $rule: $over', ({ looks, over }) => {
  const deadline = createKillDeadline(1_000, 2_000);
  expect(looks.map(([now, left]) => deadline.isOver(left, now)).at(-1)).toBe(over);
});
