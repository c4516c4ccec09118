import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the programs that tests start: each one file, which starts in a fraction of the time of its sources. */
    readonly programs: string;
  }
}

const sources = {
  'scripted-agent.mjs': "import './sandbox/scripted-agent.ts';",
  'scripted-codex.mjs': "import './sandbox/scripted-codex.ts';",
  'cache-worker.mjs': "import './src/entries/cache-worker.ts';",
  'room-worker.mjs':
    "import { runRoomWorker } from './src/entries/room-worker.ts'; await runRoomWorker(process.argv.slice(2), (url) => import(url));",
  'ralph.mjs': `import { runCli } from './src/entries/cli.ts'; await runCli(new URL('${new URL('..', import.meta.url).href}'));`,
};

let folder = '';

/** Builds them once, before the first test that starts programs. */
export async function setup({ provide }: TestProject): Promise<void> {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-programs-')));
  await chmod(folder, 0o755);
  await Promise.all(Object.entries(sources).map(([name, code]) => buildProgram(code, join(folder, name))));
  provide('programs', folder);
}

/** Who is killed by a test may still write what it compiled. */
export async function teardown(): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function buildProgram(code: string, file: string): Promise<void> {
  await build({
    stdin: { contents: `#!/usr/bin/env node\n${code}`, resolveDir: fileURLToPath(new URL('..', import.meta.url)) },
    outfile: file,
    bundle: true,
    // Also keeps the names of the banner apart from those of the libraries.
    minify: true,
    platform: 'node',
    format: 'esm',
    // A UMD file asks for its parts in a way that no bundler sees.
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  await chmod(file, 0o755);
}
