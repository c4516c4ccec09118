import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ralph, type CliRun } from '../fixture.ts';

const PLAN = '.ralph/fix_plan.md';
let checkout = '';

beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'ralph-added-'));
  await mkdir(join(checkout, '.ralph'));
  git('init', '--quiet', '--initial-branch=main');
});
afterEach(async () => {
  await rm(checkout, { recursive: true, force: true });
});

function git(...args: readonly string[]): string {
  const identity = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com', '-c', 'core.autocrlf=false'];
  return execFileSync('git', ['-C', checkout, ...identity, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
}

const read = (): Promise<string> => readFile(join(checkout, PLAN), 'utf8');
/** Adds a task, and leaves out the sentence that every task added gets. */
async function add(title: string, ...args: readonly string[]): Promise<CliRun> {
  const run = await ralph(['add', title, '--dir', checkout, ...args]);
  return { ...run, error: run.error.replace(/^ralph add: added to .*\n/m, '') };
}

async function commit(text: string): Promise<void> {
  await writeFile(join(checkout, PLAN), text);
  git('add', '--all');
  git('commit', '--quiet', '--message=Change');
}

/** Commits a plan on main and its change on `ralph/queue`, and stays on main. */
async function fork(plan: string, onBranch: string): Promise<void> {
  await commit(plan);
  git('checkout', '--quiet', '-b', 'ralph/queue');
  await commit(onBranch);
  git('checkout', '--quiet', 'main');
}

/** Commits what was added and merges the branch as a person does; returns the plan, or null for a conflict. */
async function mergeByHand(): Promise<string | null> {
  await commit(await read());
  try {
    git('merge', '--quiet', '--no-edit', 'ralph/queue');
  } catch {
    return null;
  }
  return read();
}

const moved = (line: number, usual: number): string =>
  `ralph add: written to line ${line} instead of ${usual}, and worked on before the tasks below it: ralph/queue is not merged yet, and git would report a conflict there.\n`;

describe("a person's own merge of the queue's branch has no conflict after `ralph add`", () => {
  test.each<[string, { plan: string; branch: string; titles: string[]; merged: string; notes: string[] }]>([
    [
      'one box is ticked, not the last: the task goes to the end as usual',
      {
        plan: '# Plan\n\n- [ ] a\n- [ ] b\n',
        branch: '# Plan\n\n- [x] a\n- [ ] b\n',
        titles: ['new'],
        merged: '# Plan\n\n- [x] a\n- [ ] b\n- [ ] new\n',
        notes: [''],
      },
    ],
    [
      'the last box is ticked',
      {
        plan: '# Plan\n\n- [ ] a\n- [ ] b\n- [ ] c\n',
        branch: '# Plan\n\n- [ ] a\n- [ ] b\n- [x] c\n',
        titles: ['new'],
        merged: '# Plan\n\n- [ ] a\n- [ ] new\n- [ ] b\n- [x] c\n',
        notes: [moved(4, 6)],
      },
    ],
    [
      'all boxes are ticked',
      {
        plan: '# Plan\n\n- [ ] a\n- [ ] b\n',
        branch: '# Plan\n\n- [x] a\n- [x] b\n',
        titles: ['new'],
        merged: '# Plan\n- [ ] new\n\n- [x] a\n- [x] b\n',
        notes: [moved(2, 5)],
      },
    ],
    [
      'two are added to one box',
      {
        plan: '# Plan\n\n- [ ] a\n',
        branch: '# Plan\n\n- [x] a\n',
        titles: ['new', 'newer'],
        merged: '# Plan\n- [ ] new\n\n- [ ] newer\n\n- [x] a\n',
        notes: [moved(2, 4), moved(4, 6)],
      },
    ],
    [
      'a list without a heading',
      {
        plan: '- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n',
        branch: '- [x] a\n- [ ] b\n- [ ] c\n- [x] d\n',
        titles: ['new'],
        merged: '- [x] a\n- [ ] b\n- [ ] new\n- [ ] c\n- [x] d\n',
        notes: [moved(3, 5)],
      },
    ],
    [
      'line ends of Windows',
      {
        plan: '# Plan\r\n\r\n- [ ] a\r\n- [ ] b\r\n',
        branch: '# Plan\r\n\r\n- [x] a\r\n- [x] b\r\n',
        titles: ['new'],
        merged: '# Plan\r\n- [ ] new\r\n\r\n- [x] a\r\n- [x] b\r\n',
        notes: [moved(2, 5)],
      },
    ],
    [
      'the template, with the last box of High ticked',
      {
        plan: '# Plan\n\n## High\n\n- [ ] a\n\n## Medium\n\n## Low\n',
        branch: '# Plan\n\n## High\n\n- [x] a\n\n## Medium\n\n## Low\n',
        titles: ['new'],
        merged: '# Plan\n\n## High\n\n- [x] a\n\n## Medium\n\n- [ ] new\n\n## Low\n',
        notes: [''],
      },
    ],
    [
      'the branch adds tasks of its own to the end',
      {
        plan: '# Plan\n\n- [ ] a\n- [ ] b\n',
        branch: '# Plan\n\n- [x] a\n- [ ] b\n- [ ] found\n',
        titles: ['new'],
        merged: '# Plan\n- [ ] new\n\n- [x] a\n- [ ] b\n- [ ] found\n',
        notes: [moved(2, 5)],
      },
    ],
  ])('%s', async (_what, { plan, branch, titles, merged, notes }) => {
    await fork(plan, branch);
    const said: string[] = [];
    for (const title of titles) said.push((await add(title)).error);
    expect(said).toEqual(notes);
    expect(await mergeByHand()).toBe(merged);
  });

  test('also if the first addition is committed, and of a branch that was only fetched', async () => {
    await fork('# Plan\n\n- [ ] a\n', '# Plan\n\n- [x] a\n');
    git('update-ref', 'refs/remotes/origin/bot-queue', 'ralph/queue');
    git('branch', '--quiet', '-D', 'ralph/queue');
    await add('new');
    await commit(await read());
    expect((await add('newer')).error).toContain('origin/bot-queue is not merged yet');
    await commit(await read());
    git('merge', '--quiet', '--no-edit', 'origin/bot-queue');
    expect(await read()).toBe('# Plan\n- [ ] new\n\n- [ ] newer\n\n- [x] a\n');
  });
});

describe('the task goes where it always goes', () => {
  test('if every place is next to a changed line, which is said with the way out', async () => {
    await fork('- [ ] a\n', '- [x] a\n');
    expect((await add('new')).error).toBe(
      `ralph add: ralph/queue is not merged yet, and git will report a conflict in ${PLAN} if you merge by hand: take the branch's lines, and add the new task to them. The next run merges the list by itself.\n`,
    );
    expect(await read()).toBe('- [ ] a\n- [ ] new\n');
    expect(await mergeByHand()).toBeNull();
  });

  test.each<[string, () => void]>([
    [
      'merged',
      () => {
        git('merge', '--quiet', 'ralph/queue');
      },
    ],
    [
      'squashed',
      () => {
        git('merge', '--quiet', '--squash', 'ralph/queue');
        git('commit', '--quiet', '--message=Squashed');
      },
    ],
    [
      'checked out',
      () => {
        git('checkout', '--quiet', 'ralph/queue');
      },
    ],
  ])('if the branch is %s', async (_what, change) => {
    await fork('# Plan\n\n- [ ] a\n', '# Plan\n\n- [x] a\n');
    change();
    expect((await add('new')).error).toBe('');
    expect(await read()).toBe('# Plan\n\n- [x] a\n- [ ] new\n');
  });
});
