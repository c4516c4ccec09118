import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { listPullRequestWorkflows } from '../../../../src/core/setup/ci/events.ts';

const PATH = '.github/workflows/ci.yml';
const STEPS = 'jobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm test\n';

describe('the name of a workflow that checks pull requests', () => {
  test.each([
    ['plain', 'name: CI\non: [push, pull_request]\n', 'CI'],
    ['with blanks', 'name: Build and test \non: pull_request\n', 'Build and test'],
    ['in quotes', `name: "Build: all"\non: pull_request\n`, 'Build: all'],
    ['in single quotes', `name: 'Ann''s'\non: pull_request\n`, "Ann's"],
    ['with a comment', 'name: CI # of main\non: pull_request\n', 'CI'],
    ['none: GitHub takes the path', 'on: pull_request\n', PATH],
    ['before a list of events', 'name: CI\non:\n  - push\n', 'CI'],
    ['before a list without indentation', 'name: CI\non:\n- pull_request\n- workflow_dispatch\n', 'CI'],
    ['before a map', 'name: CI\non:\n  # of people\n  pull_request:\n    branches: [main]\n', 'CI'],
    ['before a push to every branch', 'name: CI\non:\n  push:\n    paths: [src/**]\n', 'CI'],
    ['with the key in quotes', 'name: CI\n"on":\n    pull_request:\n', 'CI'],
    ['on the next line', 'name: >-\n  CI\non: pull_request\n', 'CI'],
    ['of Windows', 'name: CI\r\non:\r\n  pull_request:\r\n', 'CI'],
  ])('%s', (_what, text, name) => {
    expect(listPullRequestWorkflows(PATH, text + STEPS)).toEqual([name]);
  });

  test.each([
    ['on a schedule', 'name: CI\non:\n  schedule:\n    - cron: "1 * * * *"\n'],
    ['on pushes to main', 'name: CI\non:\n  push:\n    branches: [main]\n'],
    ['on pushes to main, in one line', 'name: CI\non: { push: { branches: [main] } }\n'],
    ['on tags', 'name: Release\non:\n  push:\n    tags:\n      - v*\n'],
    ['when another one ends', 'name: After\non:\n  workflow_run:\n    workflows: [pull_request]\n'],
    ['never', 'name: CI\n'],
    ['under a name that is an expression', 'name: ${{ github.ref }}\non: pull_request\n'],
    ['under a name of several lines', 'name: |\n  CI\n  too\non: pull_request\n'],
    ['of text that is not YAML', 'name: CI\non: [pull_request\n'],
  ])('none is watched that runs %s', (_when, text) => {
    expect(listPullRequestWorkflows(PATH, text + STEPS)).toEqual([]);
  });

  test('no text makes it throw, or give a name of several lines', () => {
    const line = fc.constantFrom(
      'name: a',
      'on:',
      'on: push',
      '  push:',
      '    branches: [x]',
      '- push',
      '',
      '#',
      "name: '",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(line).map((lines) => lines.join('\n')),
        ),
        (text) => {
          for (const name of listPullRequestWorkflows(PATH, text)) expect(name).not.toMatch(/[\r\n]/);
        },
      ),
    );
  });
});
