import { expect, test } from 'vitest';
import {
  dropSession,
  resetSessions,
  dropExpiredSessions,
  findAgentSession,
  listSessions,
  switchAgent,
} from '../../../../src/core/lane/session.ts';
import { createInitialState, type LaneState } from '../../../../src/core/lane/state/state.ts';
import { HOUR, noon, policy } from '../core-fixtures.ts';

const session = (id: string, lastUsedAt = noon) => ({ id, startedAt: noon, lastUsedAt, taskId: 'issue-1' });
const own: LaneState = { ...createInitialState('queue', noon), agent: 'claude', session: session('a') };
const handedOn = switchAgent(own, 'codex', 'limit', noon);

test("an agent's conversation rests during another agent's turn, and continues when its own turn comes", () => {
  expect(handedOn).toMatchObject({ agent: 'codex', session: null, resting: { claude: { id: 'a' } } });
  const worked: LaneState = { ...handedOn, session: session('b') };
  const back = switchAgent(worked, 'claude', 'by_order', noon);
  expect(back).toMatchObject({ agent: 'claude', session: { id: 'a' }, resting: { codex: { id: 'b' } } });
  expect(back.transitions).toEqual([
    { at: noon, subject: 'agent', from: 'claude', to: 'codex', reason: 'limit' },
    { at: noon, subject: 'agent', from: 'codex', to: 'claude', reason: 'by_order' },
  ]);
});

test('its own turn changes nothing, and the very first turn is not a hand-over', () => {
  expect(switchAgent(own, 'claude', 'limit', noon)).toBe(own);
  const first = switchAgent(createInitialState('queue', noon), 'codex', 'by_order', noon);
  expect(first).toEqual({ ...createInitialState('queue', noon), agent: 'codex' });
});

test('each conversation is found by its agent', () => {
  const both: LaneState = { ...handedOn, session: session('b') };
  expect([
    findAgentSession(both, 'claude')?.id,
    findAgentSession(both, 'codex')?.id,
    findAgentSession(both, 'gemini'),
  ]).toEqual(['a', 'b', null]);
  expect(listSessions(both, 'claude').map(({ agent, session: { id } }) => [agent, id])).toEqual([
    ['codex', 'b'],
    ['claude', 'a'],
  ]);
});

test('one is dropped without the other, a person drops all of them', () => {
  const both: LaneState = { ...handedOn, session: session('b') };
  expect(dropSession(both, 'claude', 'unknown_session', noon)).toMatchObject({ session: { id: 'b' }, resting: {} });
  expect(dropSession(both, 'codex', 'unknown_session', noon)).toMatchObject({
    session: null,
    resting: { claude: { id: 'a' } },
  });
  expect(resetSessions(both, 'completed', noon)).toMatchObject({ session: null, resting: {} });
});

test('a session that rested for longer than the maximum is forgotten', () => {
  const expired = noon + policy.sessionExpiryMs;
  expect(dropExpiredSessions(handedOn, policy, expired).resting).toEqual({});
  expect(dropExpiredSessions(handedOn, policy, expired - HOUR)).toBe(handedOn);
});
