import { describe, expect, test } from 'vitest';
import { isConditionTrue, interpolate } from '../../../testbed/workflow/expressions.ts';

const contexts = {
  github: {
    event_name: 'issues',
    event: { label: { name: 'Ralph' }, issue: { labels: [{ name: 'a' }, { name: 'b' }] } },
  },
  inputs: {},
};

describe('a text', () => {
  test.each([
    ['nothing to evaluate', 'nothing to evaluate'],
    ['${{ github.event_name }}', 'issues'],
    ["a ${{ inputs.command || 'queue' }} b ${{ 1 == 1 }}", 'a queue b true'],
    ['${{ inputs.command }}', ''],
    ["${{ format('{0}}}', 'x') }}", 'x}'],
    ["${{ join(github.event.issue.labels.*.name, ' ') }}", 'a b'],
  ])('%s → %j', (text, expected) => {
    expect(interpolate(text, contexts)).toBe(expected);
  });

  test.each(['${{ secrets.KEY }}', '${{ nothing( }}', "${{ 'unclosed }}"])('%s is an error', (text) => {
    expect(() => interpolate(`x ${text}`, contexts)).toThrow();
  });
});

describe('a condition', () => {
  test.each([
    ['', true],
    ['true', true],
    ['false', false],
    ["github.event.label.name == 'ralph'", true],
    ['${{ !github.event.issue }}', false],
    // Two expressions are a text, and a text that is not empty is true: a common mistake.
    ['${{ false }} && ${{ false }}', true],
    ['${{ false }} ', false],
  ])('%s: %s', (condition, expected) => {
    expect(isConditionTrue(condition, contexts, { status: 'success' })).toBe(expected);
  });

  test('a function of files is answered by the machine', () => {
    const hashFiles = (...paths: readonly string[]): string => (paths.includes('there.yml') ? 'hash' : '');
    for (const [path, expected] of [
      ['there.yml', true],
      ['absent.yml', false],
    ] as const)
      expect(
        isConditionTrue(`hashFiles('${path}') != ''`, contexts, { status: 'success', functions: { hashFiles } }),
      ).toBe(expected);
  });

  test.each([
    ['true', false],
    ['always()', true],
    ['${{ failure() }}', true],
    ['success()', false],
    ["'always()' != ''", false],
  ])('after a failed step, %s: %s', (condition, expected) => {
    expect(isConditionTrue(condition, contexts, { status: 'failure' })).toBe(expected);
  });
});
