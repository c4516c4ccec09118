import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rememberActionFiles } from '../../../src/runner/action-files.ts';
import { createJournalFile } from '../../../src/runner/journal-file.ts';
import { createRunnerFiles } from '../../../src/runner/workspace-files.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-runner-files-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const attacks: readonly [string, (path: string) => void][] = [
  [
    'a line more',
    (path) => {
      appendFileSync(path, 'PATH=/tmp/evil\n');
    },
  ],
  [
    'another content',
    (path) => {
      writeFileSync(path, 'x');
    },
  ],
  [
    'nothing',
    (path) => {
      writeFileSync(path, '');
    },
  ],
  [
    'no file',
    (path) => {
      rmSync(path);
    },
  ],
  [
    'a folder',
    (path) => {
      rmSync(path);
      mkdirSync(path);
      writeFileSync(join(path, 'x'), '');
    },
  ],
  [
    'a link to a file that grows',
    (path) => {
      rmSync(path);
      writeFileSync(`${path}.other`, 'x');
      symlinkSync(`${path}.other`, path);
    },
  ],
  [
    'a named pipe',
    (path) => {
      rmSync(path);
      execFileSync('mkfifo', [path]);
    },
  ],
];

describe("the runner's files", () => {
  const path = (name: string): string => join(folder, name);
  const lay = () => {
    const names = ['GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'];
    for (const name of names) writeFileSync(path(name), `${name} before\n`);
    const heard: string[] = [];
    const files = createRunnerFiles(Object.fromEntries(names.map((name) => [name, path(name)])), (name) => {
      heard.push(name);
    });
    return { files, heard };
  };

  test.each(attacks)('hold what was in them again after %s', (_, attack) => {
    const { files, heard } = lay();
    attack(path('GITHUB_ENV'));
    expect(files.putBack()).toEqual(['GITHUB_ENV']);
    expect(lstatSync(path('GITHUB_ENV')).isFile()).toBe(true);
    expect(readFileSync(path('GITHUB_ENV'), 'utf8')).toBe('GITHUB_ENV before\n');
    expect(heard).toEqual(['GITHUB_ENV']);
    expect(files.putBack()).toEqual([]);
  });

  test.each(attacks)('get what we write, and nothing else, after %s', (_, attack) => {
    const { files } = lay();
    attack(path('GITHUB_OUTPUT'));
    files.write(() => {
      appendFileSync(path('GITHUB_OUTPUT'), 'outcome=complete\n');
    });
    expect(files.putBack()).toEqual([]);
    expect(readFileSync(path('GITHUB_OUTPUT'), 'utf8')).toBe('GITHUB_OUTPUT before\noutcome=complete\n');
  });

  test('do not follow who still has the old file open', () => {
    const { files } = lay();
    linkSync(path('GITHUB_PATH'), path('kept'));
    appendFileSync(path('GITHUB_PATH'), '/tmp/evil\n');
    files.putBack();
    appendFileSync(path('kept'), '/tmp/later\n');
    expect(readFileSync(path('GITHUB_PATH'), 'utf8')).toBe('GITHUB_PATH before\n');
  });

  test('are all looked at, and nothing is left beside them', () => {
    const { files } = lay();
    const before = readdirSync(folder);
    for (const name of before) appendFileSync(path(name), 'more');
    expect(files.putBack()).toHaveLength(5);
    expect(readdirSync(folder)).toEqual(before);
  });

  test('that the runner does not name are not made', () => {
    expect(createRunnerFiles({ GITHUB_ENV: '' }, () => undefined).putBack()).toEqual([]);
  });
});

describe("the action's own files", () => {
  const lay = () => {
    mkdirSync(join(folder, 'dist', 'cli'), { recursive: true });
    writeFileSync(join(folder, 'dist', 'main.js'), 'main');
    writeFileSync(join(folder, 'dist', 'cli', 'index.js'), 'cli', { mode: 0o755 });
    return rememberActionFiles(folder);
  };

  const contents = () => ['main.js', 'cli/index.js'].map((name) => readFileSync(join(folder, 'dist', name), 'utf8'));

  test.each(attacks)('are put back after %s', (_, attack) => {
    const files = lay();
    attack(join(folder, 'dist', 'cli', 'index.js'));
    expect(files.putBack()).toContain('cli/index.js');
    expect(contents()).toEqual(['main', 'cli']);
    expect(lstatSync(join(folder, 'dist', 'cli', 'index.js')).mode & 0o777).toBe(0o755);
    expect(files.putBack()).toEqual([]);
  });

  test('a new file among them is removed, a folder that was removed is back', () => {
    const files = lay();
    writeFileSync(join(folder, 'dist', 'package.json'), '{}');
    rmSync(join(folder, 'dist', 'cli'), { recursive: true });
    expect(files.putBack()).toEqual(['cli/index.js', 'package.json']);
    expect(contents()).toEqual(['main', 'cli']);
    expect(readdirSync(join(folder, 'dist')).sort()).toEqual(['cli', 'main.js']);
  });
});

test('a named pipe or a link in place of the journal is an error, and holds nothing up', () => {
  const journal = createJournalFile(folder, () => undefined);
  const path = join(folder, 'journal.jsonl');
  execFileSync('mkfifo', [path]);
  expect(() => {
    journal.append('{}');
  }).toThrow('journal could not be written');
  rmSync(path);
  writeFileSync(join(folder, 'elsewhere'), '');
  symlinkSync(join(folder, 'elsewhere'), path);
  expect(() => {
    journal.append('{}');
  }).toThrow('journal could not be written');
  expect(readFileSync(join(folder, 'elsewhere'), 'utf8')).toBe('');
});
