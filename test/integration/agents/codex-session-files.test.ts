import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codexCli, tokensOfCodexSession } from '../../../src/agents/codex/cli.ts';
import { MAX_SESSION_BYTES } from '../../../src/core/lane/state/state.ts';

const ID = '0f0e0d0c-1111-4222-8333-444455556666';
const DAY = 'sessions/2026/11/26';
const NAME = `rollout-2026-11-26T00-00-00-${ID}.jsonl`;
const redact = (text: string): string => text.replaceAll('s3cr3t-value', '***');

const meta = { type: 'session_meta', payload: { id: ID } };
const started = { type: 'event_msg', payload: { type: 'task_started' } };
const message = (text: string): object => ({
  type: 'response_item',
  payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const used = (input: number, output: number): object => ({
  type: 'event_msg',
  payload: {
    type: 'token_count',
    info: { total_token_usage: { input_tokens: input, output_tokens: output, cached_input_tokens: 1 } },
  },
});

test('a rollout leaves without secrets, and comes back where the CLI looks for it', async () => {
  await using place = await createPlace();
  await place.write(
    DAY,
    NAME,
    lines(meta, started, message('the key is s3cr3t-value'), { broken: 'no' }) + '{"type":"res',
  );
  const exported = await place.export();
  expect(exported).toBe(lines(meta, started, message('the key is ***'), { broken: 'no' }));
  expect(await codexCli.sessions.import(place, { id: ID, content: Buffer.from(exported) })).toBe(true);
  const [found = '', ...more] = place.rollouts();
  expect(more).toEqual([]);
  expect(readFileSync(found, 'utf8')).toBe(exported);
});

test('of a rollout that is too long, the line that names the session and the newest prompts are kept', async () => {
  await using place = await createPlace();
  const padding = { type: 'response_item', payload: 'x'.repeat(MAX_SESSION_BYTES) };
  await place.write(DAY, NAME, lines(meta, started, message('old'), padding, started, message('new'), used(1, 2)));
  expect(await place.export()).toBe(lines(meta, started, message('new'), used(1, 2)));
});

describe('files that an agent may have planted', () => {
  test.each<{ what: string; make: (folder: string) => Promise<unknown> }>([
    { what: 'nothing', make: async () => undefined },
    { what: 'a link to another file', make: (folder) => symlink('/etc/hostname', join(folder, NAME)) },
    { what: 'a pipe', make: async (folder) => execFileSync('mkfifo', [join(folder, NAME)]) },
    { what: 'a folder', make: (folder) => mkdir(join(folder, NAME)) },
    { what: "a rollout of another session's", make: (folder) => writeFile(join(folder, `rollout-x-1${ID}.json`), 'x') },
  ])('$what is not exported', async ({ make }) => {
    await using place = await createPlace();
    await mkdir(join(place.configFolder, DAY), { recursive: true });
    await make(join(place.configFolder, DAY));
    expect(await codexCli.sessions.export(place, { id: ID, redact })).toMatchObject({ kind: 'left-behind' });
    expect(await tokensOfCodexSession(place.configFolder, ID)).toBeNull();
  });

  test.each(['sessions', 'sessions/2026', 'sessions/2026/11', DAY])(
    'a link in place of %s is not followed',
    async (path) => {
      await using place = await createPlace();
      const elsewhere = join(place.root, 'elsewhere');
      await place.write(join('../elsewhere', DAY.slice(path.length)), NAME, lines(meta, started, message('theirs')));
      await mkdir(dirname(join(place.configFolder, path)), { recursive: true });
      await symlink(elsewhere, join(place.configFolder, path));
      expect(await codexCli.sessions.export(place, { id: ID, redact })).toMatchObject({ kind: 'left-behind' });
    },
  );

  test.each(['sessions', 'sessions/2026', 'sessions/2026/01'])(
    'nothing is written through a link in place of %s',
    async (path) => {
      await using place = await createPlace();
      const elsewhere = join(place.root, 'elsewhere');
      await mkdir(elsewhere);
      await mkdir(dirname(join(place.configFolder, path)), { recursive: true });
      await symlink(elsewhere, join(place.configFolder, path));
      expect(await codexCli.sessions.import(place, { id: ID, content: Buffer.from(lines(meta)) })).toBe(true);
      expect(execFileSync('find', [elsewhere, '-type', 'f'], { encoding: 'utf8' })).toBe('');
      expect(place.rollouts()).toHaveLength(1);
    },
  );

  test('a second rollout of the session goes when one is imported', async () => {
    await using place = await createPlace();
    await place.write('sessions/2027/01/01', NAME, lines(meta, started, message('theirs')));
    await codexCli.sessions.import(place, { id: ID, content: Buffer.from(lines(meta, message('ours'))) });
    expect(place.rollouts().map((path) => readFileSync(path, 'utf8'))).toEqual([lines(meta, message('ours'))]);
  });
});

test.each(['../x', '', `${ID}/..`, 'x'.repeat(36), `${ID}\n`])('the id %j never becomes a path', async (id) => {
  await using place = await createPlace();
  expect(await codexCli.sessions.export(place, { id, redact })).toEqual({
    kind: 'left-behind',
    why: 'its id is not a UUID',
  });
  expect(await codexCli.sessions.import(place, { id, content: Buffer.from(lines(meta)) })).toBe(false);
  expect(existsSync(join(place.configFolder, 'sessions'))).toBe(false);
});

test.each([0, MAX_SESSION_BYTES + 1])('one of %i bytes is not imported', async (bytes) => {
  await using place = await createPlace();
  expect(await codexCli.sessions.import(place, { id: ID, content: Buffer.alloc(bytes, 'x') })).toBe(false);
});

test('the usage of a session is its last count', async () => {
  await using place = await createPlace();
  await place.write(
    DAY,
    NAME,
    lines(meta, used(100, 50), { type: 'event_msg', payload: null }, used(200, 100), message('x')),
  );
  expect(await tokensOfCodexSession(place.configFolder, ID)).toBe(300);
});

function lines(...entries: readonly object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

async function createPlace() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'ralph-codex-')));
  const place = { root, workFolder: join(root, 'work'), configFolder: join(root, 'config') };
  await mkdir(place.configFolder);
  return {
    ...place,
    write: async (folder: string, name: string, text: string): Promise<void> => {
      await mkdir(join(place.configFolder, folder), { recursive: true });
      await writeFile(join(place.configFolder, folder, name), text);
    },
    rollouts: (): readonly string[] =>
      execFileSync('find', [place.configFolder, '-type', 'f', '-name', '*.jsonl'], { encoding: 'utf8' })
        .split('\n')
        .filter(Boolean),
    export: async (): Promise<string> => {
      const exported = await codexCli.sessions.export(place, { id: ID, redact });
      return exported.kind === 'exported' ? Buffer.from(exported.content).toString() : exported.why;
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
