import { describe, expect, test } from 'vitest';
import { mapCopilotRules } from '../../../../src/agents/copilot/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';

const HIDDEN = '--excluded-tools=web_fetch,web_search,task';
const allowed = (...rules: readonly string[]) =>
  mapCopilotRules(rules).own.flatMap((flag) =>
    flag.startsWith('--allow-tool=') ? [flag.slice('--allow-tool='.length)] : [],
  );

test('the default rules', () => {
  expect(mapCopilotRules(DEFAULT_RULES)).toEqual({
    own: [
      '--allow-tool=write',
      '--allow-tool=shell(git add:*)',
      '--allow-tool=shell(git commit:*)',
      '--allow-tool=shell(git diff:*)',
      '--allow-tool=shell(git log:*)',
      '--allow-tool=shell(git status:*)',
      '--allow-tool=shell(npm:*)',
      '--allow-tool=shell(pytest:*)',
      HIDDEN,
    ],
    unmapped: [],
    allowsMore: null,
  });
});

describe('flags', () => {
  test.each([
    [['Read', 'TodoWrite'], []],
    [['Edit', 'Write'], ['write']],
    [['Bash'], ['shell', 'url']],
    [['Bash(curl:*)'], ['shell(curl:*)', 'url']],
    [
      ['Bash(curl:*)', 'WebFetch(domain:a.test)'],
      ['shell(curl:*)', 'url(https://a.test)'],
    ],
    [['WebFetch'], ['url']],
    [['WebFetch(domain:*.a.test)'], ['url(https://*.a.test)']],
    [['WebFetch(domain:a*.test)'], []],
    [
      ['mcp__db', 'mcp__db2__read'],
      ['db', 'db2(read)'],
    ],
    [['mcp__db__read_*', 'mcp__shell', 'mcp__Write__x'], []],
    [['Bash(npm run build:*)'], ['shell(npm run:*)']],
    [['Bash(npm test)'], ['shell(npm test:*)']],
    [['Bash(git -C src add:*)'], ['shell(git:*)']],
    [['Bash(python -m pytest:*)'], ['shell(python:*)']],
    [['Bash(npm run test*)'], ['shell(npm run:*)']],
    [['Bash(npm*)'], []],
    [['Bash(a,b:*)', 'Bash("x y":*)', 'Bash(:*)'], []],
  ])('of %j', (rules, expected) => {
    expect(allowed(...rules)).toEqual(expected);
  });

  test('a tool that is allowed is not hidden', () => {
    expect(mapCopilotRules(['WebFetch', 'Task']).own.at(-1)).toBe('--excluded-tools=web_search');
    expect(mapCopilotRules(['WebFetch', 'Task', 'WebSearch']).own).toEqual(['--allow-tool=url']);
    expect(mapCopilotRules([]).own).toEqual([HIDDEN]);
  });
});

describe('what differs', () => {
  test.each([
    [['Bash(npm test)'], ['Bash(npm test)'], 'run `npm test` with any arguments'],
    [['Bash(git)', 'Bash(make x:*)'], ['Bash(git)', 'Bash(make x:*)'], 'run `git`, `make` with any arguments'],
    [['Bash(npm run *)', 'Bash(npm run lint)'], ['Bash(npm run lint)'], 'run `npm run` with any arguments'],
    [['Bash(npm test)', 'Bash'], [], null],
    [['Edit(a/**)', 'Bash(*x)'], ['Bash(*x)', 'Edit(a/**)'], 'change every file of the repository'],
    [['Skill', 'mcp__url', 'Read(//x)'], ['Skill', 'mcp__url', 'Read(//x)'], null],
    [['Task', 'WebSearch', 'TodoWrite', 'Read(src/**)'], [], null],
  ])('of %j', (rules, unmapped, allowsMore) => {
    expect(mapCopilotRules(rules)).toMatchObject({ unmapped, allowsMore });
  });
});
