import { mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { exportSession, importSession, MAX_TRANSCRIPT_BYTES, projectSlug } from '../../src/agents/session-files.ts';
import { createMachine } from './agent-fixture.ts';

const id = '0f0e0d0c-1111-4222-8333-444455556666';
const redact = (text: string): string => text.replaceAll('s3cr3t', '***');

test('a transcript is exported redacted, and imported as it was exported', async () => {
  await using place = await createPlace();
  await writeFile(place.transcript, 'token s3cr3t\n');
  expect(await exportSession(place, { id, folder: place.store, redact })).toBe(true);
  expect(await readFile(join(place.store, `${id}.jsonl`), 'utf8')).toBe('token ***\n');

  const fresh = { ...place, configFolder: join(place.store, 'fresh') };
  expect(await importSession(fresh, { id, folder: place.store })).toBe(true);
  expect(await readFile(join(fresh.configFolder, 'projects', projectSlug(place.workFolder), `${id}.jsonl`), 'utf8')).toBe('token ***\n');
});

test('a transcript at the size limit is exported, a larger one is not', async () => {
  await using place = await createPlace();
  await writeFile(place.transcript, 'x');
  await truncate(place.transcript, MAX_TRANSCRIPT_BYTES);
  expect(await exportSession(place, { id, folder: place.store, redact })).toBe(true);
  await truncate(place.transcript, MAX_TRANSCRIPT_BYTES + 1);
  expect(await exportSession(place, { id, folder: place.store, redact })).toBe(false);
});

test.each([
  { what: 'a missing transcript', make: async () => undefined },
  { what: 'an empty transcript', make: (path: string) => writeFile(path, '') },
  { what: 'a folder in its place', make: (path: string) => mkdir(path) },
  { what: 'a link to another file', make: (path: string) => symlink('/etc/hostname', path) },
])('$what is not exported', async ({ make }) => {
  await using place = await createPlace();
  await make(place.transcript);
  expect(await exportSession(place, { id, folder: place.store, redact })).toBe(false);
});

test('an id that is no UUID never becomes a path', async () => {
  await using place = await createPlace();
  await writeFile(join(dirname(place.transcript), 'other.jsonl'), 'text');
  expect(await exportSession(place, { id: 'other', folder: place.store, redact })).toBe(false);
  expect(await importSession(place, { id: '../other', folder: place.store })).toBe(false);
});

async function createPlace() {
  const machine = await createMachine();
  const configFolder = join(machine.home, 'config');
  const transcript = join(configFolder, 'projects', projectSlug(machine.workFolder), `${id}.jsonl`);
  await mkdir(dirname(transcript), { recursive: true });
  return { ...machine, configFolder, transcript, store: join(machine.home, 'store') };
}
