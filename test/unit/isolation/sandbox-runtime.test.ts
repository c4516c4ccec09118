import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import {
  RUNTIME,
  RUNTIME_PACKAGES,
  RUNTIME_VERSION,
  buildRuntimeManifests,
} from '../../../src/isolation/rootless/install.ts';

interface Entry {
  readonly version: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dirname, '..', '..', '..');
const ours = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Entry | undefined>>;
};

/** Returns a package as the library resolves it: in its own folder, or beside it. */
function inOurLock(name: string): Entry | undefined {
  return ours.packages[`node_modules/${RUNTIME}/node_modules/${name}`] ?? ours.packages[`node_modules/${name}`];
}

/** Returns a package's dependencies and the package itself. */
function needs(name: string): readonly string[] {
  return [name, ...Object.keys(inOurLock(name)?.dependencies ?? {}).flatMap(needs)];
}

test('the installation for a sandbox is pinned by package-lock.json, each package by its digest', () => {
  expect(Object.keys(RUNTIME_PACKAGES).sort()).toEqual([...new Set(needs(RUNTIME))].sort());
  for (const [name, entry] of Object.entries(RUNTIME_PACKAGES)) {
    const { version, integrity, dependencies } = inOurLock(name) ?? {};
    expect({ name, ...entry }).toEqual({
      name,
      version,
      integrity,
      ...(dependencies === undefined ? {} : { dependencies }),
    });
    expect(integrity).toMatch(/^sha512-/);
  }
});

test('npm gets a lock for just that', () => {
  const files = buildRuntimeManifests();
  expect(Object.keys(files)).toEqual(['package.json', 'package-lock.json']);
  expect(JSON.parse(files['package.json'] ?? '')).toMatchObject({ dependencies: { [RUNTIME]: RUNTIME_VERSION } });
  const lock = JSON.parse(files['package-lock.json'] ?? '') as typeof ours;
  expect(Object.keys(lock.packages)).toHaveLength(1 + Object.keys(RUNTIME_PACKAGES).length);
});
