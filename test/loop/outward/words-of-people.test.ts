import { expect, test } from 'vitest';
import { claimsBlocked, finisher } from '../stage/behaviours.ts';
import { commented, createProject, runOnce } from '../stage/run-action.ts';
import { MINUTE } from '../../unit/core/core-fixtures.ts';

const SECRET = 'hunter2-of-the-job';

test.each([
  ['work that is done', finisher],
  ['a task that needs a person', claimsBlocked],
])('a secret of the job in the words of people is repeated nowhere: %s', async (_what, behaviour) => {
  const project = createProject({
    issues: [1, 2],
    agent: [behaviour],
    inputs: { 'notify-webhook': 'https://hooks.example.test/x', dashboard: 'true' },
  });
  const sent: unknown[] = [];
  project.webhook = (message) => {
    sent.push(message);
    return Promise.resolve(null);
  };
  const { forge, origin, kept } = project;
  const issue = forge.issues.get(1);
  if (issue === undefined) throw new Error('There is no issue.');
  forge.issues.set(1, { ...issue, title: `Log in with ${SECRET}`, body: `Use ${SECRET}` });
  const setting = { redact: (text: string) => text.replaceAll(SECRET, '***') };
  const first = await runOnce(project, setting);
  project.clock.advance(MINUTE);
  const event = commented(`/ralph please use ${SECRET} everywhere`, { issue: 2 });
  const second = await runOnce(project, { ...setting, event });
  expect([first.calls, second.calls, sent.length].every((count) => count > 0)).toBe(true);
  const ours = { ...forge, issues: null };
  const left = textOf([ours, sent, kept, origin.commits, first.report, second.report, first.journal, second.journal]);
  expect([left.includes(SECRET), left.includes('Log in with ***')]).toEqual([false, true]);
});

function textOf(data: unknown): string {
  return JSON.stringify(data, (_name, value: unknown) => (value instanceof Map ? [...value] : value));
}
