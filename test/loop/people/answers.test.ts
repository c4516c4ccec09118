import { describe, expect, test } from 'vitest';
import { stuck } from '../stage/behaviours.ts';
import {
  addIssue,
  commented,
  createProject,
  labeled,
  runOnce,
  schedule,
  senderOf,
  type Event,
} from '../stage/run-action.ts';
import type { Project } from '../stage/project.ts';

/** Returns the comments of a thread without the characters that prevent mentions. */
function commentsOf(project: Project, thread = 1): string {
  return [...(project.forge.comments.get(thread)?.values() ?? [])].join('\n').replaceAll('\u200B', '');
}

async function ask(project: Project, ...words: readonly string[]): Promise<string> {
  for (const command of words) await runOnce(project, { event: commented(`/ralph ${command}`, { issue: 1 }) });
  return commentsOf(project);
}

describe('a person whose requested work ended in the gate gets the reason, and the state of the lane', () => {
  test.each<[string, Event]>([
    ['/ralph run', commented('/ralph run', { issue: 2 })],
    ['the label', labeled(2)],
  ])('%s', async (_, event) => {
    const project = createProject({ issues: [1, 2], inputs: { 'max-calls-per-hour': '1' } });
    await runOnce(project, { event: labeled(1) });
    await runOnce(project, { event });
    expect(commentsOf(project, 2)).toMatch(
      /^<!-- ralph-action:status -->\n\n<!-- ralph-action:answer -->\n\n\*\*Waiting for a limit to reset\.\*\* The hourly limit of 1 call is [^]*\n\n\*\*Next:\*\* Nothing to do: the next scheduled run after that works on the issue[^]*\n\n\*\*Status of issue #2\*\*\n/,
    );
  });

  test('missing parts are all reported', async () => {
    const project = createProject();
    await runOnce(project, { event: labeled(1), hasProviderKey: false });
    expect(commentsOf(project)).toMatch(
      /^<!-- ralph-action:refusal -->\n\n\*\*Failed: configuration; you are needed\.\*\* The run cannot work:\n\n- There is no key for the agent[^]*\n\n\*\*Next:\*\* Fix the problems above/,
    );
  });
});

describe('an order is answered with its result', () => {
  test.each<[readonly string[], string]>([
    [
      ['pause'],
      '**Paused** by @ann: no run works on the queue (all tasks without a branch of their own) until `/ralph resume`.',
    ],
    [
      ['pause', 'pause'],
      '**Already paused**: no run works on the queue (all tasks without a branch of their own) until `/ralph resume`.',
    ],
    [['pause', 'resume'], '**Resumed**: work on the queue (all tasks without a branch of their own) continues.'],
    [['resume'], '**Nothing to resume**: nothing is paused here.'],
    [
      ['reset circuit'],
      '**The circuit was already closed.** The agent begins a new conversation with the next iteration.',
    ],
    [['reset session'], '**No session to reset**: the agent begins a new conversation with the next iteration anyway.'],
  ])('%j', async (words, receipt) => {
    expect(await ask(createProject(), ...words)).toContain(
      `<!-- ralph-action:status -->\n\n<!-- ralph-action:answer -->\n\n${receipt}\n\n**Status of`,
    );
  });
});

test('/ralph help greets the person', async () => {
  expect(await ask(createProject(), 'help')).toMatch(
    /^<!-- ralph-action:status -->\n\n<!-- ralph-action:answer -->\n\nRalph works on open issues with the label `ralph`\./,
  );
});

test('a dispatched help lists the commands in the log, where the person who dispatched it looks', async () => {
  const run = await runOnce(createProject(), {
    event: { name: 'repository_dispatch', payload: { client_payload: { command: 'help' }, sender: senderOf('ann') } },
  });
  expect(run.end).toBe('idle (answered)');
  expect(run.log).toContainEqual(expect.stringContaining('reset circuit: close the circuit'));
});

test('the status names tasks that do not continue by themselves, and why', async () => {
  const project = createProject({
    issues: [1, 2],
    agent: [stuck],
    inputs: { 'max-iterations-per-task': '1', 'max-iterations': '1' },
  });
  await runOnce(project, { event: schedule });
  addIssue(project.forge, 2, { labels: ['ralph', 'ralph:needs-approval'] });
  expect(await ask(project, 'status')).toMatch(
    /- Waits: .*1 \(Title 1\): gave up after 1 iteration\n- Waits: .*2 \(Title 2\): its text was changed after it was approved/,
  );
});
