import { expect, test } from 'vitest';
import type { CellStore } from '../../../src/ports/state.ts';
import { batchReads } from '../../../src/state/batched-cells.ts';

function recording(): { readonly cells: CellStore; readonly asked: (readonly string[])[] } {
  const asked: (readonly string[])[] = [];
  const cells: CellStore = {
    place: 'ref',
    read: (names) => {
      asked.push(names);
      return Promise.resolve(names.map((name) => ({ kind: 'found', head: '1', text: `text of ${name}` })));
    },
    write: () => Promise.resolve({ kind: 'conflict' }),
    readHead: () => Promise.resolve({ kind: 'head', head: null }),
  };
  return { cells, asked };
}

test('what is asked for at the same moment is read at once, and each asker gets its own', async () => {
  const { cells, asked } = recording();
  const batched = batchReads(cells);
  const answers = await Promise.all([batched.read(['queue']), batched.read(['budget', 'queue'])]);
  expect(asked).toEqual([['queue', 'budget']]);
  expect(answers.map((texts) => texts.map((text) => (text.kind === 'found' ? text.text : text.kind)))).toEqual([
    ['text of queue'],
    ['text of budget', 'text of queue'],
  ]);
});

test('what is asked for later is read again', async () => {
  const { cells, asked } = recording();
  const batched = batchReads(cells);
  await batched.read(['queue']);
  await batched.read(['queue']);
  expect(asked).toEqual([['queue'], ['queue']]);
});
