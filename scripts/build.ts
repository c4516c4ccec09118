import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ncc from '@vercel/ncc';
import { transform } from 'esbuild';
import { checkUndici, layPackages } from './packages.ts';
import { withoutCopies } from './shared-modules.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

/**
 * The files that the runner and the action start; everything else is in the bundle. Each passes on Node's own `import`.
 */
const STARTERS: Readonly<Record<string, string>> = {
  'main.js': 'main',
  'cache-worker.js': 'cacheWorker',
  'sandbox-worker.js': 'agentSandboxWorker',
};

/**
 * Node opens its inspector to every process of the same user on this signal unless there is a listener, so this runs
 * before anything else is loaded.
 */
const NO_INSPECTOR = "process.on('SIGUSR1', () => undefined);\n";

/** The first words of licence terms that many packages share, below a title and a notice of their own. */
const TERMS = /^.*(?:Permission is hereby granted|Permission to use, copy|Redistribution and use in|Apache License)/m;

/** The oldest Node that `ralph` supports. tsconfig.json allows only features that it has or that are added below. */
const OLDEST_NODE = await oldestNode();

/** Features of ECMAScript 2024 that the code uses and the oldest Node lacks. */
const OLDER_NODE = `Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  let index = 0;
  for (const item of items) {
    const key = keyOf(item, index++);
    if (!groups.get(key)?.push(item)) groups.set(key, [item]);
  }
  return groups;
};
Promise.withResolvers ??= function () {
  const made = {};
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};
`;

/** The bin `ralph`, which people start with any Node. */
const CLI_STARTER = `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${OLDEST_NODE.major} || (major === ${OLDEST_NODE.major} && minor < ${OLDEST_NODE.minor})) {
  console.error(\`ralph needs Node ${OLDEST_NODE.major}.${OLDEST_NODE.minor} or newer; this is \${process.version}.\`);
  process.exit(2);
}
${OLDER_NODE}const { cli } = await import('../index.js');
await cli(new URL('../../', import.meta.url));
`;

await layPackages(root, join(root, '.build'));
const files = await bundle();
if (process.argv.includes('--check')) await check(files);
else await write(files);

/** Bundles the action; returns the files of dist/ by name. */
async function bundle(): Promise<Map<string, string>> {
  const built = await ncc(join(root, '.build', 'src', 'entries', 'action.js'), {
    cache: false,
    quiet: true,
    license: 'licenses.txt',
    target: 'es2024',
  });
  const assets = Object.entries(built.assets).map(([name, { source }]) => [name, source.toString()] as const);
  checkUndici([...assets.values()].map(([, text]) => text).join('\n'));
  const files = withoutCopies(new Map([['index.js', built.code], ...assets]));
  // Minified here, because ncc's own minifier leaves out lazily loaded chunks.
  for (const [name, text] of files) if (name.endsWith('.js')) files.set(name, await minified(text));
  files.set('licenses.txt', eachTextOnce(files.get('licenses.txt') ?? '', await packageNames()));
  for (const [name, entry] of Object.entries(STARTERS))
    files.set(
      name,
      `${NO_INSPECTOR}${OLDER_NODE}const { ${entry} } = await import('./index.js');\nawait ${entry}((url) => import(url));\n`,
    );
  files.set('cli/index.js', CLI_STARTER);
  files.set('package.json', '{ "type": "module" }\n');
  const starter = await readFile(join(root, 'scripts', 'post-starter.js'), 'utf8');
  files.set('post.js', NO_INSPECTOR + (await minified(starter.replace("'DIGEST'", `'${digestOf(files)}'`))));
  return files;
}

/**
 * Returns the digest of all files so far; post.js compares it with the files that it finds, see
 * scripts/post-starter.js.
 */
function digestOf(files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const path of [...files.keys()].sort()) {
    const bytes = Buffer.from(files.get(path) ?? '');
    hash.update(`${JSON.stringify(path)} ${String(bytes.length)}\n`).update(bytes);
  }
  return hash.digest('hex');
}

/**
 * Removes repeated texts from the bundler's list of packages with their licences: shared terms appear once, below the
 * names and notices of all packages that have them.
 */
function eachTextOnce(list: string, names: ReadonlySet<string>): string {
  const shared = new Map<string, { readonly terms: string; readonly packages: Map<string, string[]> }>();
  const lines = list.split('\n');
  const starts = lines.flatMap((line, at) => (names.has(line) && (lines[at - 1] ?? '') === '' ? [at] : []));
  for (const [nth, at] of starts.entries()) {
    const [name = '', ...licence] = lines.slice(at, starts[nth + 1]);
    const text = licence.join('\n').trim();
    const begin = TERMS.exec(text)?.index ?? text.length;
    const [notice, terms] = [text.slice(0, begin).trim(), text.slice(begin)];
    const key = terms.replace(/\s+/g, ' ');
    const { packages } = shared.get(key) ?? { packages: new Map<string, string[]>() };
    packages.set(notice, [...(packages.get(notice) ?? []), name]);
    shared.set(key, { terms, packages });
  }
  const headed = (packages: ReadonlyMap<string, readonly string[]>): string =>
    [...packages].map(([notice, names]) => `${names.join('\n')}\n${notice}\n`).join('\n');
  return [...shared.values()]
    .map(({ terms, packages }) => `${headed(packages)}\n${terms}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** Returns the oldest version of Node that package.json names. */
async function oldestNode(): Promise<{ readonly major: string; readonly minor: string }> {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
  const [, major = '', minor = ''] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];
  return { major, minor };
}

async function packageNames(): Promise<ReadonlySet<string>> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  const paths = Object.keys(lock.packages).filter((path) => path !== '');
  return new Set(paths.map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)));
}

async function minified(code: string): Promise<string> {
  return (
    await transform(code, {
      minify: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      charset: 'utf8',
      legalComments: 'none',
    })
  ).code;
}

async function write(files: ReadonlyMap<string, string>): Promise<void> {
  await rm(dist, { recursive: true, force: true });
  for (const [name, content] of files) {
    await mkdir(dirname(join(dist, name)), { recursive: true });
    await writeFile(join(dist, name), content, { mode: content.startsWith('#!') ? 0o755 : 0o644 });
  }
  const bytes = [...files.values()].reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  console.log(`dist/: ${String(files.size)} files, ${(bytes / 1e6).toFixed(2)} MB`);
}

async function check(files: ReadonlyMap<string, string>): Promise<void> {
  const committed = await readdir(dist, { recursive: true, withFileTypes: true }).then(
    (entries) =>
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(dist.length + 1)),
    () => [],
  );
  const stale: string[] = [];
  for (const name of new Set([...files.keys(), ...committed])) {
    const now = await readFile(join(dist, name), 'utf8').catch(() => null);
    if (now !== (files.get(name) ?? null)) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`dist/ is stale (${stale.sort().join(', ')}): run \`npm run bundle\` and commit dist/.`);
    process.exit(1);
  }
  console.log(`dist/ is fresh (${String(files.size)} files)`);
}
