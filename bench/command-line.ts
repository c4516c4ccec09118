import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ACTION_FOLDER } from '../testbed/testbed.ts';
import { git } from '../testbed/git.ts';
import { alternate, ratioRow, spread, type Row } from './measure.ts';

const CLI = join(ACTION_FOLDER, 'dist', 'cli', 'index.js');
const HELP_GOAL = 3;
const HELP_ROUNDS = 21;
const INIT_GOAL_S = 2;
const INIT_ROUNDS = 5;
const FOLDERS = 500;
const FILES_PER_FOLDER = 100;

/** Measures the commands that a person waits for at the command line. */
export async function measureCommandLine(folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  const nothing = join(folder, 'nothing.mjs');
  await writeFile(nothing, '');
  const help = await alternate(
    HELP_ROUNDS,
    () => wallOf([CLI, '--help'], folder),
    () => wallOf([nothing], folder),
  );
  return [ratioRow('command line: ralph --help, against an empty file', help, HELP_GOAL), await measureInit(folder)];
}

async function measureInit(folder: string): Promise<Row> {
  const repository = join(folder, 'repository');
  await layRepository(repository);
  const times: number[] = [];
  for (let round = 0; round <= INIT_ROUNDS; round += 1)
    times.push((await wallOf([CLI, 'init', '--json', '--dir', repository], folder)) / 1000);
  const { median, min, max } = spread(times.slice(1));
  return {
    measure: `command line: ralph init, ${String(FOLDERS * FILES_PER_FOLDER)} files`,
    value: `${median.toFixed(2)} s (${min.toFixed(2)}–${max.toFixed(2)})`,
    goal: `≤ ${String(INIT_GOAL_S)} s`,
    isMet: median <= INIT_GOAL_S,
  };
}

/**
 * Creates a repository in which half of the files are committed, because git lists committed files from its index and
 * the others from the disk.
 */
async function layRepository(repository: string): Promise<void> {
  await mkdir(repository, { recursive: true });
  await git(repository, ['init', '--quiet', '--initial-branch=main']);
  await writeFile(join(repository, 'package.json'), '{ "scripts": { "test": "node --test" } }');
  for (let at = 0; at < FOLDERS; at += 1) {
    const inner = join(repository, `part-${String(at % 20)}`, `folder-${String(at)}`);
    await mkdir(inner, { recursive: true });
    await Promise.all(
      Array.from({ length: FILES_PER_FOLDER }, (_, file) => writeFile(join(inner, `file-${String(file)}.js`), '')),
    );
    if (at === FOLDERS / 2) await git(repository, ['add', '--all']);
  }
}

async function wallOf(command: readonly string[], cwd: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, command, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`${command.join(' ')} exited with code ${String(code)}.`);
  return performance.now() - startedAt;
}
