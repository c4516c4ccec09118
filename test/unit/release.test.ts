import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { notesOf, releaseProblems } from '../../scripts/release.mjs';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const CHANGES = '# Changelog\n\n## 1.1.0 (2027-01-01)\n\n- new\n\n### Fixed\n\n- old\n\n## 1.0.0\n\n';

test('npx from git fetches only the repository: no script and no setting makes npm install anything else', () => {
  const manifest = JSON.parse(read('package.json')) as { readonly scripts: object };
  // With one of these scripts, npm installs the development dependencies of packages that it fetches from git.
  const scripts = ['build', 'prepare', 'prepack', 'preinstall', 'install', 'postinstall', 'prepublish'];
  expect(Object.keys(manifest.scripts).filter((name) => scripts.includes(name))).toEqual([]);
  const settings = ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies', 'workspaces'];
  expect(Object.keys(manifest).filter((name) => settings.includes(name))).toEqual([]);
});

test('tags come after the whole of CI, and name the commit that it saw', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    readonly jobs: Readonly<Record<string, { readonly needs?: string; readonly uses?: string }>>;
  };
  expect(jobs['release']?.needs).toBe('ci');
  expect(jobs['ci']?.uses).toBe('./.github/workflows/ci.yml');
  expect(read('.github/workflows/ci.yml')).toMatch(/^ {2}workflow_call:/m);
  // Without `ref`, every checkout of the run is the commit that started it.
  for (const name of ['ci', 'release']) expect(read(`.github/workflows/${name}.yml`)).not.toMatch(/^ +ref:/m);
});

describe('a version can be released', () => {
  const good = {
    version: '1.1.0',
    packageVersion: '1.1.0',
    changelog: CHANGES,
    tags: ['v1', 'v1.0.0', 'v2.0.0', ''],
    here: [''],
    tip: true,
  };

  test('when package, changelog and tags agree', () => {
    expect(releaseProblems(good)).toEqual([]);
  });

  test('again, when an earlier attempt stopped after the tag', () => {
    expect(releaseProblems({ ...good, tags: ['v1.0.0', 'v1.1.0'], here: ['v1.1.0'] })).toEqual([]);
  });

  test.each([
    ['no version', { version: '1.1' }, ['"1.1" is not a version such as 1.0.1.']],
    ['a tag', { version: 'v1.1.0' }, ['"v1.1.0" is not a version such as 1.0.1.']],
    ['something for a shell', { version: '1.0.0; rm -r /' }, ['"1.0.0; rm -r /" is not a version such as 1.0.1.']],
    ['another version in the package', { packageVersion: '1.0.0' }, ['package.json says 1.0.0, not 1.1.0.']],
    ['no section', { version: '1.2.0', packageVersion: '1.2.0' }, ['CHANGELOG.md has no section "## 1.2.0".']],
    [
      'an empty section, and an old version',
      { version: '1.0.0', packageVersion: '1.0.0', tags: ['v1.0.5'] },
      ['The section "## 1.0.0" of CHANGELOG.md is empty.', 'v1.0.5 is newer. Choose a higher version.'],
    ],
    [
      'one that is out',
      { tags: ['v1.1.0'] },
      ['The tag v1.1.0 names another commit: a released version never changes. Release the next one.'],
    ],
    [
      'from another branch, or after main moved',
      { tip: false },
      ['This commit is not the tip of main: run the workflow again, on main.'],
    ],
  ])('but not: %s', (_, change, expected) => {
    expect(releaseProblems({ ...good, ...change })).toEqual(expected);
  });

  test('with its own section as notes', () => {
    expect(notesOf(CHANGES, '1.1.0')).toBe('- new\n\n### Fixed\n\n- old');
  });
});

test('package.json has the version that the changelog describes first', () => {
  const { version } = JSON.parse(read('package.json')) as { readonly version: string };
  expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
  expect(notesOf(read('CHANGELOG.md'), version)).not.toBe('');
});

test('no document names a version of the action that the changelog does not have', () => {
  const known = [...read('CHANGELOG.md').matchAll(/^## (\d+)\.(\d+)\.(\d+)/gm)].flatMap(
    ([, a = '', b = '', c = '']) => [`v${a}`, `v${a}.${b}.${c}`],
  );
  const named = documents().flatMap((path) =>
    [...read(path).matchAll(/ralph-action@(v[\d.]+\d|v\d+)/g)].map(([, version = '']) => `${path}: ${version}`),
  );
  expect(named.filter((name) => !known.includes(name.split(': ')[1] ?? ''))).toEqual([]);
  expect(named.length).toBeGreaterThan(0);
});

test('every action that our own workflows use is pinned, with its version beside it', () => {
  const used = readdirSync(join(root, '.github/workflows')).flatMap((name) =>
    [...read(`.github/workflows/${name}`).matchAll(/(?:^|[\s-])uses: (.*)$/gm)].map(([, use = '']) => use),
  );
  expect(
    used.filter((use) => !/^(\.\/|\$\/.)/.test(use) && !/^[\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(use)),
  ).toEqual([]);
  expect(used.length).toBeGreaterThan(3);
});

function documents(): readonly string[] {
  const inside = (folder: string, end: string): readonly string[] =>
    readdirSync(join(root, folder), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(end))
      .map((name) => join(folder, name));
  return ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...inside('docs', '.md'), ...inside('templates', '.yml')];
}
