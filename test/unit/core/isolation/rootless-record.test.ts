import { expect, test } from 'vitest';
import { rootlessRecord } from '../../../../src/core/isolation/sandbox-record.ts';

const record = { version: 1, id: '0b0e6a3e-7c3c-4d5e-9d55-2f1f0c7b1a11', folder: '/var/tmp/ralph-sandbox-12ab34cd' };

test("the record of one of Ralph's sandboxes is accepted", () => {
  expect(rootlessRecord.parse(record)).toEqual(record);
});

test.each([
  { ...record, version: 2 },
  { ...record, id: 'x' },
  { ...record, folder: '/' },
  { ...record, folder: '/home/runner' },
  { ...record, folder: 'ralph-sandbox-12ab34cd' },
  { ...record, folder: '/var/tmp/ralph-sandbox-12ab34cd/..' },
  { ...record, folder: '/var/tmp/../ralph-sandbox-12ab34cd' },
  { ...record, more: true },
])('%j names nothing that is removed', (other) => {
  expect(rootlessRecord.safeParse(other).success).toBe(false);
});
