import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  composeProposalPrompt,
  MAX_PROPOSED_TASKS,
  orderOfWork,
  parseProposal,
} from '../../../../src/core/proposal/proposal.ts';
import { taskOfIssue } from '../../../../src/core/tasks/issue-task.ts';

const task = (more: object = {}) => ({ title: 'Prices', done: 'They are there', ceilingUsd: 2, ...more });
const json = (...tasks: readonly unknown[]): string => JSON.stringify({ tasks });
const fenced = (text: string): string => `Here it is.\n\n\`\`\`json\n${text}\n\`\`\`\n`;

describe('the words of an agent', () => {
  test.each([
    ['bare', json(task())],
    ['in a fence', fenced(json(task()))],
    ['in lines', fenced(JSON.stringify({ tasks: [task()] }, null, 2))],
    ['after an example that it repeats', `${fenced(json(task({ title: 'Example' })))}${fenced(json(task()))}`],
    ['with a remark that has braces', `Like \`{}\`: ${fenced(json(task()))}`],
  ])('are a proposal: %s', (_what, words) => {
    expect(parseProposal(words)).toEqual({
      kind: 'proposal',
      tasks: [{ title: 'Prices', done: 'They are there', files: [], tests: [], dependsOn: [], ceilingUsd: 2 }],
    });
  });

  test.each<[string, string, RegExp]>([
    ['nothing', '', /does not end with a JSON object/],
    ['prose', 'I could not decide.', /does not end with a JSON object/],
    ['a broken object', '{"tasks": [', /does not end with a JSON object/],
    ['no sub-task', json(), /must be 1 to 12 of them/],
    ['a thousand sub-tasks', json(...Array.from({ length: 1000 }, () => task())), /must be 1 to 12 of them/],
    ['one too many', json(...Array.from({ length: MAX_PROPOSED_TASKS + 1 }, () => task())), /must be 1 to 12 of them/],
    ['a text in place of a sub-task', json('Prices'), /: number 1 does not have the requested form/],
    ['an empty title', json(task({ title: ' \u200B ' })), /`title` of number 1 does not/],
    ['no way to see that it is done', json(task({ done: undefined })), /`done` of number 1 does not/],
    ['a negative ceiling', json(task({ ceilingUsd: -1 })), /`ceilingUsd` of number 1 does not/],
    ['no ceiling', json(task({ ceilingUsd: undefined })), /`ceilingUsd` of number 1 does not/],
    ['a ceiling of nothing', json(task({ ceilingUsd: 0 })), /`ceilingUsd` of number 1 does not/],
    ['a huge ceiling', json(task({ ceilingUsd: 1e300 })), /`ceilingUsd` of number 1 does not/],
    ['a ceiling in words', json(task({ ceilingUsd: '2' })), /`ceilingUsd` of number 1 does not/],
    ['a dependency on itself', json(task({ dependsOn: [1] })), /depend on each other/],
    ['a cycle', json(task({ dependsOn: [2] }), task({ dependsOn: [1] })), /depend on each other/],
    ['a dependency outside of the list', json(task({ dependsOn: [3] })), /or on sub-tasks that are not in the list/],
    ['a dependency on an issue', json(task({ dependsOn: ['#3'] })), /`dependsOn` of number 1 does not/],
  ])('are not a proposal: %s', (_what, words, why) => {
    expect(parseProposal(words)).toEqual({ kind: 'unusable', why: expect.stringMatching(why) as string });
  });

  test('are capped, on one line, and without characters that nobody sees', () => {
    const words = json(
      task({
        title: `A\n\u202EB ${'x'.repeat(500)}`,
        done: 'y'.repeat(5_000),
        files: Array.from({ length: 99 }, (_, at) => `src/${'z'.repeat(300)}${String(at)}`),
        ceilingUsd: 1.006,
      }),
    );
    const parsed = parseProposal(words);
    if (parsed.kind !== 'proposal') throw new Error(parsed.why);
    const [one] = parsed.tasks;
    expect(one?.title).toMatch(/^A B x+…$/);
    expect([one?.title.length, one?.done.length, one?.files.length, one?.files[0]?.length]).toEqual([
      120, 1000, 10, 200,
    ]);
    expect(one?.ceilingUsd).toBe(1.01);
  });

  test('never make the parser throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => `{"tasks": ${text}}`),
        ),
        (words) => {
          expect(['proposal', 'unusable']).toContain(parseProposal(words).kind);
        },
      ),
    );
  });
});

test.each<[readonly (readonly number[])[], readonly number[] | null]>([
  [
    [[], []],
    [0, 1],
  ],
  [
    [[2], []],
    [1, 0],
  ],
  [
    [[3], [1], []],
    [2, 0, 1],
  ],
  [[[2], [1]], null],
  [[[], [9]], null],
])('the order of %j is %j', (dependsOn, order) => {
  expect(orderOfWork(dependsOn.map((one) => ({ dependsOn: one })))).toEqual(order);
});

describe('the prompt', () => {
  const issue = { number: 7, url: '', labels: [], blockedBy: 0, openSubIssues: 0, title: 'Prices', body: '' };
  const prompt = composeProposalPrompt(
    { ...taskOfIssue(issue), body: 'In all currencies', comments: [{ by: 'ann', text: 'Euro first' }] },
    ['.ralph/AGENT.md'],
  );

  test('has the issue and its comments as data', () => {
    expect(prompt).toMatch(/<<<<< BEGIN TASK-1\nPrices\n\nIn all currencies\n>>>>> END TASK-1/);
    expect(prompt).toMatch(/<<<<< BEGIN COMMENTS-1\nann:\n {2}Euro first\n>>>>> END COMMENTS-1/);
  });

  test('shows an example that is a proposal', () => {
    const [, example = ''] = /```json\n([^`]+)\n```/.exec(prompt) ?? [];
    expect(parseProposal(example)).toMatchObject({ kind: 'proposal', tasks: [{ dependsOn: [] }, { dependsOn: [1] }] });
  });
});
