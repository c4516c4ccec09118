import { describe, expect, test } from 'vitest';
import type { Picture } from '../../../../src/cli/monitor/monitor-schema.ts';
import {
  createScreenState,
  pressKey,
  withMessage,
  type ScreenState,
} from '../../../../src/cli/monitor/view/session.ts';
import { noon } from '../../core/core-fixtures.ts';
import { allPicture, iso, localPicture, localRun, stateOf, withRun } from './monitor-fixtures.ts';

const local = createScreenState('local');
const all = createScreenState('all');
const pause = { by: 'Ann', at: iso(noon) };
const other = {
  kind: 'other' as const,
  status: { status: 'running', lastAction: null, exitReason: null, iteration: 1, calls: null, at: null },
  circuit: null,
};

describe('keys that give an order', () => {
  test.each<[string, ScreenState, string, Picture, object]>([
    ['p pauses', local, 'p', localPicture(), { words: ['pause'], lane: 'queue', place: 'directory' }],
    [
      'p resumes what is paused',
      local,
      'p',
      localPicture({ ...localRun, state: stateOf({ pause }) }),
      { words: ['resume'], lane: 'queue', place: 'directory' },
    ],
    ['s stops', local, 's', localPicture(), { words: ['stop'], lane: 'queue', place: 'directory' }],
    [
      'the lane of the run',
      local,
      's',
      localPicture(withRun({ branchId: 'issue-7' })),
      { words: ['stop'], lane: 'issue-7', place: 'directory' },
    ],
    [
      'an unknown lane is the queue',
      local,
      's',
      localPicture(withRun({ branchId: '--all' })),
      { words: ['stop'], lane: 'queue', place: 'directory' },
    ],
    ['p of all resumes the chosen lane', all, 'p', allPicture, { words: ['resume'], lane: 'queue', place: 'ref' }],
    [
      'or pauses it, where it is kept',
      { ...all, selected: 1 },
      'p',
      allPicture,
      { words: ['pause'], lane: 'issue-7', place: 'directory' },
    ],
  ])('%s', (_, session, key, picture, order) => {
    const pressed = pressKey(session, key, picture);
    expect(pressed.asked).toEqual({ kind: 'order', order });
    expect(pressed.session).toMatchObject({ isOrdering: true, message: { look: 'faint' } });
  });
});

describe('r asks first', () => {
  test.each<[string, ScreenState, Picture, string, string]>([
    ['the last task that is stuck', local, localPicture(), 'Give #11 all its attempts again? y/n', 'issue-11'],
    [
      'the current one, with its title',
      local,
      localPicture({
        ...localRun,
        state: stateOf({
          tasks: [
            { id: 'issue-12', title: null, state: 'stuck', attempts: 1 },
            { id: 'issue-13', title: null, state: 'failed', attempts: 1 },
          ],
        }),
      }),
      'Give #12 (Fix the login form) all its attempts again? y/n',
      'issue-12',
    ],
    ['of all', all, allPicture, 'Give #12 (Fix the login form) all its attempts again? y/n', 'issue-12'],
  ])('%s', (_, session, picture, question, task) => {
    const asked = pressKey(session, 'r', picture);
    expect(asked).toMatchObject({ asked: { kind: 'nothing' }, session: { asking: { question } } });
    expect(pressKey(asked.session, 'y', picture).asked).toMatchObject({
      kind: 'order',
      order: { words: ['retry', task] },
    });
    for (const key of ['n', 'p', 's', 'escape', 'return'])
      expect(pressKey(asked.session, key, picture)).toMatchObject({
        asked: { kind: 'nothing' },
        session: { asking: null, message: { text: 'No order was given.' }, isOrdering: false },
      });
  });
});

describe('an order that nobody would obey says why', () => {
  test.each<[string, ScreenState, string, Picture, string]>([
    ['another Ralph', local, 'p', localPicture({ ...localRun, run: other, state: null }), 'another Ralph'],
    ['no folder', local, 's', localPicture({ ...localRun, state: null }), 'no state in .ralph/state'],
    [
      'a state that cannot be read',
      local,
      'p',
      localPicture({
        ...localRun,
        state: { ...stateOf(), places: [{ kind: 'newer', place: 'directory', why: 'It is newer.' }] },
      }),
      'It is newer.',
    ],
    ['nothing stuck', local, 'r', localPicture({ ...localRun, state: stateOf({ tasks: [] }) }), 'no failed, blocked'],
    ['a lane out of reach', { ...all, selected: 2 }, 'p', allPicture, 'cannot be reached'],
    ['nothing read yet', all, 'p', { ...allPicture, all: null }, 'Nothing has been read yet.'],
    ['an order on its way', { ...local, isOrdering: true }, 'p', localPicture(), 'An order is being given'],
  ])('%s', (_, session, key, picture, why) => {
    const pressed = pressKey(session, key, picture);
    expect(pressed.asked).toEqual({ kind: 'nothing' });
    expect(pressed.session.message?.text).toContain(why);
    expect(pressed.session.isOrdering).toBe(session.isOrdering);
  });
});

describe('other keys', () => {
  test.each(['q', 'ctrl-c'])('%s quits, also at a question', (key) => {
    const asking = pressKey(local, 'r', localPicture()).session;
    expect(pressKey(local, key, localPicture()).asked).toEqual({ kind: 'quit' });
    expect(pressKey(asking, key, localPicture()).asked).toEqual({ kind: 'quit' });
  });

  test('a changes the view, and begins at the first branch', () => {
    const toAll = pressKey(local, 'a', localPicture()).session;
    expect(toAll.shows).toBe('all');
    expect(pressKey({ ...toAll, selected: 2 }, 'a', allPicture).session).toMatchObject({ shows: 'local', selected: 0 });
  });

  test.each<[number, string, number]>([
    [0, 'down', 1],
    [1, 'j', 2],
    [2, 'down', 2],
    [2, 'up', 1],
    [1, 'k', 0],
    [0, 'up', 0],
  ])('from branch %d, %s leads to %d', (selected, key, expected) => {
    expect(pressKey({ ...all, selected }, key, allPicture).session.selected).toBe(expected);
  });

  test.each(['x', 'escape', '', '💥', 'constructor'])('%s does nothing', (key) => {
    const session = withMessage(local, 'Something.', 'good');
    expect(pressKey(session, key, localPicture())).toEqual({ session, asked: { kind: 'nothing' } });
  });

  test('a message stays until the next key', () => {
    expect(pressKey(withMessage(all, 'Something.', 'good'), 'down', allPicture).session.message).toBeNull();
  });
});
