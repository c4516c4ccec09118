import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The exports of undici that are used; the other modules that its index loads are left out. */
const UNDICI = `'use strict'
Object.assign(require('./lib/dispatcher/dispatcher').prototype, require('./lib/api'))
module.exports.ProxyAgent = require('./lib/dispatcher/proxy-agent')
module.exports.fetch = require('./lib/web/fetch').fetch
`;

/**
 * Puts copies of packages into `built`, where the bundler prefers them to node_modules; each is reduced but otherwise
 * unchanged.
 */
export async function layPackages(root: string, built: string): Promise<void> {
  const modules = join(root, 'node_modules');
  await rm(join(built, 'node_modules'), { recursive: true, force: true });
  const lay = async (name: string): Promise<string> => {
    const copy = join(built, 'node_modules', name);
    const filter = (path: string): boolean => !/\/(?:browser|react-native)$|\.(?:map|ts)$/.test(path);
    await cp(join(modules, name), copy, { recursive: true, filter });
    return copy;
  };
  // Copy all of them, because one that loads another must find the copy.
  for (const name of ['cache', 'core', 'exec', 'github', 'glob', 'http-client', 'io']) {
    const copy = await lay(`@actions/${name}`);
    // Unused parts are left out; here, the OpenID client.
    if (name === 'core' || name === 'github') await declarePure(copy);
  }
  for (const scope of ['@azure', '@typespec'])
    for (const name of await readdir(join(modules, scope))) {
      const copy = await lay(`${scope}/${name}`);
      const { sideEffects } = await readJson(join(copy, 'package.json'));
      // The bundler reads only the nearest manifest, which lacks `sideEffects` of the package's main manifest.
      if (sideEffects === false) await declarePure(join(copy, 'dist', 'esm'));
    }
  const undici = await lay('undici');
  await writeFile(join(undici, 'index.js'), UNDICI);
  // The second build of the HTTP parser is for processors on which Node 24 has no SIMD; no runner has one.
  const parser = join(undici, 'lib', 'llhttp');
  await writeFile(join(parser, 'llhttp-wasm.js'), "module.exports = require('./llhttp_simd-wasm.js')\n");
  await lay('@octokit/rest');
  const endpoints = join(await lay('@octokit/plugin-rest-endpoint-methods'), 'dist-src', 'generated', 'endpoints.js');
  const words = await wordsIn(join(built, 'src', 'github'));
  await writeFile(endpoints, `export default ${JSON.stringify(await endpointsAmong(words, endpoints))};\n`);
}

/** Declares in the manifest of `folder` that loading its modules has no side effects, which is true. */
async function declarePure(folder: string): Promise<void> {
  const path = join(folder, 'package.json');
  await writeFile(path, JSON.stringify({ ...(await readJson(path)), sideEffects: false }));
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
}

/** Throws if a package uses more of undici than its copy has. */
export function checkUndici(code: string): void {
  const used = [...code.matchAll(/\bundici_[\w$]*(?:\/\* [^*]* \*\/)?\.(\w+)/g)].map(([, name = '']) => name);
  const missing = used.filter((name) => name !== 'ProxyAgent' && name !== 'fetch');
  if (missing.length > 0 || used.length === 0) throw new Error(`undici is used in another way: ${missing.join(', ')}`);
}

async function wordsIn(folder: string): Promise<ReadonlySet<string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.js'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []));
}

/** Returns the methods of GitHub's API whose names occur in our code. */
async function endpointsAmong(words: ReadonlySet<string>, path: string): Promise<unknown> {
  const { default: all } = (await import(path)) as { readonly default: Readonly<Record<string, object>> };
  return Object.fromEntries(
    Object.entries(all).map(([scope, methods]) => [
      scope,
      Object.fromEntries(Object.entries(methods).filter(([name]) => words.has(name))),
    ]),
  );
}
