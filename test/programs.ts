import { chmod, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The folder of the programs that tests start. They are bundled, because they start much faster than their sources.
     */
    readonly programs: string;
  }
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Programs of one file each, which a sandbox may show alone. */
const single = {
  'scripted-agent': "import './testbed/scripted-agent.ts';",
  'scripted-codex': "import './testbed/scripted-codex.ts';",
  'scripted-acp': "import './testbed/acp/scripted-agent.ts';",
  'sandbox-worker':
    "import { runSandboxWorker } from './src/entries/sandbox-worker.ts'; await runSandboxWorker(process.argv.slice(2), (url) => import(url));",
};
/** Programs that load most of their parts when they need them, like the action's bundle. */
const divided = {
  'cache-worker': "import './src/entries/cache-worker.ts';",
  ralph: `import { runCli } from './src/entries/cli.ts'; await runCli(new URL('${pathToFileURL(root).href}'));`,
};
/** Starts a divided program with a cache of its compiled parts. */
const starterOf = (name: string): string =>
  `#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
enableCompileCache(new URL('compiled', import.meta.url).pathname);
await import('./parts/${name}.mjs');
`;

let folder = '';

/** Builds the programs once, before the first test that starts one. */
export async function setup({ provide }: TestProject): Promise<void> {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-programs-')));
  await chmod(folder, 0o755);
  await Promise.all([
    ...Object.keys(single).map((name) =>
      buildPrograms({ names: [name], outdir: folder, banner: '#!/usr/bin/env node\n' }),
    ),
    buildPrograms({ names: Object.keys(divided), outdir: join(folder, 'parts'), banner: '' }),
    ...Object.keys(divided).map((name) => writeFile(join(folder, `${name}.mjs`), starterOf(name))),
  ]);
  await Promise.all(Object.keys({ ...single, ...divided }).map((name) => chmod(join(folder, `${name}.mjs`), 0o755)));
  provide('programs', folder);
}

/** A program killed by a test may still be writing its compile cache. */
export async function teardown(): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function buildPrograms({
  names,
  outdir,
  banner,
}: {
  readonly names: readonly string[];
  readonly outdir: string;
  readonly banner: string;
}): Promise<void> {
  const sources: Readonly<Record<string, string>> = { ...single, ...divided };
  await build({
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    plugins: [
      {
        name: 'entries',
        setup: ({ onResolve, onLoad }) => {
          onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice('entry:'.length), namespace: 'entry' }));
          onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => ({
            contents: sources[path] ?? '',
            resolveDir: root,
          }));
        },
      },
    ],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: names.length > 1,
    // Minifying also separates the banner's names from those of the libraries.
    minify: true,
    platform: 'node',
    format: 'esm',
    // A UMD file loads its parts in a way that bundlers do not detect.
    mainFields: ['module', 'main'],
    banner: {
      js: `${banner}import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
    },
  });
}
