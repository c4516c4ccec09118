import { describe, expect, test } from 'vitest';
import { judgeDenials } from '../../src/core/denials.ts';
import { shellParts } from '../../src/core/shell-parts.ts';

const judge = (command: string, allowedTools: readonly string[]) => judgeDenials([{ tool: 'Bash', command }], false, { allowedTools, onPermissionDenied: 'count' });

describe('a compound of allowed parts is advice, not a denial', () => {
  test.each([
    ['npm ci 2>&1 | tail -40', ['Bash(npm:*)']],
    ['npm ci 2>&1 | tail -40', ['Bash(npm ci)', 'Bash(tail:*)']],
    ['npm install\nnpm test', ['Bash(npm:*)']],
    ['npm install\r\nnpm test', ['Bash(npm:*)']],
    ['cd app && npm test', ['Bash(npm:*)']],
    ['npm ci; npm test || npm run lint', ['Bash(npm *)']],
    ['npm test > /dev/null 2>&1', ['Bash(npm:*)']],
    ['git add -A && git commit -m "a && b; c"', ['Bash(git add:*)', 'Bash(git commit:*)']],
    ['git commit -m "first line\nsecond line"', ['Bash(git commit:*)']],
    ["git commit -m 'costs $5' && git log", ['Bash(git:*)']],
    ['make && ./run', ['Bash']],
    ['npm install && npm test', ['Bash(npm install)', 'Bash(npm test)']],
    ['npm run \\\n  build && npm test', ['Bash(npm:*)']],
  ])('%j with %j', (command, rules) => {
    const judged = judge(command, rules);
    expect(judged.counted).toBe(0);
    expect(judged.advice).toHaveLength(1);
  });
});

describe('a real denial', () => {
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
  ])('%j with %j', (command, rules) => {
    expect(judge(command, rules)).toMatchObject({ counted: 1, advice: [] });
  });

  test('of another tool', () => {
    expect(judgeDenials([{ tool: 'WebFetch', command: null }], false, { allowedTools: ['Bash'], onPermissionDenied: 'count' }).counted).toBe(1);
  });
});

const docker = { tool: 'Bash', command: 'docker ps' };
const question = { tool: 'AskUserQuestion', command: null };

test.each([
  ['after progress is noted, not counted', [docker], true, 'count', 0, false],
  ['with on-permission-denied: continue is not counted', [docker], false, 'continue', 0, false],
  ['with halt is counted', [docker], false, 'halt', 1, false],
  ['of the question tool alone is a question', [question], false, 'count', 0, true],
  ['of the question tool and a command is a denial', [question, docker], false, 'count', 1, false],
] as const)('a denial %s', (_, denials, progress, onPermissionDenied, counted, askedOnly) => {
  expect(judgeDenials(denials, progress, { allowedTools: [], onPermissionDenied })).toMatchObject({ counted, askedOnly });
});

test('advice is one line and short, whatever the command holds', () => {
  const [advice = ''] = judge(`npm ci\nnpm run ${'x'.repeat(5_000)}`, ['Bash(npm:*)']).advice;
  expect(advice).not.toContain('\n');
  expect(advice.length).toBeLessThan(400);
});

test('a very long command is not judged', () => {
  expect(shellParts('a;'.repeat(100_000))).toEqual({ kind: 'opaque' });
});
