import { expect, test } from 'vitest';
import { LEFT_OUT_CLAUSES, isNamedIn, isPartOfTask } from '../../../../src/core/review/left-out.ts';

test.each<[string, string, string, boolean]>([
  ['.github/workflows/ci.yml', LEFT_OUT_CLAUSES.protected, 'Speed up the tests', true],
  ['CODEOWNERS', LEFT_OUT_CLAUSES.protected, 'Anything', true],
  ['.claude/settings.local.json', LEFT_OUT_CLAUSES.protected, 'Speed up the tests', false],
  ['.claude/settings.local.json', LEFT_OUT_CLAUSES.protected, 'Set up Claude Code for this repository', true],
  ['.mcp.json', LEFT_OUT_CLAUSES.protected, 'Add an MCP server', true],
  ['.vscode/settings.json', LEFT_OUT_CLAUSES.protected, 'Speed up the tests', false],
  ['data/dump.sql', LEFT_OUT_CLAUSES.patch, 'Speed up the tests', false],
  ['data/dump.sql', LEFT_OUT_CLAUSES.patch, 'Check in data/dump.sql', true],
  ['src/key.ts', LEFT_OUT_CLAUSES.key, 'Rename the button', false],
])('%s (%s) is part of “%s”: %s', (path, why, text, expected) => {
  expect(isPartOfTask({ path, why: `${why}.` }, text)).toBe(expected);
});

test.each([
  ['Fix .GitHub/Workflows/CI.yml', '.github/workflows/ci.yml', true],
  ['Run the build in GitHub Actions', '.github/workflows/ci.yml', true],
  ['Use line endings of Unix', '.gitattributes', true],
  ['a', 'src/a', false],
])('“%s” names %s: %s', (text, path, expected) => {
  expect(isNamedIn(text, path)).toBe(expected);
});
