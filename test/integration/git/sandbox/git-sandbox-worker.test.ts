import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TreeWorkerCommand } from '../../../../src/git/checkout/tree/worker-process.ts';
import { messageFor, openFresh, reachByFolder, setScene, workIn, type Scene } from '../git-fixture.ts';
import { openSameUserSandbox, workerIn } from './sandbox-fixture.ts';

reachByFolder();

/** The worker of the following scenes; null for the real one. */
let command: ((real: TreeWorkerCommand, root: string) => Promise<TreeWorkerCommand>) | null = null;

workIn(async (root) => {
  const { agentSandbox } = await openSameUserSandbox(root);
  const real = await workerIn(agentSandbox);
  return { agentSandbox, worker: command === null ? real : await command(real, root) };
});

/**
 * Makes the worker a program of the agent's: `answers` is the body of a function of `question` (parsed) and `say`
 * (prints).
 */
function impostor(answers: string, answerMs?: number): void {
  command = async (real, root) => {
    const file = join(root, 'impostor.mjs');
    await writeFile(
      file,
      `import { createInterface } from 'node:readline';
      const say = (what) => process.stdout.write(typeof what === 'object' && !Buffer.isBuffer(what) ? JSON.stringify({ warnings: [], ...what }) + '\\n' : what);
      createInterface({ input: process.stdin }).on('line', (line) => {
        const question = JSON.parse(line);
        if (question.kind === 'open') return say({ kind: 'open' });
        ${answers}
      });
      process.stdin.on('end', () => process.exit(0));`,
    );
    return { ...real, args: [file], ...(answerMs === undefined ? {} : { answerMs }) };
  };
}

async function opened(): Promise<Scene> {
  const scene = await setScene();
  await openFresh(scene);
  return scene;
}

const ABSENT = '1'.repeat(40);
const read = (change: string): string =>
  `if (question.kind === 'reset') return say({ kind: 'reset' });
   const answer = { kind: 'read', head: null, tree: '${ABSENT}', standIns: [], ignored: [], packs: { commits: null, content: null } };
   if (question.kind === 'read') return say({ ...answer, ${change} });`;

describe('a worker that Ralph did not start', () => {
  test.each([
    ['answers with rubbish', "say('rubbish\\n')", /gave an answer that does not fit the question/],
    ['answers another question', "say({ kind: 'replace' })", /answered something else/],
    ['answers with an invalid id', read("tree: '--upload-pack=x'"), /answered something else/],
    [
      'answers with an invalid path',
      read("standIns: [{ path: '', standIn: { is: 'unreadable' } }]"),
      /answered something else/,
    ],
    ['gives its own reasons', read("standIns: [{ path: 'a', standIn: { is: 'because' } }]"), /answered something else/],
    [
      'announces a pack that nobody takes',
      read('packs: { commits: null, content: 2 ** 40 }'),
      /answered something else/,
    ],
    ['names a tree that it does not send', read(''), /differs from what was reported/],
    ['names a commit as a tree', read('tree: question.tip'), /differs from what was reported/],
    [
      'sends a pack of rubbish',
      `${read('packs: { commits: null, content: 7 }')} say({ kind: 'pack', bytes: 7 }); say('rubbish');`,
      /differs from what was reported/,
    ],
    [
      'sends less than it announced',
      `${read('packs: { commits: null, content: 700 }')} say({ kind: 'pack', bytes: 700 }); say('rubbish'); process.exit(0)`,
      /the worker ended with exit code 0/,
    ],
    [
      'prints without end',
      "const more = () => process.stdout.write('x'.repeat(2 ** 20), more); more()",
      /printed more than the answer/,
    ],
    [
      'answers before it is asked',
      `if (question.kind === 'read') process.stdout.write([{ kind: 'read', head: null, tree: '${ABSENT}', standIns: [], ignored: [], packs: { commits: null, content: null } }, { kind: 'reset' }].map((answer) => JSON.stringify({ warnings: [], ...answer }) + '\\n').join(''))`,
      /answered before it was asked/,
    ],
    [
      'has words for a person',
      "say({ kind: 'failed', why: 'Line one\\nline \\u001B[31mtwo' })",
      /^Line one line two\.$/,
    ],
  ])('%s', async (_, answers, words) => {
    impostor(answers);
    await using scene = await opened();
    const failed = await scene.repository.snapshot().then(
      () => null,
      (error: unknown) => error as Error,
    );
    expect(failed).toMatchObject({ name: 'UserError', kind: 'infrastructure', message: expect.stringMatching(words) });
  });

  test('does not answer', async () => {
    impostor('', 300);
    await using scene = await opened();
    await expect(scene.repository.snapshot()).rejects.toThrow(/did not answer within 0 s\. Re-run the workflow\./);
  });

  test('names a tree with a name in it that no file has', async () => {
    impostor(read(`tree: process.env.EVIL_TREE`));
    await using scene = await setScene();
    await openFresh(scene);
    // The file is already in the quarantine, regardless of how it got there.
    const { execFileSync } = await import('node:child_process');
    const git = (args: readonly string[], input: string | Buffer): string =>
      execFileSync('git', args, {
        cwd: scene.folder,
        input,
        env: { ...process.env, GIT_DIR: join(scene.workFolder, 'quarantine') },
      })
        .toString()
        .trim();
    const blob = git(['hash-object', '-w', '--stdin'], '[core]\n\tfsmonitor = /bin/evil\n');
    const inner = git(['mktree'], `100644 blob ${blob}\tconfig\n`);
    for (const name of ['fine', '.git', '..']) {
      const tree = git(['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], treeText(name, inner));
      Object.assign(scene.agentSandbox?.worker.environment ?? {}, { EVIL_TREE: tree });
      if (name === 'fine') expect((await scene.repository.snapshot()).tree).toBe(tree);
      else await expect(scene.repository.snapshot()).rejects.toThrow(/differs from what was reported/);
    }
  });

  test.each([
    ['a commit', 'leave'],
    ['a look at task files', 'read-texts'],
  ])('loses nothing of %s where it ends', async (_, kind) => {
    command = async (real, root) => {
      const file = join(root, 'mortal.mjs');
      await writeFile(
        file,
        `import { spawn } from 'node:child_process';
        import { createInterface } from 'node:readline';
        const real = spawn(process.execPath, ${JSON.stringify(real.args)}, { stdio: ['pipe', 'inherit', 'inherit'] });
        createInterface({ input: process.stdin }).on('line', (line) => {
          if (JSON.parse(line).kind === '${kind}') { real.kill('SIGKILL'); process.kill(process.pid, 'SIGKILL'); }
          real.stdin.write(line + '\\n');
        }).on('close', () => real.stdin.end());
        real.on('exit', (code) => process.exit(code ?? 1));`,
      );
      return { ...real, args: [file] };
    };
    await using scene = await opened();
    const before = await scene.repository.snapshot();
    await scene.write('new.txt', 'new');
    const after = await scene.repository.snapshot();
    const committed = await scene.repository.commit(messageFor(before, after));
    expect(await scene.quarantineGit('show', `${committed.head}:new.txt`)).toBe('new');
    const files = scene.repository.files(never);
    if (kind === 'read-texts')
      await expect(files.read(['README.md'])).rejects.toThrow(
        /the worker was ended by SIGKILL\. Re-run the workflow\./,
      );
    else expect(Object.keys(await files.read(['README.md']))).toEqual(['README.md']);
  });
});

test('a worker that is killed in the middle is started once more', async () => {
  command = async (real, root) => {
    const [file, mark] = [join(root, 'twice.sh'), join(root, 'was-killed')];
    const program = [real.file, ...real.args].map((word) => `'${word}'`).join(' ');
    await writeFile(file, `#!/bin/sh\n[ -e ${mark} ] || { touch ${mark}; kill -KILL $$; }\nexec ${program}\n`);
    await chmod(file, 0o755);
    return { ...real, file, args: [] };
  };
  await using scene = await opened();
  expect((await scene.repository.snapshot()).head).toBe(await scene.git('rev-parse', 'HEAD'));
});

test('a large change comes in parts, and no worker is left when it is there', async () => {
  command = null;
  await using scene = await opened();
  const before = await scene.repository.snapshot();
  await mkdir(join(scene.folder, 'data'));
  const noise = createHash('shake256', { outputLength: 20 * 2 ** 20 })
    .update('noise')
    .digest();
  await scene.write('data/noise.bin', noise);
  const after = await scene.repository.snapshot();
  expect((await scene.repository.compare(before, after)).files).toEqual(['data/noise.bin']);
  const { execFileSync } = await import('node:child_process');
  const id = execFileSync('git', ['hash-object', '--stdin'], { input: noise }).toString().trim();
  expect(await scene.quarantineGit('cat-file', '-s', id)).toBe(String(noise.length));
  const { args } = scene.agentSandbox?.worker ?? { args: [] };
  const running = execFileSync('ps', ['-eo', 'args']).toString();
  expect(running).not.toContain(args[0] ?? 'no worker');
});

test('a change of the same length is seen, however soon it comes', async () => {
  command = null;
  await using scene = await opened();
  const trees = new Set<string>();
  for (const text of ['one', 'two', 'six', 'ten']) {
    await scene.write('short.txt', text);
    trees.add((await scene.repository.snapshot()).tree);
  }
  expect(trees.size).toBe(4);
});

test('concurrent calls wait for each other', async () => {
  command = null;
  await using scene = await opened();
  const files = scene.repository.files(never);
  const [snapshot, texts, end] = await Promise.all([
    scene.repository.snapshot(),
    files.read(['README.md']),
    files.readEnd('README.md', 3),
  ]);
  expect(snapshot.tree).toBe(await scene.git('rev-parse', 'HEAD^{tree}'));
  expect(texts['README.md']).toBe(await readFile(join(scene.folder, 'README.md'), 'utf8'));
  expect(end).toBe(texts['README.md']?.slice(-3));
});

function never(): never {
  throw new Error('read as this process');
}

/** Returns a tree with one entry. */
function treeText(name: string, id: string): Buffer {
  return Buffer.concat([Buffer.from(`40000 ${name}\0`), Buffer.from(id, 'hex')]);
}
