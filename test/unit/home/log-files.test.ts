import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogFiles } from '../../../src/home/log-files.ts';
import { RUN_FILES } from '../../../src/home/own-folder.ts';
import { noon } from '../core/core-fixtures.ts';

let top = '';
let logs = '';
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'ralph-logs-'));
  logs = join(top, '.ralph/logs');
  mkdirSync(logs, { recursive: true });
});
afterEach(() => {
  rmSync(top, { recursive: true });
});

/** Writes a line before an iteration and two in it; returns the warnings. */
function write(): readonly string[] {
  const warnings: string[] = [];
  const files = createLogFiles(
    { top, folder: '' },
    { logs: RUN_FILES.logs, now: () => noon, warn: (text) => warnings.push(text) },
  );
  files.line('INFO', 'before');
  files.iterationBegins();
  files.line('LOOP', 'in it');
  files.line('WARN', 'in it as well');
  files.iterationEnds();
  return warnings;
}

const iterationLog = (): string => {
  const [name = ''] = readdirSync(logs).filter((one) => one.startsWith('iteration_'));
  return readFileSync(join(logs, name), 'utf8');
};

test.each([
  [
    'a link',
    (path: string) => {
      symlinkSync(join(top, 'precious'), path);
    },
  ],
  [
    'a folder',
    (path: string) => {
      mkdirSync(path);
    },
  ],
  [
    'a pipe',
    (path: string) => {
      execFileSync('mkfifo', [path]);
    },
  ],
])('%s in the place of ralph.log is named once and left alone, and iterations have their logs', (_, make) => {
  writeFileSync(join(top, 'precious'), 'mine');
  make(join(logs, 'ralph.log'));
  expect(write()).toEqual([
    expect.stringMatching(
      /^The log is not kept in \.ralph\/logs: .*ralph\.log is a link, a folder or a pipe, so it is not written\.$/,
    ),
  ]);
  expect(iterationLog()).toMatch(/\[LOOP\] in it\n.*\[WARN\] in it as well\n$/);
  expect(readFileSync(join(top, 'precious'), 'utf8')).toBe('mine');
});

test('a folder in the place of the older log: the newer one ends there, and iterations have their logs', () => {
  writeFileSync(join(logs, 'ralph.log'), '');
  truncateSync(join(logs, 'ralph.log'), 5 * 1024 * 1024);
  mkdirSync(join(logs, 'ralph.log.1'));
  expect(write()).toEqual([expect.stringContaining('ralph.log.1 is a link, a folder or a pipe')]);
  expect(iterationLog()).toContain('in it as well');
});

test('a log that is full gives way to a new one', () => {
  writeFileSync(join(logs, 'ralph.log'), '');
  truncateSync(join(logs, 'ralph.log'), 5 * 1024 * 1024);
  expect(write()).toEqual([]);
  expect(readFileSync(join(logs, 'ralph.log'), 'utf8').split('\n')).toHaveLength(3);
});

test('logs that is a file is named once', () => {
  rmSync(logs, { recursive: true });
  writeFileSync(logs, 'mine');
  expect(write()).toEqual([expect.stringContaining('.ralph/logs is not a folder')]);
});

test('the folders of other branches that were worked on longest ago are deleted, and nothing else', () => {
  for (let issue = 1; issue <= 22; issue += 1) {
    mkdirSync(join(logs, `issue-${String(issue)}`));
    writeFileSync(join(logs, `issue-${String(issue)}`, 'ralph.log'), 'line\n');
    utimesSync(join(logs, `issue-${String(issue)}`), issue, issue);
  }
  mkdirSync(join(logs, 'mine'));
  utimesSync(join(logs, 'mine'), 0, 0);
  expect(write()).toEqual([]);
  const left = readdirSync(logs, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(left.map(({ name }) => name).filter((name) => /^(?:mine|issue-[123])$/.test(name))).toEqual([
    'issue-3',
    'mine',
  ]);
});
