import { z } from 'zod';
import { firstOf, pathIn, uses, type Place, type Stack } from './project.ts';

const texts = z.record(z.string(), z.unknown()).catch({});
const manifestSchema = z.object({
  packageManager: z.string().catch(''),
  scripts: texts,
  dependencies: texts,
  devDependencies: texts,
  engines: texts,
  volta: texts,
});

const FRAMEWORKS: Readonly<Record<string, string>> = {
  next: 'Next.js',
  nuxt: 'Nuxt',
  react: 'React',
  vue: 'Vue',
  svelte: 'Svelte',
  '@angular/core': 'Angular',
  astro: 'Astro',
  express: 'Express',
  fastify: 'Fastify',
  '@nestjs/core': 'NestJS',
};

const LOCKS: Readonly<Record<string, Manager>> = {
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
};

type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** JavaScript and TypeScript, by package.json. */
export function javascript(place: Place): Stack | null {
  if (!place.has('package.json')) return null;
  const manifest = manifestSchema.parse(objectOf(place.text('package.json')));
  const lock = lockOf(place);
  const manager = (lock === null ? managerIn(manifest.packageManager) : LOCKS[lock]) ?? 'npm';
  const isCached = lock !== null && manager !== 'bun';
  const isModernYarn = place.has('.yarnrc.yml') || /^yarn@(?!1\.)/.test(manifest.packageManager);
  const dependencies = { ...manifest.dependencies, ...manifest.devDependencies };
  const script = (name: string): string | null =>
    typeof manifest.scripts[name] !== 'string' || manifest.scripts[name].includes('no test specified')
      ? null
      : name === 'test' && manager !== 'bun'
        ? `${manager} test`
        : `${manager} run ${name}`;
  return {
    language: 'typescript' in dependencies || place.has('tsconfig.json') ? 'TypeScript' : 'JavaScript',
    folder: place.folder,
    packageManager: manager,
    frameworks: Object.entries(FRAMEWORKS).flatMap(([name, shown]) =>
      Object.hasOwn(dependencies, name) ? [shown] : [],
    ),
    install: installOf(manager, lock !== null, isModernYarn),
    build: script('build'),
    test: script('test'),
    lint: script('lint'),
    setup: [
      ...(manager === 'bun' ? uses('oven-sh/setup-bun@v2', {}) : []),
      ...(manager === 'pnpm' ? uses('pnpm/action-setup@v4', pnpmVersion(place, manifest.packageManager)) : []),
      ...(manager === 'yarn' && isModernYarn ? ['- run: corepack enable'] : []),
      ...uses('actions/setup-node@v5', {
        ...nodeVersion(place, manifest.engines, manifest.volta),
        cache: isCached ? manager : null,
        // Otherwise the action caches what the manifest names, and fails without a lock file.
        'package-manager-cache': !isCached && /^(?:npm|pnpm|yarn)@/.test(manifest.packageManager) ? 'false' : null,
        'cache-dependency-path': isCached && place.folder !== '' ? pathIn(place, lock) : null,
      }),
    ],
    programs: [manager],
    leaves: [
      'node_modules/',
      // The others install without writing a lock file; this one cannot.
      ...(manager === 'yarn' && isModernYarn && lock === null ? ['yarn.lock', '.pnp.*', '.yarn/'] : []),
    ],
  };
}

/** The lock file of a package.json; null: there is none. */
export function lockOf(place: Place): string | null {
  return firstOf(place, Object.keys(LOCKS));
}

/** What `packageManager` names, such as `pnpm@10.1.0`. */
function managerIn(named: string): Manager | undefined {
  return (['pnpm', 'yarn', 'bun'] as const).find((manager) => named.startsWith(`${manager}@`));
}

/** By manager: with a lock file, and without one. */
const INSTALLS: Readonly<Record<Manager, readonly [string, string]>> = {
  npm: ['ci', 'install --no-package-lock'],
  pnpm: ['install --frozen-lockfile', 'install --no-lockfile'],
  yarn: ['install --frozen-lockfile', 'install --no-lockfile'],
  bun: ['install --frozen-lockfile', 'install --no-save'],
};
const MODERN_YARN = ['install --immutable', 'install --no-immutable'] as const;

function installOf(manager: Manager, isLocked: boolean, isModernYarn: boolean): string {
  const [locked, unlocked] = manager === 'yarn' && isModernYarn ? MODERN_YARN : INSTALLS[manager];
  return `${manager} ${isLocked ? locked : unlocked}`;
}

/** The action looks for a version at the root, unless it is told another manifest. */
function pnpmVersion(place: Place, named: string): Readonly<Record<string, string | null>> {
  if (!/^pnpm@/.test(named)) return { version: '10' };
  return { package_json_file: place.folder === '' ? null : pathIn(place, 'package.json') };
}

function nodeVersion(place: Place, engines: object, volta: object): Readonly<Record<string, string>> {
  const file = firstOf(place, ['.nvmrc', '.node-version']);
  const named = file ?? ('node' in engines || 'node' in volta ? 'package.json' : null);
  if (named !== null) return { 'node-version-file': pathIn(place, named) };
  return { 'node-version': `'${place.versionInWorkflows('node-version') ?? 'lts/*'}'` };
}

/** The object that a JSON text is; anything else is an empty one. */
export function objectOf(text: string): object {
  return parsedObject(text) ?? {};
}

/** The same; null: it is none. */
export function parsedObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
