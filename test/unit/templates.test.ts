import { describe, expect, test } from 'vitest';
import { outcomeSchema } from '../../src/core/outcome.ts';
import { composePrompt } from '../../src/core/prompt/prompt.ts';
import { parsePlan } from '../../src/core/tasks/files/plan.ts';
import { COMMAND_HELP } from '../../src/core/people/command.ts';
import { EVENTS } from '../../src/gate/event/event-table.ts';
import { optionalSections, promptParts, task } from './core/core-fixtures.ts';
import { plain, read, tableUnder } from './documents/pages.ts';

const action = read('action.yml');
const workflow = withoutComments(read('templates/workflows/ralph.yml'));

/** All ends of runs. */
const ends = outcomeSchema
  .unwrap()
  .options.flatMap(({ shape: { kind, reason } }) =>
    ('options' in reason ? reason.options : [reason.value]).map((word) => `${kind.value} ${word}`),
  );

describe('the workflow', () => {
  test('that the recipe "One job" shows is the job of the template, without its condition and with a verify', () => {
    const [, block = ''] = /^## One job$[^]*?^```yaml\n([^]*?)^```$/m.exec(read('docs/recipes.md')) ?? [];
    const condition = /^ {4}if: >-\n(?: {6}.*\n)+/m;
    const job = workflow.slice(workflow.indexOf('jobs:\n')).replace(condition, '');
    expect(withoutComments(block)).toBe(`${withoutComments(job)}\n          verify: npm ci && npm test`);
  });

  test('asks for the permissions that docs/security.md gives reasons for, and no others', () => {
    const asked = [...section(workflow, 'permissions:').matchAll(/^ {2}([\w-]+: \w+)$/gm)].map(
      ([, permission]) => permission,
    );
    const explained = rowsOf('docs/security.md', '## Permissions')
      .filter(([, reason]) => reason?.includes('`ralph-keyless.yml` only') !== true)
      .map(([permission]) => permission);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked).toEqual(explained);
  });

  test('leaves ten minutes between the end of a run and the end of the job', () => {
    const timeout = Number(/timeout-minutes: (\d+)/.exec(workflow)?.[1]);
    const maxMinutes = Number(/^ {2}max-minutes:\n.*\n {4}default: '(\d+)'/m.exec(action)?.[1]);
    expect(timeout - maxMinutes).toBe(10);
  });

  test('skips other labels by the name of the default task label', () => {
    expect(workflow).toContain(
      `github.event.label.name == '${/^ {2}task-label:\n.*\n {4}default: (.+)$/m.exec(action)?.[1] ?? ''}'`,
    );
  });

  test('checks out the default branch for feedback on a pull request, whose own code would set up the job', () => {
    expect(workflow).toMatch(
      /^ {10}ref: \$\{\{ github\.event\.pull_request && github\.event\.repository\.default_branch \|\| '' \}\}$/m,
    );
  });

  test('has no line that safety could be thought to depend on: the gate and the lease keep runs right without', () => {
    for (const key of ['concurrency', 'command', 'env'])
      expect(workflow).not.toMatch(new RegExp(`^ {4,}${key}:.`, 'm'));
  });
});

describe('the documents', () => {
  test('explain every end once, and none that there is not', () => {
    expect(
      rowsOf('docs/how-it-stops.md', '## Outcomes')
        .map(([kind, reason]) => `${kind ?? ''} ${reason ?? ''}`)
        .sort(),
    ).toEqual([...ends].sort());
  });

  test('call red what fails by default', () => {
    const failOn = (/^ {2}fail-on:\n.*\n {4}default: (.+)$/m.exec(action)?.[1] ?? '').split(',');
    const red = rowsOf('docs/how-it-stops.md', '## Outcomes')
      .filter((row) => row.at(-1) === 'red')
      .map(([kind]) => kind);
    expect(new Set(red)).toEqual(new Set(failOn));
    expect(
      rowsOf('docs/how-it-stops.md', '## Outcomes')
        .filter(([kind]) => failOn.includes(kind ?? ''))
        .every((row) => row.at(-1) === 'red'),
    ).toBe(true);
  });

  test('have a row for every output, in the order of action.yml', () => {
    const outputs = [...section(action, 'outputs:').matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name);
    expect(rowsOf('docs/inputs-and-outputs.md', '## Outputs').map(([name]) => name)).toEqual(outputs);
  });

  test('say of every event what the run does', () => {
    const rows = EVENTS.map(({ event, types, does }) => [
      types === null ? event : `\`${event}\` (${types.map((type) => `\`${type}\``).join(', ')})`,
      does,
    ]);
    expect(rowsOf('docs/tasks-and-branches.md', '## What starts a run').slice(0, -1)).toEqual(rows);
  });

  test('name every command in the README', () => {
    expect([...read('README.md').matchAll(/`\/ralph ([^`]+)`/g)].map(([, name]) => name)).toEqual(
      expect.arrayContaining(Object.keys(COMMAND_HELP)),
    );
  });

  test('have a row for every command', () => {
    expect(rowsOf('docs/tasks-and-branches.md', '## Commands').map(([command]) => command)).toEqual(
      Object.keys(COMMAND_HELP).map((name) => `/ralph ${name}`),
    );
  });
});

describe('the built-in prompt', () => {
  const prompt = read('templates/PROMPT.md');
  const composed = composePrompt({
    ...promptParts,
    promptTemplate: prompt,
    task: task(7, { title: 'Add a farewell', body: '' }),
  });

  test.each([
    'STATUS: COMPLETE',
    'STATUS: IN_PROGRESS',
    'STATUS: BLOCKED',
    'EXIT_SIGNAL: true',
    'TESTS_STATUS: PASSING',
    'SUMMARY',
    'QUESTION',
  ])('says when to report %s, and the protocol knows it', (words) => {
    const [field = '', value = ''] = words.split(': ');
    expect(prompt).toContain(words);
    expect(composed).toMatch(new RegExp(`^${field}: .*${value}`, 'm'));
  });

  test('stands where it says: after the context, before the task and the form of the report', () => {
    const at = ['# Context of this iteration', '# How you work', '# Your task: issue-7', '# How to end'].map(
      (heading) => composed.indexOf(heading),
    );
    expect(at).not.toContain(-1);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(prompt).toContain('What happened so far is above; your task and the form of your report are below.');
  });

  test.each([
    'One task.',
    'Search the code',
    'No placeholders',
    "run the project's tests",
    'Commit',
    'mark it there when it is finished',
    'Delete nothing',
  ])('says %j', (words) => {
    expect(prompt).toContain(words);
  });

  test('holds no status block that could be taken for the answer', () => {
    expect(prompt).not.toMatch(/RALPH_STATUS/);
  });
});

describe('the plan to copy', () => {
  const plan = read('templates/fix_plan.md');

  test('has no task of its own, and no problem', () => {
    expect(parsePlan('fix_plan.md', plan, optionalSections)).toEqual({ tasks: [], problems: [] });
  });

  test('has a heading for each priority, and one for what is optional', () => {
    const filled = plan.replace(/^## .*$/gm, (heading) => `${heading}\n\n- [ ] Below ${heading.slice(3)}`);
    expect(
      parsePlan('fix_plan.md', filled, optionalSections).tasks.map(({ task: { title, priority, optional } }) => [
        title,
        priority,
        optional,
      ]),
    ).toEqual([
      ['Below High', 1, false],
      ['Below Medium', 2, false],
      ['Below Low', 3, false],
      ['Below Optional', 2, true],
    ]);
  });

  test('shows a box that is one where it is copied to', () => {
    const example = /^```markdown\n([^]*?)^```$/m.exec(plan)?.[1] ?? '';
    expect(
      parsePlan('fix_plan.md', example, optionalSections).tasks.map(({ task: { title, body }, state }) => [
        title,
        body,
        state,
      ]),
    ).toEqual([
      ['Reject an order with a negative quantity', '`POST /orders` answers 400 and says which line is wrong.', 'todo'],
      ['A box that is ticked is done', '', 'done'],
    ]);
  });
});

describe('the project’s own workflow', () => {
  test('has a last job that needs every other', () => {
    const ci = read('.github/workflows/ci.yml');
    const jobs = [...section(ci, 'jobs:').matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name);
    const needed = /^ {4}needs: \[(.+)\]$/m.exec(ci)?.[1]?.split(', ') ?? [];
    expect([...needed, 'done']).toEqual(jobs);
    expect(ci).toContain(`test "$RESULTS" = '${needed.map(() => 'success').join(' ')}'`);
  });
});

/** Returns YAML without comments, blank lines and trailing spaces. */
function withoutComments(yaml: string): string {
  return yaml
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trimEnd())
    .filter((line) => line !== '')
    .join('\n');
}

/** Returns the indented lines below a key at the beginning of a line. */
function section(yaml: string, key: string): string {
  const [, ...rest] = yaml.slice(`\n${yaml}`.indexOf(`\n${key}`)).split('\n');
  const end = rest.findIndex((line) => /^\S/.test(line));
  return rest.slice(0, end === -1 ? rest.length : end).join('\n');
}

/** Returns the rows of the tables below a heading of a document, without code marks. */
function rowsOf(path: string, heading: string): string[][] {
  return tableUnder(path, heading).map((cells) => cells.map(plain));
}
