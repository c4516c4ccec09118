import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../../src/cli/run-command.ts';
import { UserError } from '../../../src/errors.ts';
import { type CliCommand, COMMAND_LIST, type Terminal } from '../../../src/cli/command.ts';
import { commands, ralph } from './fixture.ts';

describe('help', () => {
  test.each([['--help'], ['-h'], ['help']])('ralph %s lists every command, and ends with 0', async (arg) => {
    const { code, out } = await ralph([arg]);
    expect(code).toBe(0);
    for (const { name, summary } of commands) expect(out).toContain(`${name.padEnd(7)}  ${summary}`);
  });

  test('lists the commands that there are', () => {
    expect(commands.map(({ name }) => name)).toEqual(Object.keys(COMMAND_LIST));
  });

  test('sorts the commands into daily use and looking inside', async () => {
    const { out } = await ralph(['help']);
    const [daily = '', inside = ''] = out.slice(out.indexOf('Daily use:')).split('\n\n');
    const namesIn = (part: string): readonly string[] =>
      [...part.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name ?? '');
    expect(daily).toMatch(/^Daily use:\n/);
    expect(inside).toMatch(/^Looking inside:\n/);
    expect([namesIn(daily), namesIn(inside)]).toEqual([
      [
        'init',
        'status',
        'history',
        'monitor',
        'doctor',
        'sandbox',
        'run',
        'tasks',
        'add',
        'import',
        'pause',
        'resume',
        'stop',
        'retry',
        'reset',
      ],
      ['receipt', 'verify', 'replay', 'tune', 'analyze', 'clean'],
    ]);
  });

  test.each(commands.map(({ name }) => [name]))('ralph help %s is its --help', async (name) => {
    expect(await ralph(['help', name])).toEqual(await ralph([name, '--help']));
  });

  test.each([['--help'], ...commands.map(({ name }) => [name, '--help'])])(
    'ralph %s fits 80 columns, with an indented usage',
    async (...args) => {
      const lines = (await ralph(args)).out.split('\n');
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(lines.slice(1, lines.indexOf('')).filter((line) => !line.startsWith('  '))).toEqual([]);
    },
  );

  test.each([
    ['an invalid command', ['help', 'statsu'], 2, 'Did you mean status?'],
    ['help itself', ['help', 'help'], 0, ''],
    ['help and an option', ['help', '--help'], 0, ''],
  ])('help about %s', async (_, args, code, error) => {
    const said = await ralph(args);
    expect({ code: said.code, said: said.error.includes(error) }).toEqual({ code, said: true });
  });

  test('ralph alone says the same as an error', async () => {
    expect(await ralph([])).toMatchObject({ code: 2, out: '', error: (await ralph(['--help'])).out });
  });

  test.each(['status', 'tasks', 'add', 'import', 'run', 'pause'])(
    'ralph %s --help says what --dir has to do with working-directory',
    async (name) => {
      const { out } = await ralph([name, '--help']);
      expect(/^ {2}--dir FOLDER [^]*?(?=\n {2}-|\n\n)/m.exec(out)?.[0]).toContain('working-directory');
    },
  );

  test.each(commands.map(({ name }) => [name]))(
    'ralph %s --help says how it is used, whatever else is given',
    async (name) => {
      expect(await ralph([name, '--nonsense', '--help'])).toMatchObject({
        code: 0,
        // The output of `ralph sandbox` is a story and not data.
        out: expect.stringMatching(
          new RegExp(`^Usage: ralph ${name} (?:.+\\n)*?.*--${name === 'sandbox' ? 'repo' : 'json'}`),
        ) as string,
        error: '',
      });
    },
  );
});

test.each(['--version', '-V'])('ralph %s says which version of the package this is', async (option) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as {
    version: string;
  };
  expect(await ralph([option])).toEqual({ code: 0, out: `ralph ${version}\n`, error: '' });
});

describe('arguments that make no sense end with 2, all named at once', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'an unknown command',
      ['frobnicate'],
      ['unknown command "frobnicate"', 'Commands: init, status, history, monitor, doctor, sandbox'],
    ],
    ['a misspelt command', ['analyse'], ['Did you mean analyze?']],
    ['an unknown option', ['analyze', '--jsn'], ['there is no option --jsn. Did you mean --json?']],
    ['a flag with a value', ['analyze', '--json=yes'], ['--json takes no value']],
    ['an option without its value', ['analyze', '--now'], ['--now needs a value']],
    ['an option in the place of a value', ['analyze', '--now', '--json'], ['--now needs a value']],
    [
      'an option given twice',
      ['analyze', '--now', '2026-01-01T00:00:00Z', '--now', '2026-01-01T00:00:00Z'],
      ['--now is given twice'],
    ],
    ['too many files', ['analyze', 'a', 'b', 'c'], ['too many arguments: "b", "c"']],
    ['no file', ['replay'], ['JOURNAL is missing']],
    [
      'an unknown option, a value that is missing, and a wrong one',
      ['analyze', '--jsn', '--now'],
      ['there is no option --jsn', '--now needs a value'],
    ],
    [
      'an unknown option, a wrong issue, nothing to reset, and no checkout',
      ['reset', '--jsn', '--issue', 'main'],
      [
        'there is no option --jsn',
        'circuit or session is missing',
        '"main" is not the number of an issue',
        'there is no checkout.',
      ],
    ],
    [
      'an unknown option, and an unknown setting',
      ['replay', '--jsn', '--set', 'x=1'],
      ['there is no option --jsn', 'JOURNAL is missing', '--set "x"'],
    ],
    ['an empty argument', ['reset', ''], ['"" cannot be reset: expected circuit or session.']],
    [
      'an instant without a zone, and a missing file',
      ['analyze', 'no-such-file', '--now', '2026-01-01T00:00:00'],
      ['--now: "2026-01-01T00:00:00" is not an ISO instant', '"no-such-file" cannot be read: there is no such file'],
    ],
    [
      'a wrong issue, and no checkout',
      ['status', '--issue', '07'],
      ['--issue: "07" is not the number of an issue', 'there is no checkout.'],
    ],
    [
      'an issue by its branch',
      ['pause', '--issue', 'ralph/issue-7'],
      ['"ralph/issue-7" is not the number of an issue'],
    ],
    [
      'something else to reset',
      ['reset', 'everything'],
      ['"everything" cannot be reset: expected circuit or session.'],
    ],
    ['nothing to reset', ['reset'], ['circuit or session is missing']],
    ['an argument for a command that takes none', ['resume', 'queue'], ['too many arguments: "queue"']],
    ['a folder', ['analyze', 'src'], ['"src" is a folder']],
    [
      'several settings, and a missing journal',
      [
        'replay',
        'no-such-file',
        '--set',
        'circuit-no-progres=2',
        '--set',
        'max-iterations=0',
        '--set',
        'session',
        '--set',
        'verify=npm test',
        '--set',
        'session=new',
        '--set',
        'session=fresh',
      ],
      [
        'Did you mean circuit-no-progress?',
        '--set max-iterations: "0" is not a whole number from 1 to 1000',
        '--set "session": expected NAME=VALUE',
        '--set "verify": is not a setting that decisions depend on',
        '--set session: "new" must be one of: resume, task, fresh',
        '--set session: is given twice',
        '"no-such-file" cannot be read',
      ],
    ],
  ])('%s', async (_, args, expected) => {
    const { code, out, error } = await ralph(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    for (const part of expected) expect(error).toContain(part);
  });
});

test("a person's mistake is one sentence, and anything else is Ralph's own fault", async () => {
  const failing = (error: Error): CliCommand => ({
    ...{ name: 'tasks', summary: '', use: 'daily', help: '' },
    run: () => Promise.reject(error),
  });
  let printed = '';
  const terminal: Terminal = {
    stdin: process.stdin,
    out: () => undefined,
    error: (text) => {
      printed += text;
    },
    now: () => 0,
  };
  const run = (error: Error): Promise<number> =>
    runCommand(() => Promise.resolve([failing(error)]), ['tasks'], terminal);
  expect(await run(new UserError('infrastructure', 'git was not found on PATH.'))).toBe(1);
  expect(printed).toBe('ralph tasks: git was not found on PATH.\n');
  await expect(run(new TypeError('x is not a function'))).rejects.toThrow(TypeError);
});
