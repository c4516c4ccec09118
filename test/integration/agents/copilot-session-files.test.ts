import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copilotCli, resetCopilotSettings, countTokensSince } from '../../../src/agents/copilot/cli.ts';
import { MAX_SESSION_BYTES } from '../../../src/core/lane/state/state.ts';

const ID = '0f0e0d0c-1111-4222-8333-444455556666';
const redact = (text: string): string => text.replaceAll('s3cr3t-value', '***');
const start = { type: 'session.start', data: { sessionId: ID } };
const message = (content: string): object => ({ type: 'user.message', data: { content } });
const used = (timestamp: unknown, inputTokens: unknown, outputTokens: unknown): object => ({
  type: 'session.usage_record',
  timestamp,
  data: { usage: { inputTokens, outputTokens, cacheReadTokens: 10 } },
});

test('events leave without secrets, and come back alone', async () => {
  await using place = await createPlace();
  await place.write(lines(start, message('the key is s3cr3t-value')));
  const exported = await place.export();
  expect(exported).toBe(lines(start, message('the key is ***')));
  await writeFile(join(place.folder, 'workspace.yaml'), 'theirs');
  expect(await copilotCli.sessions.import(place, { id: ID, content: Buffer.from(exported) })).toBe(true);
  expect(await readdir(place.folder)).toEqual(['events.jsonl']);
  expect(readFileSync(place.events, 'utf8')).toBe(exported);
});

test('of events that are too many, the one that names the session and the newest prompts are kept', async () => {
  await using place = await createPlace();
  await place.write(
    lines(start, message('old'), { type: 'padding', data: 'x'.repeat(MAX_SESSION_BYTES) }, message('new')),
  );
  expect(await place.export()).toBe(lines(start, message('new')));
});

describe('files that an agent may have planted', () => {
  test.each<{ what: string; make: (path: string) => Promise<unknown> }>([
    { what: 'nothing', make: async () => undefined },
    { what: 'a link to another file', make: (path) => symlink('/etc/hostname', path) },
    { what: 'a pipe', make: async (path) => execFileSync('mkfifo', [path]) },
    { what: 'a folder', make: (path) => mkdir(path) },
    { what: 'what is not a session', make: (path) => writeFile(path, 'text\n42\n') },
  ])('$what is not exported', async ({ make }) => {
    await using place = await createPlace();
    await mkdir(place.folder, { recursive: true });
    await make(place.events);
    expect(await copilotCli.sessions.export(place, { id: ID, redact })).toMatchObject({ kind: 'left-behind' });
    expect(await countTokensSince(place.configFolder, ID, 0)).toBeNull();
  });

  test.each(['session-state', `session-state/${ID}`])(
    'nothing is written through a link in place of %s',
    async (path) => {
      await using place = await createPlace();
      const elsewhere = join(place.configFolder, '..', 'elsewhere');
      await mkdir(elsewhere);
      await mkdir(join(place.configFolder, path, '..'), { recursive: true });
      await symlink(elsewhere, join(place.configFolder, path));
      expect(await copilotCli.sessions.import(place, { id: ID, content: Buffer.from(lines(start)) })).toBe(true);
      expect(await readdir(elsewhere)).toEqual([]);
      expect(readFileSync(place.events, 'utf8')).toBe(lines(start));
    },
  );

  test('settings of its own are gone, and conversations stay', async () => {
    await using place = await createPlace();
    await place.write(lines(start));
    await symlink('/etc', join(place.configFolder, 'hooks'));
    await symlink('/etc/hostname', join(place.configFolder, 'settings.json'));
    await writeFile(join(place.configFolder, 'mcp-config.json'), '{}');
    await resetCopilotSettings(place.configFolder);
    expect(await readdir(place.configFolder)).toEqual(['session-state', 'settings.json']);
    expect(JSON.parse(readFileSync(join(place.configFolder, 'settings.json'), 'utf8'))).toEqual({
      includeCoAuthoredBy: false,
      memory: false,
      disableAllHooks: true,
    });
    expect(readFileSync('/etc/hostname', 'utf8')).not.toContain('includeCoAuthoredBy');
  });

  test('a folder that is not there is not made', async () => {
    await using place = await createPlace();
    await resetCopilotSettings(join(place.configFolder, 'none'));
    expect(existsSync(join(place.configFolder, 'none'))).toBe(false);
  });
});

test.each(['../x', '', `${ID}/..`, `${ID}\n`])('the id %j never becomes a path', async (id) => {
  await using place = await createPlace();
  expect(await copilotCli.sessions.export(place, { id, redact })).toEqual({
    kind: 'left-behind',
    why: 'its id is not a UUID',
  });
  expect(await copilotCli.sessions.import(place, { id, content: Buffer.from(lines(start)) })).toBe(false);
  expect(await readdir(place.configFolder)).toEqual([]);
});

test('the usage of a call is that of the session since the call began', async () => {
  await using place = await createPlace();
  const at = Date.parse('2026-11-26T00:00:00Z');
  await place.write(
    lines(
      used('2026-11-25T23:59:59.999Z', 1000, 1000),
      used('2026-11-26T00:00:00.000Z', 100, 50),
      used('2026-11-26T00:00:01.000Z', 10, null),
      used('not a time', 1000, 1000),
      used('2026-11-26T00:00:01.000Z', -5, 'many'),
    ),
  );
  expect(await countTokensSince(place.configFolder, ID, at)).toBe(160);
  expect(await countTokensSince(place.configFolder, ID, at + 60_000)).toBeNull();
});

function lines(...entries: readonly object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function createPlace() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'ralph-copilot-')));
  const place = { workFolder: join(root, 'work'), configFolder: join(root, 'config') };
  const folder = join(place.configFolder, 'session-state', ID);
  const events = join(folder, 'events.jsonl');
  await mkdir(place.configFolder);
  return {
    ...place,
    folder,
    events,
    write: async (text: string): Promise<void> => {
      await mkdir(folder, { recursive: true });
      await writeFile(events, text);
    },
    export: async (): Promise<string> => {
      const exported = await copilotCli.sessions.export(place, { id: ID, redact });
      return exported.kind === 'exported' ? Buffer.from(exported.content).toString() : exported.why;
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
