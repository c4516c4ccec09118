import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { isGood, tryRepository, type TriedEvent } from '../../../testbed/own-repository/try.ts';
import type { SetupReport } from '../../../src/cli/setup/setup-schema.ts';
import { git } from '../../../testbed/git.ts';
import { deepTest, rows } from '../../runs.ts';
import { ralph } from '../../unit/cli/fixture.ts';
import { plain, tableUnder } from '../../unit/documents/pages.ts';
import { problemsOf } from '../../workflow-lint.ts';

// These tests use repositories like those of strangers; each is tried as a new user would: init, doctor, and then the
// events on GitHub.

const samples = fileURLToPath(new URL('../../samples/repositories/', import.meta.url));
/**
 * The repository with several languages comes first; tests of the template play a project like `node`, and ralphs/
 * those of other Ralphs.
 */
const FIRST = ['monorepo'];
const names = [...FIRST, ...readdirSync(samples).filter((name) => !FIRST.includes(name))];
/** The repositories whose events are played: all in `npm run test:deep`. */
const played = rows(FIRST.length, names);
/** The rows of the documents' table, by the name in their first cell. */
const documented = new Map(
  tableUnder('docs/recipes.md', '## Twelve repositories').map((cells) => [plain(cells[0]), cells] as const),
);

const WORKFLOW = '.github/workflows/ralph.yml';
/** The ends of scheduled runs, labels and comments, unless a row differs. */
const USUAL = ['complete: 2 iterations', 'complete: 2 iterations', 'answered'];
/**
 * The repository's own tasks come before the issue. The one of ralph-claude-code only reads files, as its `.ralphrc`
 * says.
 */
const HAS_TASKS = ['complete: 4 iterations', ...USUAL.slice(1)];
const ends: Readonly<Record<string, readonly string[]>> = {
  bmalph: HAS_TASKS,
  snarktank: HAS_TASKS,
  wiggum: HAS_TASKS,
};

let folder = '';
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-samples-')));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Creates a stranger's repository: committed, with an unreachable remote on GitHub. */
async function layRepository(name: string): Promise<string> {
  const repository = join(folder, name);
  await cp(join(samples, name), repository, { recursive: true });
  await git(repository, ['init', '--quiet', '--initial-branch=main']);
  await git(repository, ['add', '--all', '--force']);
  await git(repository, ['commit', '--quiet', '--message', 'Start']);
  await git(folder, ['init', '--quiet', '--bare', 'remote.git']);
  await git(repository, ['remote', 'add', 'origin', `https://github.com/acme/${name}.git`]);
  await git(repository, ['remote', 'set-url', '--push', 'origin', join(folder, 'remote.git')]);
  return repository;
}

const init = (repository: string, ...args: readonly string[]) =>
  ralph(['init', '--dir', repository, '--action', 'acme/ralph-action@v1', '--yes', ...args]);

/** Returns every file and folder except git's own. */
async function listed(repository: string): Promise<readonly string[]> {
  const found = await readdir(repository, { recursive: true });
  return found.filter((path) => !/^\.git(?:\/|$)/.test(path)).sort();
}

/** Runs `ralph doctor` without a token; its findings concern files and this machine. */
async function doctor(repository: string): Promise<readonly string[]> {
  const env = { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: tmpdir() };
  const args = [join(inject('programs'), 'ralph.mjs'), 'doctor', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: repository, env });
  const { findings } = JSON.parse(stdout) as { findings: readonly { check: string; kind: string }[] };
  return findings.flatMap(({ check, kind }) => (kind === 'problem' || kind === 'warning' ? [`${kind}: ${check}`] : []));
}

async function play(repository: string, commands: 'run' | 'leave'): Promise<readonly TriedEvent[]> {
  const standIn = {
    inputs: { 'agent-path': join(inject('programs'), 'scripted-agent.mjs'), 'agent-env': 'RALPH_PAUSE_MS' },
    env: { RALPH_PAUSE_MS: '0', NODE_COMPILE_CACHE: join(inject('programs'), 'compiled') },
  };
  return tryRepository({ folder: repository, commands, out: null, standIn, print: () => undefined });
}

/** Returns the end of an event in the form of the documents' table. */
function shortly({ says }: TriedEvent): string {
  return says
    .replace(/ \((?:plan_complete)\)/, '')
    .replace(/, pull request.*/, '')
    .replace(/^idle \((\w+)\)$/, '$1');
}

/** Returns a repository's row in the documents' table. */
function rowOf(name: string, { project, files, leftToFile: left }: SetupReport): readonly string[] {
  const stacks = project.stacks.map(
    ({ language, frameworks, packageManager, folder: within }) =>
      `${[language, ...frameworks].join(', ')} (${packageManager})${within === '' ? '' : ` in \`${within}/\``}`,
  );
  const tasks = project.taskFiles.map((path) => `tasks in \`${path}\``);
  const others = new Set(project.otherRalphs.map((other) => other.name));
  const workflow = files.find(({ path }) => path === WORKFLOW)?.text ?? '';
  const [, only, block = ''] = /^ +verify: (?:\|\n((?: {8}.*\n)+)|(.*)\n)/m.exec(workflow) ?? [];
  const verify = (only ?? block).split('\n').flatMap((line) => (line.trim() === '' ? [] : [`\`${line.trim()}\``]));
  return [
    `\`${name}\``,
    [...stacks, ...[...others].map((other) => `files of ${other}`), ...tasks].join('; ') || 'nothing',
    verify.join(', ') || (left?.inputs.includes('verify') === true ? `left to \`${left.path}\`` : 'left to you'),
  ];
}

test('the documents list the twelve samples', () => {
  expect([...documented.keys()].sort()).toEqual([...names].sort());
  expect(documented.size).toBe(12);
});

describe.each(names.map((name) => ({ name })))('$name', ({ name }) => {
  test('init writes once, doctor has no objection, and --remove removes everything again', async () => {
    const repository = await layRepository(name);
    const before = await listed(repository);
    const report = JSON.parse((await init(repository, '--json')).out) as SetupReport;
    expect(report.written).toBe(true);
    expect(rowOf(name, report)).toEqual(documented.get(name));
    const written = await listed(repository);
    expect(written).toEqual(expect.arrayContaining([WORKFLOW, '.ralph/AGENT.md', '.gitignore']));
    const text = await readFile(join(repository, WORKFLOW), 'utf8');
    expect(await problemsOf({ where: name, text })).toEqual([]);
    expect(await doctor(repository)).toEqual([
      ...(report.project.stacks.length === 0 ? ['warning: verify'] : []),
      // The `.ralphrc` of ralph-claude-code takes tasks from files only, and an entry of a file has no requester.
      ...(name === 'ralph-claude-code' ? ['warning: notify'] : []),
    ]);

    const after = await git(repository, ['status', '--porcelain', '--untracked-files=all']);
    const again = await init(repository);
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to change.') });
    expect(await git(repository, ['status', '--porcelain', '--untracked-files=all'])).toBe(after);

    expect(await init(repository, '--remove')).toMatchObject({ code: 0 });
    expect(await git(repository, ['status', '--porcelain', '--untracked-files=all'])).toBe('');
    expect(await listed(repository)).toEqual(before);
  });

  test.skipIf(!played.includes(name))('a scheduled run, a labelled issue and a comment', async () => {
    const repository = await layRepository(name);
    await init(repository);
    const before = await git(repository, ['status', '--porcelain', '--untracked-files=all']);
    const tried = await play(repository, 'leave');
    expect(tried.map(shortly)).toEqual(ends[name] ?? USUAL);
    expect(isGood(tried)).toBe(true);
    expect(await git(repository, ['status', '--porcelain', '--untracked-files=all'])).toBe(before);
    expect(await git(repository, ['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/main');
  });
});

deepTest("node, with the project's own steps and verify", async () => {
  const repository = await layRepository('node');
  await init(repository);
  const tried = await play(repository, 'run');
  expect(tried.map(shortly)).toEqual(USUAL);
  expect(tried.flatMap(({ left }) => left).every((step) => step.startsWith('actions/setup-node@'))).toBe(true);
});
