import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { tasksReportSchema, type TasksReport } from '../../../src/cli/tasks/read-tasks.ts';
import { ralph, type CliRun } from './fixture.ts';
import { publishedSchema } from '../../published-schema.ts';

/** Runs `ralph tasks` in a checkout with these files. */
async function tasks(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CliRun> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-tasks-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return await ralph(['tasks', '--dir', folder, ...args]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function report(files: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<TasksReport> {
  const { code, out, error } = await tasks(files, '--json', ...args);
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as TasksReport;
}

test('a fix_plan.md at the root is the plan where something of an early Ralph is beside it', async () => {
  const files = { 'fix_plan.md': '- [ ] Parser\n' };
  expect((await report(files)).tasks).toEqual([]);
  for (const beside of ['PROMPT.md', '.exit_signals'])
    expect((await report({ ...files, [beside]: 'a' })).tasks.map(({ title }) => title)).toEqual(['Parser']);
});

/** Runs `ralph tasks --json` in a folder that `prepare` fills; `git` runs git there. */
async function problemsIn(
  prepare: (folder: string, git: (...args: string[]) => string) => Promise<unknown>,
): Promise<readonly (readonly [string, string])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-tasks-'));
  try {
    await mkdir(join(folder, '.ralph'));
    await prepare(folder, (...args) =>
      execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
        cwd: folder,
        encoding: 'utf8',
      }),
    );
    const { out } = await ralph(['tasks', '--dir', folder, '--json', '--task-sources', 'plan,prd,prompt']);
    return (JSON.parse(out) as TasksReport).problems.map(({ file, message }) => [file, message]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('says of a listed file that no run sees it, because it is not committed or git ignores it', async () => {
  const prepare = async (folder: string, git: (...args: string[]) => string): Promise<void> => {
    git('init', '--quiet');
    await writeFile(join(folder, '.gitignore'), '/prd.json\n');
    await writeFile(join(folder, '.ralph/PROMPT.md'), 'Go on\n');
    git('add', '--all');
    git('commit', '--quiet', '--message=First');
    await writeFile(join(folder, 'prd.json'), '{"userStories":[{"id":"US-1","title":"b","passes":false}]}');
    await writeFile(join(folder, '.ralph/fix_plan.md'), '- [ ] Parser\n');
    git('add', '.ralph/fix_plan.md');
  };
  expect(await problemsIn(prepare)).toEqual([
    ['.ralph/fix_plan.md', 'is not committed, so no run sees it: commit it'],
    [
      'prd.json',
      'is ignored by git and not committed, so no run sees it: add it with "git add --force", then commit it',
    ],
  ]);
  const committed = async (folder: string, git: (...args: string[]) => string): Promise<void> => {
    await prepare(folder, git);
    git('add', '--force', 'prd.json');
    git('commit', '--quiet', '--message=Second');
  };
  expect(await problemsIn(committed)).toEqual([]);
});

test('follows no symbolic link, as a run does not, and says so', async () => {
  expect(
    await problemsIn(async (folder) => {
      await writeFile(join(folder, 'stories.json'), '{"userStories":[{"id":"US-1","title":"b","passes":false}]}');
      await symlink('../stories.json', join(folder, '.ralph/prd.json'));
    }),
  ).toEqual([['.ralph/prd.json', 'is a symbolic link, which no run follows for tasks: put a file there']]);
  expect(
    await problemsIn(async (folder) => {
      await mkdir(join(folder, 'real'));
      await writeFile(join(folder, 'real/fix_plan.md'), '- [ ] Parser\n');
      await writeFile(join(folder, 'real/PROMPT.md'), 'Go on\n');
      await rm(join(folder, '.ralph'), { recursive: true });
      await symlink('real', join(folder, '.ralph'));
    }),
  ).toEqual([['.ralph', 'is a symbolic link, which no run follows for tasks: put a folder there']]);
});

const PLAN = '# Plan\n\n- [x] Set up\n- [ ] Parser\n  - [ ] Lexer\n\n## Optional\n\n- [ ] Colours\n';
const offline = {
  file: 'issues',
  line: null,
  message: 'needs a token: set GITHUB_TOKEN to one that may read the issues',
};
const bead = (id: string, fields: object = {}): string => `${JSON.stringify({ id, title: `Bead ${id}`, ...fields })}\n`;

describe('ralph tasks --json', () => {
  test('prints one object with exactly the keys of the contract, in the order of work', async () => {
    const printed = await report({ '.ralph/fix_plan.md': PLAN });
    expect(printed).toEqual({
      tasks: [
        {
          id: expect.stringMatching(/^plan-/) as string,
          title: 'Set up',
          source: 'plan',
          state: 'done',
          priority: 2,
          optional: false,
          dependsOn: [],
        },
        {
          id: expect.stringMatching(/^plan-/) as string,
          title: 'Lexer',
          source: 'plan',
          state: 'todo',
          priority: 2,
          optional: false,
          dependsOn: [],
        },
        {
          id: expect.stringMatching(/^plan-/) as string,
          title: 'Parser',
          source: 'plan',
          state: 'todo',
          priority: 2,
          optional: false,
          dependsOn: [printed.tasks[1]?.id],
        },
        {
          id: expect.stringMatching(/^plan-/) as string,
          title: 'Colours',
          source: 'plan',
          state: 'todo',
          priority: 2,
          optional: true,
          dependsOn: [],
        },
      ],
      problems: [offline],
    });
  });

  test('both forms of a prd', async () => {
    const { tasks: rows } = await report({
      '.ralph/prd.json': JSON.stringify({
        tasks: [{ id: 'T1', title: 'a', status: 'done' }],
        userStories: [{ id: 'US-1', title: 'b', passes: false }],
      }),
    });
    expect(rows.map(({ id, source, state }) => [id, source, state])).toEqual([
      ['prd-T1', 'prd', 'done'],
      ['prd-US-1', 'prd', 'todo'],
    ]);
  });

  test('an entry does not wait for what its archive has as done', async () => {
    const prd = '{"tasks":[{"id":"T3","title":"c","depends_on":["T1","T2"]}]}';
    const { tasks: rows, problems } = await report(
      {
        '.ralph/prd.json': prd,
        '.ralph/prd_archive.json':
          '{"tasks":[{"id":"T1","title":"a","status":"done"},{"id":"T2","title":"b","status":"todo"}]}',
      },
      '--task-sources',
      'prd',
    );
    expect(rows.map(({ id, dependsOn }) => [id, dependsOn])).toEqual([['prd-T3', ['prd-T2']]]);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('depends on "T2", which is not in this file, so it is not worked on'),
    ]);
  });

  test('beads only when it is named', async () => {
    const files = { '.beads/issues.jsonl': bead('bd-1', { priority: 0 }), '.beads/deletions.jsonl': '{"id":"bd-9"}\n' };
    expect((await report(files)).tasks).toEqual([]);
    expect(await report(files, '--task-sources', 'beads')).toEqual({
      tasks: [
        {
          id: 'beads-bd-1',
          title: 'Bead bd-1',
          source: 'beads',
          state: 'todo',
          priority: 1,
          optional: false,
          dependsOn: [],
        },
      ],
      problems: [],
    });
  });

  test('the order of --task-sources counts at the same priority', async () => {
    const files = { '@fix_plan.md': '- [ ] a', '.beads/beads.jsonl': bead('b', { priority: 1 }) };
    expect((await report(files, '--task-sources', 'plan,beads')).tasks.map(({ title }) => title)).toEqual([
      'a',
      'Bead b',
    ]);
    expect((await report(files, '--task-sources', 'beads,plan')).tasks.map(({ title }) => title)).toEqual([
      'Bead b',
      'a',
    ]);
  });

  test.each<[string, Readonly<Record<string, string>>, readonly string[], TasksReport['problems']]>([
    [
      'a file that is cut off, with line and column',
      { '.ralph/prd.json': '{\n  "tasks": [\n    { "id": ' },
      ['prd'],
      [{ file: '.ralph/prd.json', line: 3, message: expect.stringMatching(/^column \d+: not valid JSON/) as string }],
    ],
    [
      'a line that is cut off',
      { '.beads/issues.jsonl': `${bead('a')}{"id":` },
      ['beads'],
      [
        {
          file: '.beads/issues.jsonl',
          line: 2,
          message: expect.stringMatching(/^column \d+: not valid JSON/) as string,
        },
      ],
    ],
    [
      'tasks that wait for each other',
      { '@fix_plan.md': '- [ ] T1: depends on T2\n- [ ] T2: depends on T1' },
      ['plan'],
      [1, 2].map((line) => ({
        file: '@fix_plan.md',
        line,
        message: 'this item waits for tasks that wait for it, so none of them can begin',
      })),
    ],
    [
      'entries that wait for each other',
      {
        '.ralph/prd.json':
          '{"tasks":[\n{"id":"A","title":"a","depends_on":["B"]},\n {"id":"B","title":"b","depends_on":["A"]}]}',
      },
      ['prd'],
      [['A', 2, 1] as const, ['B', 3, 2] as const].map(([key, line, column]) => ({
        file: '.ralph/prd.json',
        line,
        message: `column ${String(column)}: "${key}" waits for tasks that wait for it, so none of them can begin`,
      })),
    ],
    [
      'a list that comes twice',
      { '.ralph/prd.json': '{"tasks":[{"id":"A","title":"a"}],\n "tasks":[]}' },
      ['prd'],
      [
        {
          file: '.ralph/prd.json',
          line: 1,
          message:
            'column 2: there is another `tasks` below, and only the last one is read: put the entries into one list',
        },
      ],
    ],
    [
      'a file that is too long',
      { '@fix_plan.md': 'x'.repeat(1024 * 1024 + 1) },
      ['plan'],
      [{ file: '@fix_plan.md', line: null, message: 'is larger than 1 MiB, so no run reads it' }],
    ],
    [
      'a file in UTF-16',
      { '@fix_plan.md': '-\0 \0[\0 \0]\0 \0a\0' },
      ['plan'],
      [
        {
          file: '@fix_plan.md',
          line: 1,
          message: 'contains NUL bytes, so no run reads it: remove them, or save it as UTF-8',
        },
      ],
    ],
    [
      'a file with a NUL',
      { '@fix_plan.md': '# Plan\n\n- [ ] a\0\n' },
      ['plan'],
      [{ file: '@fix_plan.md', line: 3, message: expect.stringMatching(/^contains NUL bytes/) as string }],
    ],
    [
      'a file that is not a file',
      { '.ralph/prd.json/x': '' },
      ['prd'],
      [{ file: '.ralph/prd.json', line: null, message: expect.stringMatching(/is not a file/) as string }],
    ],
    [
      'a name that is missing, however often an item says it',
      { '@fix_plan.md': '- [ ] T1: depends on T9, t9\n\n  Depends on T9.' },
      ['plan'],
      [
        {
          file: '@fix_plan.md',
          line: 1,
          message: 'depends on T9, but no item begins with that name, so it is not worked on',
        },
      ],
    ],
    [
      'an entry that is missing, however often another names it',
      { '.ralph/prd.json': '{"tasks":[{"title":"a","depends_on":["q","q"],"dependencies":["q"]}]}' },
      ['prd'],
      [
        {
          file: '.ralph/prd.json',
          line: 1,
          message: 'column 38: depends on "q", which is not in this file, so it is not worked on',
        },
      ],
    ],
    [
      'an issue that is missing, in whatever way another waits for it',
      {
        '.beads/issues.jsonl': bead('a', {
          dependencies: ['blocks', 'waits-for'].map((type) => ({ depends_on_id: 'q', type })),
        }),
      },
      ['beads'],
      [
        {
          file: '.beads/issues.jsonl',
          line: 1,
          message: 'depends on "q", which is not in this file, so it is not worked on',
        },
      ],
    ],
    ['issues', {}, ['issues'], [offline]],
    ['nothing', {}, ['plan', 'prd', 'beads'], []],
  ])('problems: %s', async (_, files, sources, expected) => {
    expect((await report(files, '--task-sources', sources.join())).problems).toEqual(expected);
  });

  test('is as its published JSON Schema says (vitest -u writes it)', async () => {
    await expect(
      `${JSON.stringify(publishedSchema('ralph tasks --json', tasksReportSchema), null, 2)}\n`,
    ).toMatchFileSnapshot('../../../schemas/ralph-tasks.schema.json');
    const validate = new Ajv2020({ strict: false }).compile(publishedSchema('ralph tasks --json', tasksReportSchema));
    const printed = await report({ '.ralph/fix_plan.md': PLAN, '.ralph/prd.json': '{' });
    validate(printed);
    expect(validate.errors).toBeNull();
    expect(validate({ ...printed, more: 1 })).toBe(false);
  });
});

describe('ralph tasks for people', () => {
  test('a line for each task: state, priority, id, where it is, title, and what it waits for', async () => {
    const { code, out } = await tasks({ '.ralph/fix_plan.md': PLAN }, '--task-sources', 'plan');
    expect(code).toBe(0);
    expect(out).toBe(
      [
        '4 tasks: 1 done, 3 open (1 of them optional)',
        '',
        '  state  priority  id                 where                 title',
        '  done   2         plan-6f6fd217c002  .ralph/fix_plan.md:3  Set up',
        '  to do  2         plan-54490fe4f219  .ralph/fix_plan.md:5  Lexer',
        '  to do  2         plan-090153442c49  .ralph/fix_plan.md:4  Parser  (waits for .ralph/fix_plan.md:5)',
        '  to do  2         plan-96e17dd2549a  .ralph/fix_plan.md:9  Colours  (optional)',
        '',
      ].join('\n'),
    );
  });

  test('tasks that nobody can work on come last, with what they wait for', async () => {
    const { out } = await tasks(
      {
        '@fix_plan.md':
          '- [ ] T1: a, depends on T9\n- [ ] T2: b, depends on T3\n- [ ] T3: c, depends on T2\n- [ ] T4: d, depends on T1\n- [ ] T5: e, depends on #7\n',
      },
      '--task-sources',
      'plan',
    );
    expect(out.split('\n').slice(3, 8)).toEqual([
      '  to do  2         plan-3202d8489c2f  @fix_plan.md:5  T5: e, depends on #7  (waits for #7)',
      '  to do  2         plan-cf97a3150664  @fix_plan.md:1  T1: a, depends on T9  (waits for t9, which does not exist)',
      '  to do  2         plan-238188307b05  @fix_plan.md:4  T4: d, depends on T1  (waits for @fix_plan.md:1)',
      '  to do  2         plan-e691f6784750  @fix_plan.md:2  T2: b, depends on T3  (waits for @fix_plan.md:3)',
      '  to do  2         plan-c8a0c09f7159  @fix_plan.md:3  T3: c, depends on T2  (waits for @fix_plan.md:2)',
    ]);
  });

  test('no tasks, and problems', async () => {
    const { code, out } = await tasks({ '.ralph/prd.json': '[]' });
    expect(code).toBe(0);
    expect(out).toBe(
      `No tasks found in .ralph/fix_plan.md, .ralph/@fix_plan.md, @fix_plan.md, .ralph/prd.json, scripts/ralph/prd.json, prd.json.\n\nProblems:\n  .ralph/prd.json:1: column 1: it is an array, not an object with \`tasks\` or \`userStories\`\n  issues: ${offline.message}\n`,
    );
  });

  test('text of the files cannot steer the terminal', async () => {
    const { out } = await tasks({
      '@fix_plan.md': '- [ ] a\u001b[2Jb\u202ec',
      '.ralph/prd.json': JSON.stringify({ tasks: [{ id: 'x\u001b[2J\n', title: 't', status: '\u001b]0;x\u0007' }] }),
    });
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
  });
});

describe('ralph tasks with arguments that make no sense ends with 2', () => {
  test.each<[readonly string[], string]>([
    [['--dir', '/nowhere/at/all'], 'ralph tasks: --dir: "/nowhere/at/all" is not a folder.'],
    [
      ['--task-sources', 'plan,todo'],
      'ralph tasks: --task-sources: "plan,todo" must be a list of: issues, plan, prd, beads, prompt.',
    ],
    [['--task-sources', 'plan,plan'], 'ralph tasks: --task-sources: "plan,plan" names a source twice.'],
    [
      ['--task-sources', ''],
      'ralph tasks: --task-sources: "" is empty: name at least one of issues, plan, prd, beads, prompt.',
    ],
    [['here'], 'ralph tasks: too many arguments: "here".'],
    [['--dirs', 'x'], 'ralph tasks: there is no option --dirs. Did you mean --dir?'],
  ])('%j', async (args, expected) => {
    const { code, out, error } = await ralph(['tasks', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(error).toContain(expected);
  });
});

describe('a prompt without a list', () => {
  const prompt = {
    'PROMPT.md': '# Build the shop\n\nSee docs/api.md.',
    'specs/deep/cart.md': 'A cart.',
    'docs/api.md': 'x',
  };

  test('is a task where it is named as a source, another one when what it points to changes', async () => {
    const { tasks: found, problems } = await report(prompt, '--task-sources', 'plan,prompt');
    expect(found).toEqual([
      {
        id: expect.stringMatching(/^prompt-[0-9a-f]{12}$/) as string,
        title: 'Build the shop',
        source: 'prompt',
        state: 'todo',
        priority: 1,
        optional: true,
        dependsOn: [],
      },
    ]);
    expect(problems).toEqual([]);
    for (const path of ['specs/deep/cart.md', 'docs/api.md'])
      expect((await report({ ...prompt, [path]: 'other' }, '--task-sources', 'prompt')).tasks[0]?.id).not.toBe(
        found[0]?.id,
      );
    expect((await report({ ...prompt, 'src/a.md': 'other' }, '--task-sources', 'prompt')).tasks).toEqual(found);
  });

  test('is not listed beside a list, nor where nobody asks for it', async () => {
    const beside = await report({ ...prompt, '.ralph/fix_plan.md': '- [x] Parser\n' }, '--task-sources', 'plan,prompt');
    expect(beside.tasks.map(({ source }) => source)).toEqual(['plan']);
    expect((await report(prompt, '--task-sources', 'plan')).tasks).toEqual([]);
  });

  test('without one, its places are named', async () => {
    const { out } = await tasks({}, '--task-sources', 'prompt');
    expect(out).toContain('No tasks found in .ralph/PROMPT.md, PROMPT.md, ');
  });
});
