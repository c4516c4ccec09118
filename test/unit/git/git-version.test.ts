import { expect, test } from 'vitest';
import { findGitVersionProblem } from '../../../src/git/git.ts';

test.each([
  ['git version 2.34.1', true],
  ['git version 1.9.5', true],
  ['git version 2.37.9\n', true],
  ['git version 2.38.0', false],
  ['git version 2.50.1 (Apple Git-155)', false],
  ['git version 3.0.0', false],
  ['something else', false],
])('%j is too old: %s', (named, isOld) => {
  const problem = findGitVersionProblem(named);
  expect(problem === null).toBe(!isOld);
  if (isOld) expect(problem).toContain(`${named.trim()}, which is too old. Install git 2.38 or newer.`);
});
