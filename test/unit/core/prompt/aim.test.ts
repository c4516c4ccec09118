import { describe, expect, test } from 'vitest';
import { composePrompt, type PromptParts } from '../../../../src/core/prompt/prompt.ts';
import { aimOfStep } from '../../../../src/core/pipeline/pipeline.ts';
import type { Task } from '../../../../src/core/tasks/task.ts';
import { agentStep } from '../pipeline/pipeline-fixtures.ts';
import { promptParts, task } from '../core-fixtures.ts';

const plan: Task['source'] = { kind: 'plan', path: '.ralph/fix_plan.md', line: 3 };
const prompt: Task['source'] = { kind: 'prompt', path: 'PROMPT.md', documents: ['spec.md'] };
const own = { promptTemplate: 'Change nothing.', promptPath: 'review.md', taskPrompt: 'Build a shop.' };

function composed(change: Partial<PromptParts>): string {
  return composePrompt({ ...promptParts, ...own, task: task(1, { source: plan }), ...change });
}

/** The instructions of a call about the task or its list. */
const ORDERS = [/Do this one task/, /Work on this one only/, /Without that mark it does not count/, /^# Your task/m];

test.each<[string, PromptParts['aim'], Task['source'], readonly RegExp[]]>([
  ['does the task', 'task', plan, ORDERS],
  ['has its own prompt', 'step', plan, []],
  ['has its own prompt, and an issue', 'step', task(1).source, []],
  ['comes before every task', 'once', plan, []],
  ['has its own prompt, and no list', 'step', prompt, []],
  ['comes before a prompt', 'once', prompt, []],
])('a call that %s is ordered to do no more than that', (_, aim, source, orders) => {
  const text = composed({ aim, task: task(1, { source }) });
  expect(ORDERS.filter((order) => order.test(text))).toEqual(orders);
  expect(text).toContain('Change nothing.');
});

describe('a step with its own prompt', () => {
  test('learns that its instructions hold, and which step marks a task', () => {
    const text = composed({ aim: 'step', hints: ['no_change'] });
    expect(text).toContain('The instructions of this step stand above: do what they say.');
    expect(text).toContain(
      'A step whose instructions have it finish the task says so there once it is finished, or it does not count as finished: tick',
    );
    expect(text).toContain('Any other step leaves that file alone.');
    expect(text.indexOf('What follows here is about the iteration')).toBeGreaterThan(0);
    expect(text.indexOf('What follows here is about the iteration')).toBeLessThan(
      text.indexOf('The last iteration changed'),
    );
    expect(composed({ aim: 'step' })).not.toContain('What follows here');
  });

  test('does not refer to a prompt above that is not there: it has its text', () => {
    const text = composed({ aim: 'step', task: task(1, { source: prompt }) });
    expect(text).not.toContain('text of PROMPT.md, which stands above');
    expect(text).toMatch(/<<<<< BEGIN TASK-1\nBuild a shop\.\n>>>>> END TASK-1/);
    expect(text).toContain('spec.md');
    expect(composed({ aim: 'task', task: task(1, { source: prompt }) })).not.toContain('Build a shop.');
  });

  test('that protects the list must mark only what it finishes', () => {
    const promptTemplate = 'Do not modify .ralph/. Pick the most important task.';
    expect(composed({ aim: 'step', promptTemplate })).toContain(
      '- If you finish the task, mark its item in .ralph/fix_plan.md anyway.',
    );
    expect(composed({ aim: 'once', promptTemplate })).not.toContain('# What takes precedence');
  });
});

test('a step that comes before every task must neither begin it nor claim it', () => {
  for (const source of [plan, prompt]) {
    const text = composed({ aim: 'once', task: task(1, { source }) });
    expect(text).toContain('Do not begin it.');
    expect(text).not.toMatch(/finish|STATUS: COMPLETE, /);
  }
});

test.each([
  ['task', agentStep('a')],
  ['task', agentStep('a', { marker: { file: 'm', isOnBase: false } })],
  ['step', agentStep('a', { prompt: { path: 'p', text: 'x' } })],
  ['once', agentStep('a', { prompt: { path: 'p', text: 'x' }, marker: { file: 'm', isOnBase: false } })],
])('the calls of a step are for %s', (aim, step) => {
  expect(aimOfStep(step)).toBe(aim);
});
