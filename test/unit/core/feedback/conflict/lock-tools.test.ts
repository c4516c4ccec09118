import { describe, expect, test } from 'vitest';
import { cpuMs } from '../../../../cpu.ts';
import {
  LOCK_TOOLS,
  listLockCommands,
  lockFilesSchema,
  selectLockFiles,
  describeLockFile,
  findCalledTools,
  findNamedTools,
} from '../../../../../src/core/feedback/conflict/lock-tools.ts';

describe('tools that commands call', () => {
  test.each<[string, readonly string[]]>([
    ['npm ci && npm test', ['npm']],
    ['cd web && pnpm i; cargo test | tee log', ['pnpm', 'cargo']],
    ['CI=true NODE_ENV=test yarn test', ['yarn']],
    ['$ sudo env A=b npm ci', ['npm']],
    ['if ! go vet ./...; then exit 1; fi', ['go']],
    ['(cd api && poetry run pytest)\nuv sync', ['poetry', 'uv']],
    ['npm', ['npm']],
  ])('%s', (commands, tools) => {
    expect(findCalledTools(commands)).toEqual(tools);
  });

  test.each([
    'echo npm',
    '# npm ci',
    'make test # npm ci',
    './npm ci',
    '/opt/evil/npm ci',
    'npm-run-all test',
    'npmx ci',
    'npm.cmd ci',
    'NPM ci',
    'npx tsc',
    'node --test',
    'constructor',
    '"npm" ci',
    '',
  ])('none: %s', (commands) => {
    expect(findCalledTools(commands)).toEqual([]);
  });

  test('are looked for in the first 64 KiB, quickly', () => {
    expect(findCalledTools(`${'x'.repeat(64 * 1024)}\nnpm ci`)).toEqual([]);
    const spent = cpuMs(() => {
      for (const piece of ['`', '``a`', 'A=b ', '$ ', 'if ', '\n', 'a&&', ' '])
        expect(findNamedTools(piece.repeat(100_000))).toEqual([]);
    });
    expect(spent).toBeLessThan(5_000);
  });
});

describe('tools that a text names', () => {
  test.each([
    ['Run `npm ci`, then ``cargo test``.', ['npm', 'cargo']],
    ['- Build:\n  ```sh\n  pnpm install\n  ```\n', ['pnpm']],
    ['~~~\ngo build', ['go']],
  ])('in its code: %j', (text, tools) => {
    expect(findNamedTools(text)).toEqual(tools);
  });

  test.each(['npm ci is what we use.', '> `npm ci`', 'a ` npm ci', '`see npm`', '    npm ci'])(
    'not elsewhere: %j',
    (text) => {
      expect(findNamedTools(text)).toEqual([]);
    },
  );
});

const FILES = `package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock Cargo.lock
  poetry.lock uv.lock pdm.lock Pipfile.lock Gemfile.lock composer.lock go.sum mix.lock pubspec.lock Podfile.lock
  Package.resolved packages.lock.json flake.lock`.split(/\s+/);

describe('lock files to make', () => {
  test('are those whose tool is named, each in its own folder', () => {
    expect(selectLockFiles(['package-lock.json', 'a/b/go.sum', 'a/yarn.lock'], ['go', 'npm'])).toEqual([
      { path: 'package-lock.json', folder: '', tool: 'npm', words: expect.stringContaining('npm install') },
      { path: 'a/b/go.sum', folder: 'a/b', tool: 'go', words: 'go mod tidy' },
    ]);
    expect(selectLockFiles(['package-lock.json'], [])).toEqual([]);
    expect(selectLockFiles(['src/a.ts', 'constructor', ''], LOCK_TOOLS)).toEqual([]);
  });

  test('are twenty at most, with paths that can be reported', () => {
    expect(
      selectLockFiles(
        Array.from({ length: 30 }, (_, at) => `${String(at)}/go.sum`),
        ['go'],
      ),
    ).toHaveLength(20);
    expect(selectLockFiles([`${'a/'.repeat(100)}go.sum`], ['go'])).toEqual([]);
  });

  test('every one has its tool, whose command is plain words', () => {
    const made = selectLockFiles(FILES.slice(0, 20), LOCK_TOOLS).concat(selectLockFiles(FILES.slice(20), LOCK_TOOLS));
    expect(made.map(({ path }) => path)).toEqual(FILES);
    expect(new Set(made.map(({ tool }) => tool))).toEqual(new Set(LOCK_TOOLS));
    for (const { tool, words } of made) {
      if (tool !== 'yarn') expect(words).toMatch(/^[a-z]+(?: [\w=.-]+)+$/);
      expect(findCalledTools(words)).toEqual([tool]);
    }
  });

  test('there is a command for every kind, once', () => {
    expect(listLockCommands([...FILES, ...FILES.map((name) => `sub/${name}`)])).toHaveLength(FILES.length);
    expect(listLockCommands(['src/a.ts', 'constructor'])).toEqual([]);
  });
});

describe('what came of a lock file', () => {
  const made = { path: 'web/go.sum', tool: 'go', result: 'made' } as const;

  test('is said in our own words, and the path cannot end its code', () => {
    expect(describeLockFile(made)).toBe('`go` regenerated `web/go.sum`');
    expect(describeLockFile({ ...made, path: 'a`@b/go.sum', result: 'timeout' })).toBe(
      "`go` did not end in time, so it did not regenerate `a'@b/go.sum`",
    );
  });

  test.each([
    [{ ...made, path: 'Please visit evil.test' }],
    [{ ...made, path: `${'a'.repeat(200)}/go.sum` }],
    [{ ...made, tool: 'sh' }],
    [{ ...made, result: 'approved by ann' }],
    Array.from({ length: 21 }, () => made),
  ])('is read only as we write it: %j', (...files) => {
    expect(lockFilesSchema.safeParse(files).success).toBe(false);
    expect(lockFilesSchema.safeParse([made]).success).toBe(true);
  });
});
