import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The folder of the programs that tests start. Each is one bundled file, which starts much faster than its sources.
     */
    readonly programs: string;
  }
}

const sources = {
  'scripted-agent.mjs': "import './testbed/scripted-agent.ts';",
  'scripted-codex.mjs': "import './testbed/scripted-codex.ts';",
  'cache-worker.mjs': "import './src/entries/cache-worker.ts';",
  'sandbox-worker.mjs':
    "import { runSandboxWorker } from './src/entries/sandbox-worker.ts'; await runSandboxWorker(process.argv.slice(2), (url) => import(url));",
  'ralph.mjs': `import { runCli } from './src/entries/cli.ts'; await runCli(new URL('${new URL('..', import.meta.url).href}'));`,
};

let folder = '';

/** Builds the programs once, before the first test that starts one. */
export async function setup({ provide }: TestProject): Promise<void> {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-programs-')));
  await chmod(folder, 0o755);
  await Promise.all(Object.entries(sources).map(([name, code]) => buildProgram(code, join(folder, name))));
  provide('programs', folder);
}

/** A program killed by a test may still be writing its compile cache. */
export async function teardown(): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function buildProgram(code: string, file: string): Promise<void> {
  await build({
    stdin: { contents: `#!/usr/bin/env node\n${code}`, resolveDir: fileURLToPath(new URL('..', import.meta.url)) },
    outfile: file,
    bundle: true,
    // Minifying also separates the banner's names from those of the libraries.
    minify: true,
    platform: 'node',
    format: 'esm',
    // A UMD file loads its parts in a way that bundlers do not detect.
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  await chmod(file, 0o755);
}
