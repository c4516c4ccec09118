import { expect, test } from 'vitest';
import { noChange } from '../../../src/core/lane/change.ts';
import { listAlarms, listBranchAlarms } from '../../../src/report/sentences/alarms.ts';
import { entry, report } from './fixtures.ts';

const limit = { kind: 'limit', reason: 'iterations' } as const;

test('denied tools come with the rule that allows them, grouped', () => {
  const denied = (iteration: number, command: string) =>
    entry(iteration, { analysis: { denials: [{ tool: 'Bash', command }] } });
  const shown = report(limit, {
    iterations: [
      denied(1, 'cargo test'),
      denied(2, 'cargo build'),
      denied(3, 'docker ps'),
      denied(4, 'npm x && cargo test'),
    ],
  });
  expect(listAlarms(shown)).toEqual([
    '⛔ The agent was denied a tool 4 times. To allow it, add to `allowed-tools`: `Bash(cargo:*)`, `Bash(docker ps:*)`.',
  ]);
});

test('a denied command of several parts comes with the rules of its parts; one that no rule helps is named itself', () => {
  const denied = (command: string | null, tool = 'Bash') =>
    listAlarms(report(limit, { iterations: [entry(1, { analysis: { denials: [{ tool, command }] } })] }));
  expect(denied('cd app && cargo test | tee log')).toEqual([
    '⛔ The agent was denied a tool. To allow it, add to `allowed-tools`: `Bash(cargo:*)`, `Bash(tee:*)`.',
  ]);
  expect(denied('cd app && npm test')).toEqual([
    '⛔ The agent was denied a tool: `cd app && npm test`. Either each part of such a command is already allowed on its own, or none of it should be.',
  ]);
  expect(denied(null, 'AskUserQuestion')).toEqual([]);
});

test('files that were left out are named with the reason, which says what helps', () => {
  const withheld = ['a`b.env', '.github/x.yml', 'c', 'd'].map((path) => ({ path, why: 'it is `big`.' }));
  expect(listAlarms(report(limit, { withheld }))).toEqual([
    "⚠️ 4 changed files are not in the branch. `a'b.env`, `.github/x.yml`, `c` and 1 more: each is 'big'.",
  ]);
});

test('of many reasons the first two are listed, with the number of files that have another', () => {
  const withheld = ['no', 'never', 'no', 'too late', 'stop'].map((why, n) => ({ path: `${String(n)}.js`, why }));
  expect(listAlarms(report(limit, { withheld }))).toEqual([
    '⚠️ 5 changed files are not in the branch. `0.js`, `2.js`: no. `1.js`: never. For 2 more, see “Left out”.',
  ]);
});

test('a branch says what it lacks over all runs', () => {
  const leftOut = [{ path: 'a.env', why: 'no' }];
  expect(listBranchAlarms(report(limit, { change: { ...noChange, leftOut, leftOutMore: 2 } }))).toEqual([
    '⚠️ 3 changed files are not in the branch. `a.env`: no. For 2 more, see “Left out”.',
  ]);
});

test('a run in which nothing is wrong raises none', () => {
  expect(listAlarms(report(limit))).toEqual([]);
});
