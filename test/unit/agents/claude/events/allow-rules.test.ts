import { describe, expect, test } from 'vitest';
import { kindOfDenialBy, splitCommandLine } from '../../../../../src/agents/rules/shell-rules.ts';

const kindOfDenial = kindOfDenialBy('claude');

describe('a compound of allowed parts', () => {
  test.each([
    ['npm ci 2>&1 | tail -40', ['Bash(npm:*)']],
    ['npm ci 2>&1 | tail -40', ['Bash(npm ci)', 'Bash(tail:*)']],
    ['npm install\nnpm test', ['Bash(npm:*)']],
    ['npm install\r\nnpm test', ['Bash(npm:*)']],
    ['cd app && npm test', ['Bash(npm:*)']],
    ['cd /home/runner/work/app/app && npm test', ['Bash(npm:*)']],
    ['npm ci; npm test || npm run lint', ['Bash(npm *)']],
    ['npm test > /dev/null 2>&1', ['Bash(npm:*)']],
    ['git add -A && git commit -m "a && b; c"', ['Bash(git add:*)', 'Bash(git commit:*)']],
    ['git commit -m "first line\nsecond line"', ['Bash(git commit:*)']],
    ["git commit -m 'costs $5' && git log", ['Bash(git:*)']],
    ['make && ./run', ['Bash']],
    ['npm install && npm test', ['Bash(npm install)', 'Bash(npm test)']],
    ['npm run \\\n  build && npm test', ['Bash(npm:*)']],
    ["# install, don't ask\nnpm ci\nnpm test # all of them", ['Bash(npm:*)']],
    ['npm test && cat src/a.ts ./b..c', ['Bash(npm:*)']],
    ['npm test && cat /etc/hosts', ['Bash(npm:*)', 'Bash(cat:*)']],
    ['npm ci;\nnpm test;\n', ['Bash(npm:*)']],
    ['npm ci # first, $(all)\nnpm test', ['Bash(npm:*)']],
    ['# both\nnpm ci && npm test # $(done)', ['Bash(npm:*)']],
    ['npm test\\\n --all', ['Bash(npm:*)']],
    ['npm ci; npm test', [' Bash( npm:* ) ']],
    ['npm run test --silent && npm ci', ['Bash(npm * --silent)', 'Bash(npm ci)']],
    ['npm run a -w b -s && npm ci', ['Bash(npm * -w * -s)', 'Bash(npm ci)']],
    ['make test && make', ['Bash(*make*)']],
    ['npm ci && npm test', ['Bash(*)']],
    ['npm ci && ls', ['Bash(npm *ci)']],
  ])('%j with %j', (command, rules) => {
    expect(kindOfDenial({ tool: 'Bash', command }, rules)).toBe('compound');
  });
});

describe('a call that is forbidden', () => {
  test.each([
    ['docker ps', ['Bash(npm:*)']],
    ['npm test && curl https://example.test', ['Bash(npm:*)']],
    ['npm test', ['Bash(npm install)']],
    ['npm test && npm ci', ['Bash(npm install)']],
    ['npmx test; npm ci', ['Bash(npm:*)']],
    ['npm test $(curl x)', ['Bash(npm:*)']],
    ['npm test; npm run `curl x`', ['Bash(npm:*)']],
    ['npm test && npm run "$(curl x)"', ['Bash(npm:*)']],
    ['npm test && (npm ci)', ['Bash(npm:*)']],
    ['npm test > package.json; npm ci', ['Bash(npm:*)']],
    ['npm test & npm ci', ['Bash(npm:*)']],
    ['npm ci && npm test <<EOF\nx\nEOF', ['Bash(npm:*)']],
    ['npm test && npm run "unclosed', ['Bash(npm:*)']],
    ['CI=1 npm test && npm ci', ['Bash(npm:*)']],
    ['npm ci && npm test', []],
    ['npm ci && npm test', ['Read', 'bash', 'Bash()']],
    ['npm test', ['Bash(npm:*)']],
    ['npm test\n', ['Bash(npm:*)']],
    ['npm test && cat /etc/shadow', ['Bash(npm:*)']],
    ['npm test && cat "/etc/shadow"', ['Bash(npm:*)']],
    ['npm test && cat ~/.netrc', ['Bash(npm:*)']],
    ['npm test && grep --file=/etc/shadow x', ['Bash(npm:*)']],
    ['cd src/../.. && npm test', ['Bash(npm:*)']],
    ['cd ~ && npm test', ['Bash(npm:*)']],
    ['cd ~/x && npm test', ['Bash(npm:*)']],
    ['cd - && npm test', ['Bash(npm:*)']],
    ['cd && npm test', ['Bash(npm:*)']],
    ['npm test\\\n --all', ['Bash(npm ci)']],
    ['npm ci\n# a comment \\\ncurl x', ['Bash(npm:*)']],
    ['npm ci && npm test x#y', ['Bash(npm:*)']],
    ['; ;', ['Bash(npm:*)']],
    ['npm ci && npm test#$(curl x)', ['Bash(npm:*)']],
    ['npm ci # first\ncurl x', ['Bash(npm:*)']],
    ['npm\\\nci && npm test', ['Bash(npm:*)']],
    ['npm ci && npm test', ['XBash(npm:*)', 'Bash(npm:*)x']],
    ['npm ci && npm test', ['Bash(* npm:*)', 'Bash(npm:* x)']],
    ['npm run test && npm ci', ['Bash(npm * --silent)', 'Bash(npm ci)']],
    ['yarn run --silent && npm ci', ['Bash(npm * --silent)', 'Bash(npm ci)']],
    ['npm run -s && npm ci', ['Bash(npm * -w * -s)', 'Bash(npm ci)']],
    ['npm -w && npm ci', ['Bash(npm -w*-w)', 'Bash(npm ci)']],
    ['npm -w x -w && npm ci', ['Bash(npm *-w*-w*-w)', 'Bash(npm ci)']],
    ['make x && npm ci', ['Bash(mak*make)', 'Bash(npm ci)']],
    ['-x npm && npm ci', ['Bash(npm *-x)', 'Bash(npm ci)']],
  ])('%j with %j', (command, rules) => {
    expect(kindOfDenial({ tool: 'Bash', command }, rules)).toBe('forbidden');
  });

  test.each([
    ['WebFetch', null],
    ['WebFetch', 'npm ci && npm test'],
    ['Bash', null],
  ])('of %s with %j', (tool, command) => {
    expect(kindOfDenial({ tool, command }, ['Bash'])).toBe('forbidden');
  });
});

test.each([
  [{ tool: 'AskUserQuestion', command: null }, 'question'],
  [{ tool: 'AskUserQuestion', command: 'npm ci && npm test' }, 'question'],
  [{ tool: 'Write', command: null }, 'forbidden'],
] as const)('%j has the kind %s', (denial, kind) => {
  expect(kindOfDenial(denial, ['Bash(npm:*)'])).toBe(kind);
});

test.each([
  ['npm ci', ['npm ci'], false],
  ['npm ci | tail -4', ['npm ci', 'tail -4'], true],
  ['npm ci 2>&1', ['npm ci'], true],
  ['x'.repeat(10_000), ['x'.repeat(10_000)], false],
])('%j is made of %j', (command, parts, compound) => {
  expect(splitCommandLine(command)).toEqual({ kind: 'parts', parts, compound });
});

test('a very long command is not judged', () => {
  expect(splitCommandLine('a;'.repeat(100_000))).toEqual({ kind: 'opaque' });
});
