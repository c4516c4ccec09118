import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { MAX_SESSION_BYTES } from '../../../src/core/lane/state/state.ts';
import { MAX_CLOSED_BYTES, createSeal, combineSeals } from '../../../src/state/seal.ts';

const options = { credential: 'sk-ant-0123456789', repository: 'octo/app' };
const of = { lane: 'issue-7', sessionId: '0f0e0d0c-1111-4222-8333-444455556666' };
const TEXT = Buffer.from('{"type":"user","message":{"content":"what was said"}}\n'.repeat(50));

async function close(content: Uint8Array = TEXT): Promise<Uint8Array> {
  const closed = await createSeal(options).close(content, of);
  if (closed === null) throw new Error('It was not closed.');
  return closed.content;
}

test('a sealed text opens again; it cannot be read, it is smaller, and no two are the same', async () => {
  const [one, other] = [await close(), await close()];
  expect(await createSeal(options).open(one, of)).toEqual({ kind: 'opened', content: TEXT });
  expect(Buffer.from(one).toString('latin1')).not.toContain('was said');
  expect(one.length).toBeLessThan(TEXT.length / 2);
  expect(Buffer.compare(one, other)).not.toBe(0);
});

describe('it does not open', () => {
  test.each([
    ['with another key', { ...options, credential: 'sk-ant-9876543210' }, of],
    ['without a key', { ...options, credential: null }, of],
    ['in another repository', { ...options, repository: 'octo/other' }, of],
    ['for another lane', options, { ...of, lane: 'queue' }],
    ['for another conversation', options, { ...of, sessionId: '0f0e0d0c-1111-4222-8333-444455556667' }],
  ])('%s', async (_, as, what) => {
    expect(await createSeal(as).open(await close(), what)).toEqual({ kind: 'refused' });
  });

  test('when any byte of it has changed', async () => {
    const closed = await close(Buffer.from('short'));
    for (let at = 0; at < closed.length; at += 1) {
      const changed = Buffer.from(closed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect([at, await createSeal(options).open(changed, of)]).toEqual([at, { kind: 'refused' }]);
    }
  });

  test.each([0, 1, 7, 8, 35, 36, 51, 52])('when it is cut to %i bytes', async (length) => {
    expect(await createSeal(options).open((await close()).subarray(0, length), of)).toEqual({ kind: 'refused' });
  });

  test('when it unfolds to more than a transcript may be, or is more itself', async () => {
    const bomb = await close(Buffer.alloc(MAX_SESSION_BYTES + 1));
    expect(bomb.length).toBeLessThan(200_000);
    expect(await createSeal(options).open(bomb, of)).toEqual({ kind: 'refused' });
    expect(await createSeal(options).open(Buffer.alloc(MAX_CLOSED_BYTES + 1), of)).toEqual({ kind: 'refused' });
  });
});

test('the largest transcript fits, also one that cannot be compressed', async () => {
  const content = randomBytes(MAX_SESSION_BYTES);
  const closed = await close(content);
  expect(closed.length).toBeLessThanOrEqual(MAX_CLOSED_BYTES);
  const opened = await createSeal(options).open(closed, of);
  expect(opened.kind === 'opened' && content.equals(opened.content)).toBe(true);
});

test('without a key nothing is closed and nothing signed', async () => {
  const seal = createSeal({ ...options, credential: null });
  expect([await seal.close(TEXT, of), seal.sign('text')]).toEqual([null, null]);
});

test.each([
  ['another text', options, 'other'],
  ['another key', { ...options, credential: 'sk-ant-9876543210' }, 'text'],
  ['another repository', { ...options, repository: 'octo/other' }, 'text'],
])('%s has another signature', (_, as, text) => {
  expect(createSeal(options).sign('text')).toMatch(/^[0-9a-f]{64}$/);
  expect(createSeal(as).sign(text)).not.toBe(createSeal(options).sign('text'));
});

test('of several keys, the first closes, and each opens what it has closed', async () => {
  const [one, other, third] = ['sk-one', 'sk-other', 'sk-third'].map((credential) =>
    createSeal({ ...options, credential }),
  );
  if (one === undefined || other === undefined || third === undefined) throw new Error('there are three');
  const [before, now] = [combineSeals([one, other]), combineSeals([other, one])];
  const closed = (await before.close(TEXT, of))?.content ?? Buffer.alloc(0);
  expect(await now.open(closed, of)).toEqual({ kind: 'opened', content: TEXT });
  expect(await other.open(closed, of)).toEqual({ kind: 'refused' });
  expect(await combineSeals([other, third]).open(closed, of)).toEqual({ kind: 'refused' });
  expect([before.sign('text'), now.sign('text')]).toEqual([one.sign('text'), other.sign('text')]);
});
