import { describe, expect, test } from 'vitest';
import { judgeRules } from '../../../../src/core/agents/rules-verdict.ts';

const codex = { unmapped: ['Bash(git add:*)', 'Bash(npm:*)'], allowsMore: 'run every command inside its sandbox' };
const MORE =
  'Codex may also run every command inside its sandbox, because it has no counterpart for `Bash(git add:*)`, `Bash(npm:*)`.';

describe('before the first call', () => {
  test.each(['namespace', 'user', 'sandbox', 'none'] as const)('rules that all have a counterpart at %s', (level) => {
    expect(judgeRules('Codex', { unmapped: [], allowsMore: null }, level)).toEqual({ kind: 'fine' });
  });

  test.each(['namespace', 'user', 'sandbox', 'none'] as const)('an agent that may do less at %s', (level) => {
    expect(judgeRules('Gemini CLI', { unmapped: ['Skill'], allowsMore: null }, level)).toEqual({
      kind: 'warned',
      text: 'Gemini CLI has no counterpart for `Skill`, and works without it.',
    });
  });

  test.each(['namespace', 'user', 'sandbox'] as const)('an agent that may do more at %s', (level) => {
    expect(judgeRules('Codex', codex, level)).toEqual({
      kind: 'warned',
      text: `${MORE} The isolation level \`${level}\` limits it instead.`,
    });
  });

  test('an agent that may do more without isolation', () => {
    expect(judgeRules('Codex', codex, 'none')).toEqual({
      kind: 'refused',
      text: `${MORE} Without isolation, nothing else restricts it to \`allowed-tools\`. Set \`isolation: user\` or \`isolation: namespace\`, or allow \`Bash\` as a whole.`,
    });
  });

  test('`Bash` is not a remedy where it is not about commands', () => {
    const verdict = judgeRules('X', { unmapped: ['Edit(src/**)'], allowsMore: 'change every file' }, 'none');
    expect(verdict).toMatchObject({
      kind: 'refused',
      text: expect.stringMatching(/`isolation: namespace`\.$/) as string,
    });
  });

  test('a program of the user', () => {
    expect(judgeRules('The program', { unmapped: [], allowsMore: 'do everything' }, 'user')).toEqual({
      kind: 'warned',
      text: 'The program may also do everything. The isolation level `user` limits it instead.',
    });
  });

  test('rules are many, long, or break out of their marks', () => {
    const unmapped = [
      'Bash(a`b)',
      `Bash(${'x'.repeat(200)})`,
      'Bash(a\nb)',
      'Bash(c)',
      'Bash(d)',
      'Bash(e)',
      'Bash(f)',
    ];
    expect(judgeRules('Codex', { unmapped, allowsMore: null }, 'user')).toEqual({
      kind: 'warned',
      text: `Codex has no counterpart for \`Bash(a'b)\`, \`Bash(${'x'.repeat(74)}…\`, \`Bash(a b)\`, \`Bash(c)\`, \`Bash(d)\` and 2 more, and works without it.`,
    });
  });
});
