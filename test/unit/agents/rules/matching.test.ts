import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findRefusedCommands } from '../../../../src/agents/rules/shell-rules.ts';
import { runs } from '../../../runs.ts';
import { AGENTS, DEFAULT_RULES } from './fixtures.ts';

const word = fc.constantFrom(
  ...['git', 'npm', 'make', 'add', 'commit', 'test', 'run', 'testing', '-s', '--x=1', 'a.ts', 'src/a', 'x?y', 'a+b'],
  ...['../x', '/etc/x', '~/x', '"a b"', "'a'", '"add"', '--f=/x', '[a]', 'é', 'cat', 'cd', 'echo', 'ls', '..', 'x..y'],
);
const command = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));
const glued = fc.tuple(command, fc.constantFrom('', '"x"', "'y'", 'x', '.', '/', '-')).map((parts) => parts.join(''));
const rule = fc.oneof(
  command.map((text) => `Bash(${text}:*)`),
  command.map((text) => `Bash(${text} *)`),
  command.map((text) => `Bash(${text})`),
  fc.tuple(command, command).map(([first, last]) => `Bash(${first}*${last})`),
  fc.tuple(command, command).map(([first, last]) => `Bash(${first} * ${last})`),
  command.map((text) => `Bash(${text}*)`),
);

/** Rules, and a command that often begins like one of them. */
const scene = fc
  .tuple(fc.array(rule, { minLength: 1, maxLength: 4 }), glued, glued, fc.nat(3))
  .map(([rules, text, more, index]) => {
    const inner = /^Bash\((.*?)(?::\*| \*)?\)$/.exec(rules[index] ?? '')?.[1]?.replaceAll('*', 'star');
    return {
      rules,
      line:
        inner === undefined ? text : index % 2 === 0 ? inner : `${inner}${more.slice(0, 1) === '.' ? '' : ' '}${more}`,
    };
  });

describe.each(AGENTS)('$name', ({ map, allows }) => {
  test('runs nothing that the rules refuse, of those that it was given one by one', () => {
    fc.assert(
      fc.property(scene, ({ rules, line }) => {
        const given = rules.filter((each) => map([each]).unmapped.length === 0);
        const refused = findRefusedCommands(line, given);
        // `cd` alone leads to the home folder, which is empty.
        fc.pre(given.length > 0 && refused !== null && refused.length > 0 && line !== 'cd');
        expect(allows(given, line), JSON.stringify([given, line])).toBe(false);
      }),
      { numRuns: runs(8_000) },
    );
  });

  test('runs what they allow', () => {
    fc.assert(
      fc.property(scene, ({ rules, line }) => {
        const given = rules.filter((each) => map([each]).unmapped.length === 0);
        fc.pre(given.length > 0 && !READS.test(line) && findRefusedCommands(line, given)?.length === 0);
        expect(allows(given, line), JSON.stringify([given, line])).toBe(true);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

/** Such commands are allowed without a rule; the tables below show which of them each agent runs. */
const READS = /^(?:cd|cat|echo|ls)\b/;

describe.each(AGENTS)('$name with the default rules', ({ map, allows }) => {
  test.each([
    'git add -A',
    'git commit -m "fix: a (b) <c@d.test>"',
    'git diff --stat',
    'git log --oneline -5',
    'git status',
    'npm ci',
    'npm run build -- --prod',
    'npm',
    'pytest -q tests',
    'npm ci && npm test; git add src',
    'npm test 2>&1 | npm run report',
    'npm ci\nnpm test',
  ])('runs %j', (line) => {
    expect(allows(DEFAULT_RULES, line)).toBe(true);
  });

  test.each([
    'git push origin HEAD',
    'git commit-tree x',
    'git addx',
    'gitk',
    'npmx test',
    'curl https://example.test',
    'rm -rf .',
    'sudo npm ci',
    'pytest-watch',
    '"npm test"',
    'npm test; curl x',
    'curl x | npm test',
    'npm ci\ncurl x',
  ])('refuses %j', (line) => {
    expect(allows(DEFAULT_RULES, line)).toBe(false);
  });

  test('leaves none of them out', () => {
    expect(map(DEFAULT_RULES).unmapped).toEqual([]);
  });
});

describe('commands that only read', () => {
  test.each(['ls', 'ls -la src', 'cat src/a.ts', 'head -5 a.ts', 'grep -rn foo src', 'pwd', 'cd src', 'echo done'])(
    'run inside the work tree: %j',
    (line) => {
      for (const { name, allows } of AGENTS.filter(needsRules)) expect(allows(DEFAULT_RULES, line), name).toBe(true);
    },
  );

  test.each([
    ...['cat /etc/passwd', 'cat ~/.netrc', 'cat ../x', 'cat a/../../x', "cat '/etc/x'", 'cat "/etc/x"', 'ls --x=/etc'],
    ...['cat $HOME/x', 'echo x > a', 'grep -f/etc/x a', 'cat {/etc/x,a}', 'cat a\t/etc/x', 'catx a', 'cd ..', 'cd ~'],
    ...['cat `x`', 'cat $(x)', 'cat a\n/etc/x'],
  ])('do not lead out of it: %j', (line) => {
    for (const { name, allows } of AGENTS.filter(needsRules)) expect(allows(DEFAULT_RULES, line), name).toBe(false);
  });

  test('are refused where no command is allowed', () => {
    for (const { name, allows } of AGENTS.filter((agent) => !needsRules(agent)))
      expect(allows(['Read', 'Edit'], 'ls'), name).toBe(false);
  });

  /** Returns true if the agent needs a rule for such commands; the others allow them by themselves. */
  function needsRules({ name }: { readonly name: string }): boolean {
    return name === 'each that asks';
  }
});
