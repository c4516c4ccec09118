import { expect, test } from 'vitest';
import { UserError } from '../../../src/errors.ts';
import { finisher } from '../stage/behaviours.ts';
import { createProject, runOnce } from '../stage/river.ts';

test('the status comment stands from the first seconds, and is edited as each iteration begins', async () => {
  const project = createProject({ issues: [1, 2], agent: [finisher] });
  const seen: string[] = [];
  const { upsertComment } = project.forge;
  project.forge.upsertComment = (number, marker, body) => {
    seen.push(`#${String(number)}: ${/(at work.*? began|Complete)/.exec(String(body))?.[1] ?? ''}`);
    return upsertComment(number, marker, body);
  };
  const run = await runOnce(project);
  expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 2 });
  expect(seen.slice(0, 2)).toEqual([
    '#1: at work.** Iteration 1 of 10 began',
    '#2: at work.** Iteration 2 of 10 began',
  ]);
  expect(project.forge.comments.get(1)?.size).toBe(1);
});

test('one that cannot be written costs the run nothing', async () => {
  const project = createProject({ issues: [1, 2, 3], agent: [finisher] });
  let tried = 0;
  project.forge.upsertComment = () => {
    tried += 1;
    return Promise.reject(new UserError('infrastructure', 'No.'));
  };
  expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
  // Twice while it worked, and once for each comment at the end.
  expect(tried).toBeLessThanOrEqual(2 + 4 + 1);
});
