import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { installCli } from '../../../src/agents/cli/install.ts';
import { createMachine, type Machine } from './agent-fixture.ts';

test.each([
  {
    answer: 'a package without the version',
    status: 200,
    body: {
      name: '@anthropic-ai/claude-code',
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { name: '@anthropic-ai/claude-code', version: '1.0.0', dist: {} } },
    },
  },
  { answer: 'no such package', status: 404, body: { error: 'Not found' } },
])('a registry that knows $answer is reported as such, and nothing is left behind', async ({ status, body }) => {
  await using machine = await createMachine();
  await using registry = await startRegistry(status, body);
  await writeFile(join(machine.home, '.npmrc'), `registry=${registry.url}\n`);
  await expect(install(machine, {})).rejects.toThrow('this version does not exist. Set agent-version');
  expect((await readdir(machine.home)).filter((name) => name.startsWith('claude'))).toEqual([]);
});

test.each(['latest', '2', '^2.1.0', '2.1.330 --global', ''])('"%s" is not an exact version', async (version) => {
  await using machine = await createMachine();
  await expect(install(machine, { version })).rejects.toThrow(`agent-version is "${version}"`);
});

test('without npm it says what to add', async () => {
  await using machine = await createMachine();
  await expect(install(machine, { environment: { PATH: machine.home } })).rejects.toThrow('npm cannot be started');
});

test('without a network it says so', async () => {
  await using machine = await createMachine();
  await writeFile(join(machine.home, '.npmrc'), 'registry=http://127.0.0.1:9/\n');
  await expect(install(machine, {})).rejects.toThrow('npm cannot reach the registry');
});

describe('beside another run', () => {
  test('each gets the same program, and nothing of the making is left', async () => {
    await using machine = await createMachine();
    const environment = { PATH: `${await slowNpm(machine)}:${machine.environment['PATH'] ?? ''}` };
    const all = await Promise.all(Array.from({ length: 4 }, () => install(machine, { environment })));
    expect(new Set(all.map((program) => JSON.stringify(program))).size).toBe(1);
    expect((await readdir(machine.home)).filter((name) => name.startsWith('claude'))).toEqual(['claude']);
  });

  test('a broken installation is made again', async () => {
    await using machine = await createMachine();
    const environment = { PATH: `${await slowNpm(machine)}:${machine.environment['PATH'] ?? ''}` };
    await mkdir(join(machine.home, 'claude', 'node_modules'), { recursive: true });
    await expect(install(machine, { environment })).resolves.toBeDefined();
    expect((await readdir(machine.home)).filter((name) => name.startsWith('claude'))).toEqual(['claude']);
  });
});

/** Returns the folder of a slow npm that installs a script of that version. */
async function slowNpm(machine: Machine): Promise<string> {
  const bin = join(machine.home, 'bin');
  await mkdir(bin);
  const npm = `#!/bin/sh
folder="$3/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}"
sleep 0.2
mkdir -p "$folder"
printf '#!/bin/sh\\necho "2.1.330 (Claude Code)"\\n' > "$folder/claude"
chmod 755 "$folder/claude"
`;
  await writeFile(join(bin, 'npm'), npm, { mode: 0o755 });
  return bin;
}

test('npm gets no key and no other variable of the agent', async () => {
  await using machine = await createMachine();
  const bin = join(machine.home, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'npm'), '#!/bin/sh\n/usr/bin/env >&2\nexit 1\n');
  await chmod(join(bin, 'npm'), 0o755);
  const seen = install(machine, {
    environment: { PATH: bin, ANTHROPIC_API_KEY: 'sk-ant-1', MY_TOKEN: 'my-token' },
  }).catch((error: unknown) => String(error));
  expect(await seen).toContain('npm ended with exit code 1');
  expect(await seen).not.toMatch(/sk-ant-1|my-token/);
});

function install(
  machine: Machine,
  given: { readonly version?: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<unknown> {
  return installCli({
    ...claudeCli,
    version: given.version ?? '2.1.330',
    folder: join(machine.home, 'claude'),
    environment: given.environment ?? { ...machine.environment },
    runTag: randomUUID(),
  });
}

async function startRegistry(status: number, body: object) {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
