import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { events } from '../../../testbed/testbed.ts';
import { createScene } from '../e2e-fixture.ts';

const templateOf = (name: string): string =>
  readFileSync(new URL(`../../../templates/workflows/${name}`, import.meta.url), 'utf8');
const workflow = templateOf('ralph.yml');

const tasks = [
  { title: 'Count ducks', done: 'They are counted', files: ['src/ducks.js'], tests: [], dependsOn: [], ceilingUsd: 2 },
  { title: 'Count geese', done: 'They are counted', files: [], tests: [], dependsOn: [1], ceilingUsd: 2 },
];
const proposes: Behaviour = { kind: 'play', files: {}, message: `\`\`\`json\n${JSON.stringify({ tasks })}\n\`\`\`` };

test('the workflow to paste: a label proposes, an approval makes, and the next run works on what was approved', async () => {
  await using scene = await createScene();
  const { github } = scene.testbed;
  const issue = scene.openIssue('A large thing', []);
  const asked = await scene.play({ workflow, event: events.labeled(issue, 'ralph:plan'), agent: [proposes] });
  expect(asked.calls).toBe(1);
  expect(scene.commentsOn(issue.number).at(-1)?.body).toContain(
    '**2 sub-tasks proposed,** for at most $4.00 together.',
  );

  const comment = events.comment(github, { issue, body: '/ralph approve' });
  const approved = await scene.play({ workflow, event: comment });
  expect(approved.calls).toBe(0);
  const [ducks, geese] = github.state.issues.slice(1);
  expect([ducks?.title, geese?.title]).toEqual(['Count ducks', 'Count geese']);
  expect(issue.subIssues).toEqual([{ number: ducks?.number }, { number: geese?.number }]);
  expect(geese?.blockedBy).toEqual([{ number: ducks?.number }]);

  await scene.play({ workflow, event: events.schedule() });
  expect(scene.pullOf('ralph/queue').body).toMatch(
    new RegExp(`Closes #${String(ducks?.number)}[^]*Closes #${String(geese?.number)}`),
  );
  expect(issue.state).toBe('open');
});

test('three jobs: the loop hands over words, and the job that publishes shows them', async () => {
  await using scene = await createScene();
  const issue = scene.openIssue('A large thing', []);
  const event = events.labeled(issue, 'ralph:plan');
  const played = await scene.play({ workflow: templateOf('three-jobs.yml'), event, agent: [proposes] });
  expect(played.calls).toBe(1);
  expect(scene.commentsOn(issue.number).map(({ body }) => body)).toEqual([
    expect.stringContaining('**2 sub-tasks proposed,** for at most $4.00 together.'),
  ]);
  expect(await scene.testbed.git('for-each-ref', '--format=%(refname)', 'refs/heads/ralph')).toBe('');
});
