import { expect, test } from 'vitest';
import { createInitialState } from '../../../src/core/lane/state/state.ts';
import { QUEUE } from '../../../src/core/tasks/ids.ts';
import { findSessionToResume } from '../../../src/loop/turns.ts';
import type { FoundTranscript } from '../../../src/ports/state.ts';
import { HOUR, noon, policy } from '../core/core-fixtures.ts';

const TASK_ID = 'issue-7';
const session = { id: 'abc', startedAt: noon, lastUsedAt: noon, taskId: TASK_ID };
const transcript = { sha256: 'f'.repeat(64), bytes: 3 };
const known = { ...createInitialState(QUEUE, noon), session, transcript };
const content = { content: new Uint8Array(3), sha256: transcript.sha256 };

test.each([
  { what: 'its transcript is there', state: known, kind: 'found', hours: 1, resumed: 'abc' },
  { what: 'its transcript is gone', state: known, kind: 'absent', hours: 1, resumed: null },
  { what: 'none was kept', state: { ...known, transcript: null }, kind: 'found', hours: 1, resumed: null },
  { what: 'it has expired', state: known, kind: 'found', hours: 10_000, resumed: null },
  { what: 'no session is known', state: { ...known, session: null }, kind: 'found', hours: 1, resumed: null },
] as const)('the session that a dry run shows, where $what: $resumed', async ({ state, kind, hours, resumed }) => {
  const found: FoundTranscript = kind === 'found' ? { kind, transcript: content } : { kind };
  const store = { transcript: () => Promise.resolve(found) };
  expect(await findSessionToResume(store, { state, taskId: TASK_ID, policy, now: noon + hours * HOUR })).toBe(resumed);
});
