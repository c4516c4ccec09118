import { describe, expect, test } from 'vitest';
import {
  isAbandoned,
  isKeptClosed,
  findModeBefore,
  agentSandboxRecord,
  type AgentSandboxRecord,
} from '../../../../src/core/isolation/sandbox-record.ts';

const process = { pid: 7, started: '100', namespace: 'pid:[1]', boot: 'a', parent: { pid: 3, started: '50' } };
const record: AgentSandboxRecord = {
  ...{ version: 2, uid: 60_800, folder: '/var/tmp/ralph-sandbox-12ab34cd', userName: 'ralph-60800', isLeaving: false },
  given: [{ path: '/home/runner/shop', uid: 1001, gid: 1001 }],
  opened: [{ path: '/home/runner', isPlain: true }],
  closed: [{ path: '/home/runner', mode: 0o755 }],
  run: { folder: '/home/runner/work/_temp/ralph-run', process },
};

describe('agentSandboxRecord', () => {
  test.each([record, { ...record, uid: null }, { ...record, run: null }])('keeps what it says (%#)', (given) => {
    expect(agentSandboxRecord.parse(given)).toEqual(given);
  });

  test('reads one of an earlier main', () => {
    const { folder, userName, given, closed, uid } = record;
    const first = { version: 1, folder, userName, given, closed, uid, opened: ['/home/runner'] };
    const opened = [{ path: '/home/runner', isPlain: false }];
    expect(agentSandboxRecord.parse(first)).toEqual({ ...record, opened, run: null });
  });

  test.each([
    { ...record, version: 3 },
    { ...record, uid: 0 },
    { ...record, uid: 1001 },
    { ...record, folder: '/home/runner' },
    { ...record, userName: 'root' },
    { ...record, more: true },
  ])('%j names nothing that is removed', (other) => {
    expect(agentSandboxRecord.safeParse(other).success).toBe(false);
  });
});

const DAY_MS = 86_400_000;

describe('isAbandoned()', () => {
  /**
   * Returns the start times of the processes with the ids of the run and of its parent; null if there is no such
   * process.
   */
  const began = (run: string | null, parent: string | null = '50') => ({
    started: (pid: number) => (pid === process.pid ? run : pid === process.parent.pid ? parent : null),
  });
  const lives = { ...began('100'), namespace: 'pid:[1]', boot: 'a', hasRecord: false, ageMs: 0 };
  const ended = { ...lives, ...began(null) };
  test.each([
    ['its run lives', lives, false],
    ['its run lives for days', { ...lives, hasRecord: true, ageMs: 5 * DAY_MS }, false],
    ['its run has ended, and its record is gone', ended, true],
    ['another process has its id, and its record is gone', { ...ended, ...began('200') }, true],
    ['its run has ended, and the post step can still come', { ...ended, hasRecord: true }, false],
    ['its run has ended, and the post step did not come', { ...ended, hasRecord: true, ageMs: DAY_MS + 1 }, true],
    ['what started its run has ended as well', { ...ended, ...began(null, null), hasRecord: true }, true],
    ['so it has, and another process has its id', { ...ended, ...began('200', '300'), hasRecord: true }, true],
    ['what started its run has ended, and the run lives', { ...lives, ...began('100', null), hasRecord: true }, false],
    ['the machine was started again', { ...lives, boot: 'b', hasRecord: true }, true],
    ['its run is counted elsewhere, and cannot be seen', { ...ended, namespace: 'pid:[2]' }, false],
    [
      'it was counted elsewhere before the machine was started again',
      { ...ended, namespace: 'pid:[2]', boot: 'b' },
      true,
    ],
  ])('%s', (_, seen, expected) => {
    expect(isAbandoned(record, seen)).toBe(expected);
  });

  test('what started its run is not known, as in a record of an earlier main', () => {
    const { parent, ...earlier } = process;
    expect(parent).not.toBeNull();
    const known = agentSandboxRecord.parse({
      ...record,
      run: { folder: '/home/runner/work/_temp/ralph-run', process: earlier },
    });
    expect(isAbandoned(known, { ...ended, ...began(null, null), hasRecord: true })).toBe(false);
  });

  test('nothing is known of its run', () => {
    expect(isAbandoned({ ...record, run: null }, { ...ended, ageMs: 9 * DAY_MS })).toBe(false);
  });
});

test.each([
  ['nobody', [], null, false],
  ['a sandbox', [record], 0o755, true],
  ['a sandbox that ends', [{ ...record, isLeaving: true }], 0o755, false],
  ['one that ends and one that stays', [{ ...record, isLeaving: true }, record], 0o755, true],
  ['a sandbox that closed something else', [{ ...record, closed: [{ path: '/x', mode: 0o777 }] }], null, false],
])('a folder is closed by %s', (_, agentSandboxes, mode, isKept) => {
  expect(findModeBefore('/home/runner', agentSandboxes)).toBe(mode);
  expect(isKeptClosed('/home/runner', agentSandboxes)).toBe(isKept);
});
