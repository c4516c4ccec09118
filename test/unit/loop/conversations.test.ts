import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AGENT_NAMES } from '../../../src/core/agent-names.ts';
import { MAX_SESSION_BYTES } from '../../../src/core/lane/state/state.ts';
import { packTranscripts, pickSealedTranscript } from '../../../src/handover/conversations.ts';
import { runs } from '../../runs.ts';

const sealed = (text: string): Uint8Array => Buffer.from(`RALPHTR\u0001${text}`);

test('one alone is stored as it is, and may be anybody', () => {
  const content = sealed('a');
  expect(packTranscripts([{ agent: 'codex', content }])).toBe(content);
  expect(pickSealedTranscript(content, 'claude')).toBe(content);
});

test('of none there is nothing to store', () => {
  expect(packTranscripts([])).toBeNull();
});

test('what has no room stays away, the first never', () => {
  const large = new Uint8Array(MAX_SESSION_BYTES);
  const file = packTranscripts([
    { agent: 'claude', content: large },
    { agent: 'codex', content: sealed('b') },
  ]);
  expect(file).toBe(large);
});

test('each agent gets its own back, and nobody another one', () => {
  const part = fc.record({ agent: fc.constantFrom(...AGENT_NAMES), content: fc.uint8Array() });
  fc.assert(
    fc.property(fc.uniqueArray(part, { minLength: 2, selector: ({ agent }) => agent }), (parts) => {
      const file = packTranscripts(parts) ?? new Uint8Array();
      for (const name of AGENT_NAMES) {
        const own = parts.find(({ agent }) => agent === name)?.content ?? null;
        expect(pickSealedTranscript(file, name)).toEqual(own);
      }
    }),
    { numRuns: runs(200) },
  );
});

test('no bytes make it throw', () => {
  const head = Buffer.from('RALPHTS\u0001');
  fc.assert(
    fc.property(fc.uint8Array(), fc.boolean(), fc.constantFrom(...AGENT_NAMES), (bytes, isFile, agent) => {
      const file = isFile ? new Uint8Array(Buffer.concat([head, bytes])) : bytes;
      expect(() => pickSealedTranscript(file, agent)).not.toThrow();
    }),
    { numRuns: runs(300) },
  );
});
