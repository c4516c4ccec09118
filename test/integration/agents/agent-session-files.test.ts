import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, open, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildProjectSlug } from '../../../src/agents/claude/try-key.ts';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { createRedactor } from '../../../src/core/text/redact.ts';
import { MAX_SESSION_BYTES } from '../../../src/core/lane/state/state.ts';
import { createSeal } from '../../../src/state/seal.ts';
import { readStateFolder, writeStateFolder } from '../../../src/state/state-folder.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';
import { claude, createWorld, installOnce } from './claude-fixture.ts';

const ID = '0f0e0d0c-1111-4222-8333-444455556666';
const SECRET = 'pa"ss wörd/1+2';
const redact = createRedactor([SECRET]);

test('a transcript is exported line for line, and imported as it was exported', async () => {
  await using place = await createPlace();
  const text = lines(prompt('one'), answer('two'), result('three'));
  await writeFile(place.transcript, text);
  expect(await place.export()).toMatchObject({ kind: 'exported', isCut: false });
  expect(place.exported()).toBe(text);

  const fresh = { ...place, configFolder: join(place.home, 'fresh') };
  expect(await claudeCli.sessions.import(fresh, { id: ID, content: Buffer.from(text) })).toBe(true);
  const imported = join(fresh.configFolder, 'projects', buildProjectSlug(place.workFolder), `${ID}.jsonl`);
  expect(await readFile(imported, 'utf8')).toBe(text);
  expect((await stat(imported)).mode & 0o777).toBe(0o600);
});

describe('files that are not exported', () => {
  test.each<{ what: string; make: (path: string) => Promise<unknown>; why: string }>([
    { what: 'a missing transcript', make: async () => undefined, why: 'it is missing, empty or not a plain file' },
    {
      what: 'an empty transcript',
      make: (path) => writeFile(path, ''),
      why: 'it is missing, empty or not a plain file',
    },
    { what: 'a folder in its place', make: (path) => mkdir(path), why: 'it is missing, empty or not a plain file' },
    {
      what: 'a link to another file',
      make: (path) => symlink('/etc/hostname', path),
      why: 'it is missing, empty or not a plain file',
    },
    {
      what: 'a pipe that nobody writes',
      make: (path) => promisify(execFile)('mkfifo', [path]),
      why: 'it is missing, empty or not a plain file',
    },
    {
      what: 'a file without a message: the CLI would not know it',
      make: (path) => writeFile(path, lines({ type: 'mode' })),
      why: 'it contains no message',
    },
    {
      what: 'a file that is not a transcript',
      make: (path) => writeFile(path, 'some text\n42\nnull\n'),
      why: 'it contains no message',
    },
    {
      what: 'a prompt that is too long itself',
      make: (path) => writeFile(path, lines(prompt('one'), prompt('x'.repeat(MAX_SESSION_BYTES)))),
      why: 'its last prompt and the answer to it are larger than 10 MiB',
    },
    {
      what: 'a prompt whose answers are too long together',
      make: (path) => writeFile(path, lines(prompt('one'), ...times(11, () => answer('x'.repeat(MEBIBYTE))))),
      why: 'its last prompt and the answer to it are larger than 10 MiB',
    },
    {
      what: 'bytes that are not a text, and grow when they are read',
      make: (path) =>
        writeFile(
          path,
          Buffer.concat([
            Buffer.from('{"type":"user","message":{"content":"'),
            Buffer.alloc(MAX_SESSION_BYTES - 100, 0xff),
            Buffer.from('"}}\n'),
          ]),
        ),
      why: 'it is larger than 10 MiB',
    },
  ])('$what', async ({ make, why }) => {
    await using place = await createPlace();
    await make(place.transcript);
    expect(await place.export()).toEqual({ kind: 'left-behind', why });
  });

  test('an id that is not a UUID: it never becomes a path', async () => {
    await using place = await createPlace();
    await writeFile(join(dirname(place.transcript), 'other.jsonl'), lines(prompt('one')));
    expect(await claudeCli.sessions.export(place, { id: 'other', redact })).toEqual({
      kind: 'left-behind',
      why: 'its id is not a UUID',
    });
    expect(await claudeCli.sessions.import(place, { id: '../other', content: Buffer.from('{}') })).toBe(false);
  });

  test('lines that are not JSON objects, are nested beyond reason, or were cut off when the CLI was killed', async () => {
    await using place = await createPlace();
    await writeFile(
      place.transcript,
      `${lines(prompt('one'))}broken\n[1]\n"text"\n{"type":"user","text":"\\n","deep":${'['.repeat(200_000)}${']'.repeat(200_000)}}\n${lines(answer('two'))}{"type":"user","mess`,
    );
    await place.export();
    expect(place.exported()).toBe(lines(prompt('one'), answer('two')));
  });
});

describe('beyond 10 MiB', () => {
  test('a transcript at the limit is kept whole', async () => {
    await using place = await createPlace();
    await writeFile(
      place.transcript,
      lines(prompt('one'), padding(MAX_SESSION_BYTES - lines(prompt('one'), padding(0)).length)),
    );
    expect((await stat(place.transcript)).size).toBe(MAX_SESSION_BYTES);
    expect(await place.export()).toMatchObject({ kind: 'exported', isCut: false });
    expect(place.exported().length).toBe(MAX_SESSION_BYTES);
  });

  test('the oldest go: what is left begins with the first prompt that fits, and fits itself', async () => {
    await using place = await createPlace();
    await writeFile(
      place.transcript,
      lines(
        ...[1, 2, 3, 4].flatMap((turn) => [
          prompt(`prompt ${String(turn)}`),
          answer('x'.repeat(3 * MEBIBYTE)),
          result('of a tool'),
        ]),
      ),
    );
    expect(await place.export()).toMatchObject({ kind: 'exported', isCut: true });
    const kept = place.exported();
    expect(kept.split('\n')[0]).toBe(JSON.stringify(prompt('prompt 2')));
    expect(kept.match(/prompt \d/g)).toEqual(['prompt 2', 'prompt 3', 'prompt 4']);
    expect(kept.length).toBeLessThan(MAX_SESSION_BYTES);
  });

  test.each<{ rule: string; turn: object }>([
    { rule: "a tool's result is not a prompt", turn: result('of a tool') },
    { rule: 'a turn of a subagent is not a prompt', turn: { ...prompt('do this part'), isSidechain: true } },
    { rule: 'a note of the CLI is not a prompt', turn: { ...prompt('Caveat'), isMeta: true } },
    { rule: 'an answer is not a prompt', turn: answer('yes') },
  ])('$rule', async ({ turn }) => {
    await using place = await createPlace();
    await writeFile(
      place.transcript,
      lines(prompt('old'), padding(MAX_SESSION_BYTES), turn, prompt('new'), answer('end')),
    );
    await place.export();
    expect(place.exported()).toBe(lines(prompt('new'), answer('end')));
  });

  test.each([0, 1])('a prompt that fits with %i byte to spare is kept', async (spare) => {
    await using place = await createPlace();
    const kept = lines(prompt('new'), padding(MAX_SESSION_BYTES - spare - lines(prompt('new'), padding(0)).length));
    await writeFile(place.transcript, lines(prompt('old')) + kept);
    await place.export();
    expect(place.exported()).toBe(kept);
  });

  test('a transcript of 100 MiB takes less than 200 MB of memory', async () => {
    await using place = await createPlace();
    const file = await open(place.transcript, 'w');
    for (let turn = 0; turn < 100; turn++)
      await file.write(lines(prompt(`prompt ${String(turn)}`), answer(`${'x y '.repeat(MEBIBYTE / 4)}${SECRET}`)));
    await file.close();
    const program = `
      import { claudeCli } from ${JSON.stringify(new URL('../../../src/agents/claude/cli.ts', import.meta.url).href)};
      import { createRedactor } from ${JSON.stringify(new URL('../../../src/core/text/redact.ts', import.meta.url).href)};
      const [configFolder, workFolder, secret] = process.argv.slice(1);
      const { kind } = await claudeCli.sessions.export({ configFolder, workFolder }, { id: ${JSON.stringify(ID)}, redact: createRedactor([secret]) });
      console.log(JSON.stringify({ kind, megabytes: process.resourceUsage().maxRSS * 1024 / 1e6 }));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', program, place.configFolder, place.workFolder, SECRET],
      { cwd: fileURLToPath(new URL('../../..', import.meta.url)) },
    );
    const { kind, megabytes } = JSON.parse(stdout) as { kind: string; megabytes: number };
    expect(kind).toBe('exported');
    expect(megabytes).toBeLessThan(200);
  });

  test('the exported session is what the state folder stores and returns', async () => {
    await using place = await createPlace();
    await writeFile(
      place.transcript,
      lines(prompt('one'), padding(MAX_SESSION_BYTES - lines(prompt('one'), padding(0)).length)),
    );
    const exported = await place.export();
    const seal = createSeal({ credential: 'sk-ant-of-the-test', repository: 'octo/app' });
    const of = { lane: 'queue', sessionId: ID };
    const transcript = await seal.close(exported.kind === 'exported' ? exported.content : Buffer.alloc(0), of);
    const folder = join(place.home, 'copy');
    await writeStateFolder(folder, { lane: 'queue', sequence: 1, document: null, transcript }, seal.sign);
    const read = await readStateFolder(folder, seal.sign);
    const stored = read.kind === 'intact' ? read.copy.transcript?.content : undefined;
    const opened = await seal.open(stored ?? Buffer.alloc(0), of);
    expect(opened).toEqual({ kind: 'opened', content: Buffer.from(place.exported()) });
  });

  test.each([0, MAX_SESSION_BYTES + 1])('one of %i bytes is not imported', async (bytes) => {
    await using place = await createPlace();
    expect(await claudeCli.sessions.import(place, { id: ID, content: Buffer.alloc(bytes, 'x') })).toBe(false);
  });
});

describe('known secrets', () => {
  test.each<{ form: string; entry: object }>([
    { form: 'plain', entry: prompt(`token ${SECRET}.`) },
    { form: 'in JSON text that a tool printed', entry: result(JSON.stringify({ password: SECRET })) },
    { form: 'URL-encoded', entry: result(`https://example.com/?p=${encodeURIComponent(SECRET)}&q=1`) },
    { form: 'in base64', entry: result(Buffer.from(`user:${SECRET}:end`).toString('base64')) },
    {
      form: 'deep in the input of a tool',
      entry: { type: 'assistant', message: { content: [{ type: 'tool_use', input: { list: [{ deep: SECRET }] } }] } },
    },
    {
      form: 'as the name of a property',
      entry: { type: 'assistant', message: { content: [{ type: 'tool_use', input: { [SECRET]: 1 } }] } },
    },
    { form: 'a key by its form', entry: result('export KEY=sk-ant-api03-0123456789abcdef') },
  ])('are removed: $form', async ({ entry }) => {
    await using place = await createPlace();
    await writeFile(place.transcript, lines(entry));
    expect(await place.export()).toMatchObject({ kind: 'exported' });
    const kept = place.exported();
    expect(JSON.parse(kept)).toMatchObject({ type: expect.stringMatching(/^(user|assistant)$/) });
    expect(kept).toContain('***');
    for (const form of [
      SECRET,
      JSON.stringify(SECRET).slice(1, -1),
      encodeURIComponent(SECRET),
      Buffer.from(SECRET).toString('base64').slice(4, -4),
      'sk-ant',
    ])
      expect(kept).not.toContain(form);
  });

  test('the beginning of a private key takes its own text with it, and not the rest of the line', async () => {
    await using place = await createPlace();
    const entry = (text: string) => ({
      type: 'user',
      message: { content: [{ type: 'tool_result', content: text }] },
      uuid: 'u-1',
    });
    await writeFile(
      place.transcript,
      lines(prompt('one'), entry('before -----BEGIN RSA PRIVATE KEY-----\nMIIE'), answer('two')),
    );
    await place.export();
    expect(place.exported()).toBe(lines(prompt('one'), entry('before ***'), answer('two')));
  });

  test('lines without one stay as the CLI wrote them, numbers and spaces included', async () => {
    await using place = await createPlace();
    const line = '{"type": "user", "message":{"content":"\\u0041"}, "n":12345678901234567890, "e":1.50}\n';
    await writeFile(place.transcript, line);
    await place.export();
    expect(place.exported()).toBe(line);
  });
});

describe('the real CLI', () => {
  beforeAll(installOnce, 300_000);

  test('continues from a transcript whose beginning was cut, in the same session', async () => {
    await using world = await createWorld({
      script: ({ prompts, results }) =>
        results.length === 0
          ? { kind: 'use', tool: 'Write', input: { file_path: `${String(prompts.length)}.txt`, content: 'x' } }
          : { kind: 'reply', text: 'done' },
    });
    const sessionId = (await world.call('FIRST PROMPT')).analysis.sessionId ?? '';
    const transcript = join(
      world.configFolder,
      'projects',
      buildProjectSlug(world.machine.workFolder),
      `${sessionId}.jsonl`,
    );
    await appendFile(transcript, lines({ type: 'mode', mode: 'x'.repeat(MAX_SESSION_BYTES) }));
    await world.agent.call(callOf({ prompt: 'SECOND PROMPT', resume: sessionId }));

    const exported = await world.agent.exportSession(sessionId);
    expect(world.log.lines).toContain('session: its transcript is long, so its oldest prompts are not kept');
    const fresh = createAgentOn(world.machine, { command: claude, environment: world.environment });
    expect(await fresh.agent.importSession(sessionId, exported ?? Buffer.alloc(0))).toBe(true);
    const { analysis } = await fresh.agent.call(callOf({ prompt: 'THIRD PROMPT', resume: sessionId }));
    expect(analysis).toMatchObject({ sessionId, agentError: null });
    const prompts = world.model.requests.at(-1)?.conversation?.prompts ?? [];
    expect(prompts.map((text) => /(FIRST|SECOND|THIRD) PROMPT/.exec(text)?.[0])).toEqual([
      'SECOND PROMPT',
      'THIRD PROMPT',
    ]);
  });

  test('what cannot be kept is reported without an error', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'never asked' }] });
    expect(await world.agent.exportSession(randomUUID())).toBeNull();
    expect(world.log.lines).toEqual([
      'session: its transcript is not kept (it is missing, empty or not a plain file), so the next run begins a new one',
    ]);
  });
});

const MEBIBYTE = 1024 * 1024;

function lines(...entries: readonly object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

function prompt(text: string): object {
  return { type: 'user', message: { role: 'user', content: text } };
}

function result(text: string): object {
  return {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: text }] },
  };
}

function answer(text: string): object {
  return { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text }] } };
}

/** Returns a line without a message that is `length` characters longer than an empty one. */
function padding(length: number): object {
  return { type: 'attachment', text: 'x'.repeat(length) };
}

function times<T>(count: number, make: () => T): readonly T[] {
  return Array.from({ length: count }, make);
}

async function createPlace() {
  const machine = await createMachine();
  const configFolder = join(machine.home, 'config');
  const transcript = join(configFolder, 'projects', buildProjectSlug(machine.workFolder), `${ID}.jsonl`);
  await mkdir(dirname(transcript), { recursive: true });
  const place = { ...machine, configFolder, transcript };
  let text = '';
  return {
    ...place,
    /** Returns the last export. */
    exported: () => text,
    export: async () => {
      const exported = await claudeCli.sessions.export(place, { id: ID, redact });
      text = exported.kind === 'exported' ? Buffer.from(exported.content).toString() : '';
      return exported;
    },
  };
}
