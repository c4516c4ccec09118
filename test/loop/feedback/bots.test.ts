import { describe, expect, test } from 'vitest';
import type { ThreadNow } from '../../../src/core/feedback/pull-request-now.ts';
import type { Project } from '../stage/project.ts';
import { commented, savedState, schedule } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';
import { BRANCH, HOUR, next, notices, remembered, reviewed, worker } from './reviewing.ts';
import { comment, person, review, thread } from './said.ts';

const bot = { login: 'critic[bot]', id: 77, kind: 'bot' as const };
const WORKED = 'complete (plan_complete), 1 calls';
const REST = 'blocked (needs_human), 0 calls';

/** Creates a project whose queue accepts feedback of a review bot and has a pull request. */
async function withBot(inputs: Readonly<Record<string, string>> = {}): Promise<Project> {
  const project = await reviewed(worker, { 'allowed-bots': 'critic[bot]', ...inputs });
  project.forge.accounts.set('critic[bot]', bot);
  return project;
}

/** Adds threads by the bot or another account to the existing ones. */
function opens({ forge }: Project, ids: readonly number[], by: typeof bot | ReturnType<typeof person> = bot): void {
  const said = forge.saidOf.get(BRANCH);
  const more: readonly ThreadNow[] = ids.map((id) => thread([comment(id, `Rename ${String(id)}.`, { by })]));
  forge.saidOf.set(BRANCH, { ...said, reviews: [review({ by })], threads: [...(said?.threads ?? []), ...more] });
}

async function ends(project: Project, event?: Parameters<typeof next>[1]): Promise<string> {
  const { end, calls } = await next(project, event);
  return `${end}, ${String(calls)} calls`;
}

describe('a bot that opens a new thread after every push', () => {
  test('is answered in three rounds, and then a person is notified once', async () => {
    const project = await withBot();
    const seen: string[] = [];
    for (let round = 1; round <= 5; round += 1) {
      if (round <= 4) opens(project, [10 + round]);
      seen.push(await ends(project));
    }
    expect(seen).toEqual([WORKED, WORKED, WORKED, REST, REST]);
    expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual([11, 12, 13]);
    const told = notices(project).filter((text) => text.includes('max-feedback-rounds'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('what bots asked of this pull request in 3 rounds');
    expect(notices(project).join('\n')).not.toMatch(/merge it|is ready for review/);
  });

  test('gets all threads of one review in one round', async () => {
    const project = await withBot({ 'max-feedback-rounds': '1' });
    opens(project, [11, 12, 13, 14]);
    expect(await ends(project)).toBe('complete (plan_complete), 4 calls');
    opens(project, [15]);
    expect(await ends(project)).toBe(REST);
  });

  test('does not keep people from their own rounds', async () => {
    const project = await withBot({ 'max-feedback-rounds': '1' });
    opens(project, [11]);
    await next(project);
    opens(project, [12]);
    opens(project, [13], person('ann'));
    await next(project);
    expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual([11, 13]);
  });

  test.each(['12', '11'])('is answered again once a person says `/ralph retry thread-%s`', async (id) => {
    const project = await withBot({ 'max-feedback-rounds': '1' });
    opens(project, [11]);
    await next(project);
    if (id === '12') opens(project, [12]);
    else {
      const [said] = project.forge.saidOf.get(BRANCH)?.threads ?? [];
      const again = comment(1_000_001, 'Still wrong.', { at: 99_000_000, by: bot });
      const threads = said === undefined ? [] : [{ ...said, comments: [...said.comments, again] }];
      project.forge.saidOf.set(BRANCH, { ...project.forge.saidOf.get(BRANCH), threads });
    }
    expect(await ends(project)).toBe(REST);
    const retry = commented(`/ralph retry thread-${id}`, { issue: 101, isPullRequest: true });
    expect(await ends(project, retry)).toMatch(/, 1 calls$/);
    expect(project.forge.replies).toHaveLength(2);
  });

  test('is counted in three jobs as in one', async () => {
    const project = await withBot({ 'max-feedback-rounds': '2' });
    for (let round = 1; round <= 3; round += 1) {
      opens(project, [10 + round]);
      project.clock.advance(HOUR);
      await runSplit(project, { event: schedule });
    }
    expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual([11, 12]);
    expect(savedState(project, 'queue').feedback.botRounds).toBe(2);
    expect(remembered(project, 'thread-11')?.botRound).toBe(1);
  });

  test('has no bound with `max-feedback-rounds: 0`', async () => {
    const project = await withBot({ 'max-feedback-rounds': '0' });
    for (let round = 1; round <= 5; round += 1) {
      opens(project, [10 + round]);
      expect(await ends(project)).toBe(WORKED);
    }
  });
});
