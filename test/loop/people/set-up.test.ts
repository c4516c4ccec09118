import { expect, test } from 'vitest';
import { createRemedy, okFinding, problemFinding, uncheckedFinding } from '../../../src/core/doctor/finding.ts';
import { commented, createProject, runOnce, senderOf, type Event } from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';

const findings = [
  okFinding('inputs', 'Every input is an input of the action.'),
  problemFinding(
    'label',
    'The label does not exist. @octo',
    createRemedy('Create it.', { paste: 'gh label create ralph' }),
  ),
  uncheckedFinding(
    'secret',
    'It cannot be seen.',
    createRemedy('Make sure that it exists.', { link: 'https://github.com/acme/shop' }),
  ),
];
const dispatched: Event = {
  name: 'repository_dispatch',
  payload: { client_payload: { command: 'doctor' }, sender: senderOf('ann') },
};

function comments(project: Project): readonly string[] {
  return [...(project.forge.comments.get(1)?.values() ?? [])];
}

test('/ralph doctor answers in the status comment, worst first; with a problem the run fails, and nobody is notified', async () => {
  const project = { ...createProject(), findings };
  const run = await runOnce(project, { event: commented('/ralph doctor', { issue: 1 }) });
  expect(run.end).toBe('failed (configuration)');
  expect(comments(project)).toHaveLength(1);
  expect(comments(project)[0]).toMatch(
    /^<!-- ralph-action:status -->\n\n<!-- ralph-action:answer -->\n\n\*\*Set-up:\*\* ✗ 1 problem, ⚠ 1 not checked\n\n- ✗ The label does not exist\. .*`gh label create ralph`\n- ⚠ It cannot be seen\.[^\n]*\n\n<details>\n<summary>1 check fine<\/summary>/,
  );
  expect(comments(project)[0]).not.toContain('@octo');
  expect(run.log).not.toContainEqual(expect.stringContaining('labels of'));
});

test('without a problem it is answered like any command, and again in the same comment', async () => {
  const project = { ...createProject(), findings: findings.slice(0, 1) };
  const event = commented('/ralph doctor', { issue: 1 });
  expect((await runOnce(project, { event })).end).toBe('idle (answered)');
  expect((await runOnce(project, { event })).end).toBe('idle (answered)');
  expect(comments(project)).toMatchObject([expect.stringContaining('✓ Nothing stops a run.')]);
});

test('a dispatched doctor writes no comment', async () => {
  const project = { ...createProject(), findings };
  expect((await runOnce(project, { event: dispatched })).end).toBe('failed (configuration)');
  expect(comments(project)).toEqual([]);
});

test('a person without permission is refused', async () => {
  const project = { ...createProject(), findings };
  const run = await runOnce(project, { event: commented('/ralph doctor', { issue: 1, login: 'eve' }) });
  expect(run.end).toBe('refused (not_allowed)');
});
