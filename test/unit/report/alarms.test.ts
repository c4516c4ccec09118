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
  expect(listAlarms(shown, 'words')).toEqual([
    '⛔ The agent was denied a tool 4 times. To allow it, add to `allowed-tools`: `Bash(cargo:*)`, `Bash(docker ps:*)`.',
  ]);
});

test('a denied command of several parts comes with the rules of its parts; one that no rule helps is named itself', () => {
  const denied = (command: string | null, tool = 'Bash') =>
    listAlarms(report(limit, { iterations: [entry(1, { analysis: { denials: [{ tool, command }] } })] }), 'words');
  expect(denied('cd app && cargo test | tee log')).toEqual([
    '⛔ The agent was denied a tool. To allow it, add to `allowed-tools`: `Bash(cargo:*)`, `Bash(tee:*)`.',
  ]);
  expect(denied('cd app && npm test')).toEqual([
    '⛔ The agent was denied a tool: `cd app && npm test`. Either each part of such a command is already allowed on its own, or a rule for it would allow far more.',
  ]);
  expect(denied(null, 'AskUserQuestion')).toEqual([]);
});

test('files that were left out are named with the reason, which says what helps', () => {
  const withheld = ['a`b.env', '.github/x.yml', 'c', 'd'].map((path) => ({ path, why: 'it is `big`.' }));
  expect(listAlarms(report(limit, { withheld }), 'words')).toEqual([
    "⚠️ 4 changed files are not in the branch. `a'b.env`, `.github/x.yml`, `c`, `d`: each is 'big'.",
  ]);
});

test('every reason is listed with its files, and those that do not fit are counted', () => {
  const withheld = ['no', 'never', 'no', 'too late'].map((why, n) => ({ path: `${String(n)}.js`, why }));
  expect(listAlarms(report(limit, { withheld }), 'words')).toEqual([
    '⚠️ 4 changed files are not in the branch. `0.js`, `2.js`: no. `1.js`: never. `3.js`: too late.',
  ]);
  const many = Array.from({ length: 300 }, (_, n) => ({ path: `packages/${String(n)}.js`, why: 'no' }));
  const [said = ''] = listAlarms(report(limit, { withheld: [...many, { path: '.env', why: 'never' }] }), 'words');
  expect(said).toMatch(/`packages\/0\.js`, .* and 2\d\d more: no\. `\.env`: never\.$/);
  expect(said.length).toBeLessThan(850);
});

test('a page with the section “Left out” counts the files and leaves it to the section to name them', () => {
  const leftOut = [{ path: 'a.env', why: 'no' }];
  const named = '⚠️ 3 changed files are not in the branch: see “Left out”.';
  expect(listBranchAlarms(report(limit, { change: { ...noChange, leftOut, leftOutMore: 2 } }))).toEqual([named]);
  const withheld = ['a', 'b', 'c'].map((path) => ({ path, why: 'no' }));
  expect(listAlarms(report(limit, { withheld }), 'page')).toEqual([named]);
});

test('a run in which nothing is wrong raises none', () => {
  expect(listAlarms(report(limit), 'words')).toEqual([]);
});
