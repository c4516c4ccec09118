import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type Edit, type Guard, guards } from '../test/e2e/attacks/guards.ts';

const HELP = `Usage: npm run mutation -- --guards [WORDS]

Removes each guard in test/e2e/attacks/guards.ts from a copy of the sources and plays the attacks: exactly the rows that
the list names must fail. WORDS: only guards whose file, scene or rows contain them. Half an hour on two cores.
`;

/** The programs of the copy's dist/, which a second builds instead of half a minute. */
const STARTERS: Readonly<Record<string, string>> = {
  'main.js': "import { main } from './index.js'; await main();",
  'post.js': "import { post } from './index.js'; await post();",
  'cache-worker.js': "import { cacheWorker } from './index.js'; await cacheWorker();",
  'sandbox-worker.js':
    "import { agentSandboxWorker } from './index.js'; await agentSandboxWorker((url) => import(url));",
  'package.json': '{ "type": "module" }',
};

const root = join(import.meta.dirname, '..');
const copy = join(root, '.cache', 'guards');
const [words = '', ...rest] = process.argv.slice(2);
if (words.startsWith('-') || rest.length > 0) {
  process.stdout.write(HELP);
  process.exit(words === '--help' ? 0 : 2);
}

rmSync(copy, { recursive: true, force: true });
for (const name of ['src', 'test', 'testbed', 'templates', '.github', 'action.yml', 'package.json', 'vitest.config.ts'])
  cpSync(join(root, name), join(copy, name), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

process.stdout.write('| | without the guard | these rows fail | with these words |\n|---|---|---|---|\n');
const chosen = guards.filter(({ source, scene, rows }) => [source, scene, ...rows].join('\n').includes(words));
for (const guard of chosen) {
  const failures = await playWithout(guard);
  const isSeen =
    failures.length === guard.rows.length &&
    guard.rows.every((row) => failures.some(({ title }) => title.includes(row))) &&
    failures.every(({ message }) => message.startsWith('AssertionError'));
  if (!isSeen) process.exitCode = 1;
  const columns = [
    [isSeen ? '✓' : '✗'],
    [`${guard.source}: \`${guard.guard}\``],
    failures.map(({ title }) => title),
    failures.map(({ message }) => message.split('\n    at ')[0]?.slice(-200) ?? ''),
  ];
  const cells = columns.map((texts) => texts.join('; ').replaceAll('|', '\\|').replaceAll(/\s+/g, ' '));
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
if (chosen.length === 0) throw new Error(`No guard has the words ${words}.`);

/** Plays a guard's scene on the copy without the guard. Returns the tests that fail, with the words of the failure. */
async function playWithout({ source, guard, without, test, scene, checked }: Guard) {
  const undo = [{ source, guard, without }, ...checked].map(replaceIn);
  await bundle();
  for (const restore of undo.toReversed()) restore();
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  const file = `test/e2e/attacks/${test}.test.ts`;
  const args = ['run', '--project', 'attacks', file, ...(scene === null ? [] : ['-t', scene])];
  spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', ...args, '--reporter=json', `--outputFile=${report}`],
    { cwd: copy, env: { ...process.env, RALPH_TEST_DEEP: '1' }, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[];
  };
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'failed')
    .map(({ title, failureMessages: [message = ''] }) => ({ title, message }));
}

/** Removes a guard from the copy. Returns a function that puts it back. */
function replaceIn({ source, guard, without }: Edit): () => void {
  const path = join(copy, source);
  const text = readFileSync(path, 'utf8');
  if (text.split(guard).length !== 2) throw new Error(`${source} does not have this guard once: ${guard}`);
  writeFileSync(
    path,
    text.replace(guard, () => without),
  );
  return () => {
    writeFileSync(path, text);
  };
}

async function bundle(): Promise<void> {
  const dist = join(copy, 'dist');
  rmSync(dist, { recursive: true, force: true });
  await build({
    entryPoints: { index: join(copy, 'src', 'entries', 'action.ts') },
    outdir: dist,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  for (const [name, content] of Object.entries(STARTERS)) writeFileSync(join(dist, name), `${content}\n`);
}
