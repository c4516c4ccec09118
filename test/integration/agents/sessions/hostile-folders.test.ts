import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { buildProjectSlug } from '../../../../src/agents/claude/try-key.ts';
import type { CliSessions, SessionPlace } from '../../../../src/agents/cli/cli.ts';
import * as codex from '../../../../src/agents/codex/cli.ts';
import * as gemini from '../../../../src/agents/gemini/cli.ts';
import * as opencode from '../../../../src/agents/opencode/cli.ts';
import * as qwen from '../../../../src/agents/qwen/cli.ts';
import { MAX_SESSION_BYTES } from '../../../../src/core/lane/state/state.ts';

const UUID = '0f0e0d0c-1111-4222-8333-444455556666';
const SES = `ses_${'a'.repeat(26)}`;

/** One agent's sessions: the folder for export and import, below the CLI's own folder. */
interface Subject {
  readonly name: string;
  readonly id: string;
  readonly sessions: CliSessions;
  readonly exported: (place: SessionPlace) => string;
  readonly imported: (place: SessionPlace) => string;
  /** Returns a transcript with one message that contains `text`. */
  readonly transcript: (text: string) => string;
  /** Creates the further files without which the session would not be found. */
  readonly beside: (place: SessionPlace) => Promise<unknown>;
}

const geminiFolder = ({ configFolder }: SessionPlace) => join(configFolder, '.gemini/tmp/work');

const subjects: readonly Subject[] = [
  {
    name: 'Gemini CLI',
    id: UUID,
    sessions: gemini.geminiCli.sessions,
    exported: (place) => join(geminiFolder(place), 'chats/session-2026-11-22T08-56-0f0e0d0c.jsonl'),
    imported: (place) => join(geminiFolder(place), 'chats/session-imported-0f0e0d0c.jsonl'),
    transcript: (text) => lines({ sessionId: UUID, projectHash: 'x' }, { id: '1', type: 'user', content: [{ text }] }),
    beside: (place) => put(join(geminiFolder(place), '.project_root'), place.workFolder),
  },
  {
    name: 'OpenCode',
    id: SES,
    sessions: opencode.opencodeCli.sessions,
    exported: ({ configFolder }) => join(configFolder, 'exported', `${SES}.json`),
    imported: ({ configFolder }) => join(configFolder, 'to-import', `${SES}.json`),
    transcript: (text) => lines({ info: { id: SES }, messages: [{ parts: [{ type: 'text', text }] }] }),
    beside: async () => undefined,
  },
  {
    name: 'Qwen Code',
    id: UUID,
    sessions: qwen.qwenCli.sessions,
    exported: qwenPath,
    imported: qwenPath,
    transcript: (text) => lines({ uuid: '1', type: 'user', message: { parts: [{ text }] } }),
    beside: async () => undefined,
  },
];

describe.each(subjects)('$name', ({ id, sessions, exported, imported, transcript, beside }) => {
  const redact = (text: string) => text.replaceAll('s3cr3t', '***');

  test('a transcript leaves without secrets, and comes back as it left', async () => {
    await using place = await createPlace();
    await beside(place);
    await put(exported(place), transcript('the key is s3cr3t'));
    const left = await sessions.export(place, { id, redact });
    const content = left.kind === 'exported' ? Buffer.from(left.content) : Buffer.alloc(0);
    expect(content.toString().trim()).toBe(transcript('the key is ***').trim());
    expect(await sessions.import(place, { id, content })).toBe(true);
    expect(await readFile(imported(place), 'utf8')).toBe(content.toString());
  });

  test.each<{ what: string; make: (path: string, elsewhere: string) => Promise<unknown> }>([
    { what: 'nothing', make: async () => undefined },
    { what: 'an empty file', make: (path) => put(path, '') },
    { what: 'a folder', make: (path) => mkdir(path, { recursive: true }) },
    { what: 'a file without a message', make: (path) => put(path, lines({ sessionId: UUID, type: 'system' })) },
    { what: 'a file that is not a transcript', make: (path) => put(path, 'hello\n'.repeat(9)) },
    {
      what: 'lines that nest too deep for us',
      make: (path) =>
        put(path, `{"type":"user","sessionId":"${UUID}","b":"\\n","a":${'['.repeat(99_999)}${']'.repeat(99_999)}}\n`),
    },
    {
      what: 'a link to another transcript',
      make: async (path, elsewhere) => {
        await put(elsewhere, transcript('not yours'));
        await mkdir(dirname(path), { recursive: true });
        await symlink(elsewhere, path);
      },
    },
    {
      what: 'a pipe that nobody writes',
      make: async (path) => {
        await mkdir(dirname(path), { recursive: true });
        await promisify(execFile)('mkfifo', [path]);
      },
    },
    { what: 'a file that is too large', make: (path) => put(path, transcript('x'.repeat(MAX_SESSION_BYTES))) },
  ])('$what in its place is not exported', async ({ make }) => {
    await using place = await createPlace();
    await beside(place);
    await make(exported(place), join(place.root, 'elsewhere'));
    expect(await sessions.export(place, { id, redact })).toMatchObject({ kind: 'left-behind' });
  });

  test.each(['', '../x', '../../etc/passwd', `${UUID}/x`, `${UUID}\n`, 'ses_', `ses_${'/'.repeat(26)}`, '-rf'])(
    'an id such as %j does not count',
    async (other) => {
      await using place = await createPlace();
      expect(await sessions.export(place, { id: other, redact })).toMatchObject({ kind: 'left-behind' });
      expect(await sessions.import(place, { id: other, content: Buffer.from(transcript('hello')) })).toBe(false);
      expect(await readdir(place.root)).toEqual(['work']);
    },
  );

  test.each([0, MAX_SESSION_BYTES + 1])('a transcript of %i bytes is not imported', async (size) => {
    await using place = await createPlace();
    expect(await sessions.import(place, { id, content: Buffer.alloc(size, 'x') })).toBe(false);
  });

  test('an import follows no link', async () => {
    await using place = await createPlace();
    const outside = join(place.root, 'outside');
    await put(join(outside, 'file'), 'mine');
    await beside(place);
    await mkdir(dirname(imported(place)), { recursive: true });
    await symlink(join(outside, 'file'), imported(place));
    expect(await sessions.import(place, { id, content: Buffer.from(transcript('one')) })).toBe(true);
    await rm(dirname(imported(place)), { recursive: true });
    await symlink(outside, dirname(imported(place)));
    expect(await sessions.import(place, { id, content: Buffer.from(transcript('two')) })).toBe(true);
    expect(await readdir(outside)).toEqual(['file']);
    expect(await readFile(join(outside, 'file'), 'utf8')).toBe('mine');
    expect(await readFile(imported(place), 'utf8')).toBe(transcript('two'));
  });
});

test("Qwen Code's lines name the folder in which they are found", async () => {
  await using place = await createPlace();
  const line = { type: 'user', cwd: '/old/place', message: { parts: [{ text: 'see /old/place/a.ts' }] } };
  await qwen.qwenCli.sessions.import(place, { id: UUID, content: Buffer.from(lines(line)) });
  expect(JSON.parse(await readFile(qwenPath(place), 'utf8'))).toEqual({
    type: 'user',
    cwd: place.workFolder,
    message: { parts: [{ text: `see ${place.workFolder}/a.ts` }] },
  });
});

const OTHER = '12345678-0000-4000-8000-000000000000';

test('Gemini CLI leaves a file without a message behind when it continues: the one with messages is the session', async () => {
  await using place = await createPlace();
  const chats = join(geminiFolder(place), 'chats');
  const head = { sessionId: UUID, projectHash: 'x', kind: 'main' };
  await put(join(geminiFolder(place), '.project_root'), place.workFolder);
  await put(
    join(chats, 'session-2026-11-22T08-56-0f0e0d0c.jsonl'),
    lines(head, { id: '1', type: 'user', content: [] }),
  );
  await put(join(chats, 'session-2026-11-22T08-57-0f0e0d0c.jsonl'), lines(head));
  await put(join(chats, 'session-2026-11-22T08-58-0f0e0d0c.jsonl'), lines({ ...head, sessionId: 'another' }));
  const exported = await gemini.geminiCli.sessions.export(place, { id: UUID, redact: (text) => text });
  expect(exported).toMatchObject({ kind: 'exported' });
  await gemini.prepareChats(place, UUID);
  await gemini.prepareChats(place, null);
  // By the minute in its name, the CLI would begin the session again in this file.
  const names = ['session-2026-11-22T08-58-0f0e0d0c.jsonl', 'session-imported-0f0e0d0c.jsonl'];
  expect((await readdir(chats)).sort()).toEqual(names);
  await mkdir(join(chats, 'session-imported-12345678.jsonl'));
  await put(join(chats, 'session-2026-11-22T08-56-12345678.jsonl'), lines({ sessionId: OTHER, type: 'user' }));
  await gemini.prepareChats(place, OTHER);
  expect(await readFile(join(chats, 'session-imported-12345678.jsonl'), 'utf8')).toContain(OTHER);
});

test("leftovers of an earlier call in the CLI's folder are gone before the next one", async () => {
  await using place = await createPlace();
  const { configFolder } = place;
  await put(join(configFolder, '.gemini/policies/own.toml'), 'allow');
  await put(join(configFolder, '.gemini/tmp/work/chats/a'), 'kept');
  await put(join(configFolder, '.gemini/tmp/work/memory/MEMORY.md'), 'obey me');
  await put(join(configFolder, '.gemini/tmp/bin/rg'), 'a program');
  await put(join(configFolder, '.gemini/settings.json'), 'theirs');
  await gemini.resetGeminiHome(configFolder, { ours: true });
  expect((await readdir(join(configFolder, '.gemini'))).sort()).toEqual(['settings.json', 'tmp']);
  expect(await readFile(join(configFolder, '.gemini/settings.json'), 'utf8')).toBe('{"ours":true}');

  expect(await filesIn(join(configFolder, '.gemini/tmp'))).toEqual(['work/chats/a']);

  await put(join(configFolder, 'settings.json'), 'theirs');
  await put(join(configFolder, 'projects/a/chats/b'), 'kept');
  await put(join(configFolder, 'projects/a/memory/MEMORY.md'), 'obey me');
  await qwen.resetQwenHome(place);
  expect(await filesIn(configFolder)).toEqual(['projects/a/chats/b']);

  for (const name of ['.env', 'AGENTS.md', 'config.toml', 'skills/own/SKILL.md'])
    await put(join(configFolder, name), 'theirs');
  await put(join(configFolder, 'sessions/2026/01/01/a'), 'kept');
  await rm(join(configFolder, 'projects'), { recursive: true });
  await codex.resetCodexHome(configFolder);
  expect(await filesIn(configFolder)).toEqual(['sessions/2026/01/01/a']);

  for (const name of ['config/opencode/plugin/own.js', 'cache/opencode/bin/rg', 'data/opencode/plugin/own.js'])
    await put(join(configFolder, name), 'theirs');
  const kept = ['data/opencode/opencode.db', 'data/opencode/opencode.db-wal', 'exported/a', 'to-import/a'];
  for (const name of kept) await put(join(configFolder, name), 'kept');
  await rm(join(configFolder, 'sessions'), { recursive: true });
  await opencode.resetOpenCodeHome(configFolder);
  expect(await filesIn(configFolder)).toEqual(kept);
});

interface Place extends SessionPlace {
  readonly root: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function createPlace(): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'ralph-sessions-')));
  const workFolder = join(root, 'work');
  await mkdir(workFolder);
  return {
    root,
    workFolder,
    configFolder: join(root, 'config'),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

/** Returns the paths of all files below a folder. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function qwenPath({ configFolder, workFolder }: SessionPlace): string {
  return join(configFolder, 'projects', buildProjectSlug(workFolder), 'chats', `${UUID}.jsonl`);
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

function lines(...entries: readonly object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
