import { describe, expect, test } from 'vitest';
import { mapCodexRules } from '../../../../src/agents/codex/tool-rules.ts';
import { DEFAULT_RULES } from '../rules/fixtures.ts';

const map = (...rules: readonly string[]) => mapCodexRules(rules, { gitFolder: '/repo/.git' });
const WITH_NETWORK = 'run every command inside its sandbox, with the network';
const WITHOUT_NETWORK = 'run every command inside its sandbox, without the network';
const OPEN = { mode: 'workspace-write', networkAccess: true, writableRoots: ['/repo/.git'] };

describe('the sandbox', () => {
  test.each([
    [[], { mode: 'read-only', networkAccess: false, writableRoots: [] }],
    [['Read', 'Grep', 'TodoWrite'], { mode: 'read-only', networkAccess: false, writableRoots: [] }],
    [['Read', 'Edit'], { mode: 'workspace-write', networkAccess: false, writableRoots: [] }],
    [['Write'], { mode: 'workspace-write', networkAccess: false, writableRoots: [] }],
    [['Read', 'Bash(npm:*)'], { mode: 'workspace-write', networkAccess: true, writableRoots: [] }],
    [['Bash(git status:*)'], { mode: 'workspace-write', networkAccess: true, writableRoots: [] }],
    [['Bash(git commit:*)'], OPEN],
    [['Bash(git add -A)'], OPEN],
    [['Bash(git *)'], OPEN],
    [['Bash'], OPEN],
  ])('of %j', (rules, sandbox) => {
    expect(map(...rules).own).toEqual(sandbox);
  });
});

describe('what differs', () => {
  test.each([
    [[], [], null],
    [['Read', 'Glob', 'TodoWrite'], [], null],
    [['Edit'], [], WITHOUT_NETWORK],
    [['Bash'], [], null],
    [['Bash', 'Bash(npm:*)'], ['Bash(npm:*)'], null],
    [['Read', 'Bash(npm:*)'], ['Bash(npm:*)'], WITH_NETWORK],
    [['Edit(src/**)'], ['Edit(src/**)'], `${WITHOUT_NETWORK}, and change every file of the repository`],
    [['Read', 'WebSearch', 'mcp__db', 'Skill', 'Task'], ['Skill', 'Task'], null],
    [['Read(~/notes)', 'Read(src/**)'], ['Read(~/notes)'], null],
  ])('of %j', (rules, unmapped, allowsMore) => {
    expect(map(...rules)).toMatchObject({ unmapped, allowsMore });
  });

  test('of the default rules', () => {
    expect(map(...DEFAULT_RULES)).toEqual({
      own: OPEN,
      unmapped: DEFAULT_RULES.filter((rule) => rule.startsWith('Bash(')),
      allowsMore: WITH_NETWORK,
    });
  });
});
