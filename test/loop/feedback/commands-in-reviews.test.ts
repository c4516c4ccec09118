import { describe, expect, test } from 'vitest';
import { finisher } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import {
  commented,
  createProject,
  labeled,
  runOnce,
  savedState,
  schedule,
  senderOf,
  type Event,
} from '../stage/run-action.ts';
import { BRANCH, next, remembered, reviewed, worker } from './reviewing.ts';
import { comment, person, review, thread } from './said.ts';

const begun = async (): Promise<Project> => {
  const project = createProject({ issues: [1], agent: [finisher] });
  await runOnce(project, { event: labeled(1) });
  project.clock.advance(60_000);
  return project;
};
const pullOf = ({ forge }: Project): object => {
  const pull = forge.pulls.at(-1);
  const repo = { full_name: 'acme/shop' };
  return {
    number: pull?.number,
    state: 'open',
    head: { ref: pull?.branch, sha: pull?.headSha.padEnd(40, '0'), repo },
    base: { repo },
  };
};
const inThread = (project: Project, body: string, login = 'ann'): Event => ({
  name: 'pull_request_review_comment',
  payload: {
    action: 'created',
    comment: { id: 77, node_id: 'PRRC_77', body },
    pull_request: pullOf(project),
    sender: senderOf(login),
  },
});
const inReview = (project: Project, body: string, login = 'ann'): Event => ({
  name: 'pull_request_review',
  payload: {
    action: 'submitted',
    review: { node_id: 'PRR_7', state: 'commented', body },
    pull_request: pullOf(project),
    sender: senderOf(login),
  },
});

const approving = (project: Project, body: string): Event => {
  const { name, payload } = inReview(project, body);
  return { name, payload: { ...(payload as object), review: { node_id: 'PRR_8', state: 'approved', body } } };
};
const approval = (text: string) => review({ state: 'approved', text, at: 77_000 });

describe('a command in a review', () => {
  test.each([
    ['thread', inThread],
    ["review's own text", inReview],
  ])('in a %s: status is answered on the pull request, without a call', async (_where, event) => {
    const project = await begun();
    const run = await runOnce(project, { event: event(project, '/ralph status') });
    expect(run).toMatchObject({ end: 'idle (answered)', calls: 0 });
    const number = project.forge.pulls[0]?.number ?? 0;
    expect(
      project.forge.writes.filter((write) => write.includes(`comment on #${String(number)}`)).length,
    ).toBeGreaterThan(0);
    expect([...(project.forge.comments.get(number)?.values() ?? [])].join()).toContain('ralph-action:answer');
  });

  test.each([
    ['thread', inThread],
    ["review's own text", inReview],
  ])('in a %s: an order is obeyed, but only from a person with write access', async (_where, event) => {
    const project = await begun();
    expect(await runOnce(project, { event: event(project, '/ralph pause', 'eve') })).toMatchObject({
      end: 'refused (not_allowed)',
    });
    await runOnce(project, { event: event(project, '/ralph pause') });
    expect(await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).toMatchObject({
      end: 'paused (by_person)',
    });
  });

  test.each<[string, (project: Project) => Event, readonly string[]]>([
    ['a command in a thread', (project) => inThread(project, '/ralph status'), ['eyes on review PRRC_77']],
    ['a command in a review', (project) => inReview(project, '/ralph status'), ['eyes on review PRR_7']],
    ['the text of a review', (project) => inReview(project, 'Please rename it.'), ['eyes on review PRR_7']],
    ['a command of a stranger', (project) => inReview(project, '/ralph run', 'eve'), ['-1 on review PRR_7']],
    ['the text of a stranger', (project) => inReview(project, 'Please rename it.', 'eve'), []],
    ['a review without a text', (project) => inReview(project, ''), []],
  ])('%s is acknowledged there', async (_, event, seen) => {
    const project = await begun();
    await runOnce(project, { event: event(project) });
    expect(project.forge.writes.filter((write) => / on (?:review|comment) /.test(write))).toEqual(seen);
  });
});

describe('/ralph run on the pull request of a finished issue', () => {
  test('makes no call, and the answer says what to do', async () => {
    const project = await begun();
    const number = project.forge.pulls[0]?.number ?? 0;
    const run = await runOnce(project, { event: commented('/ralph run', { issue: number, isPullRequest: true }) });
    expect(run.calls).toBe(0);
    expect([...(project.forge.comments.get(number)?.values() ?? [])].join()).toMatch(/Merge the pull request|merge it/);
    expect(savedState(project, 'issue-1').tasks['issue-1']?.state).toBe('done');
  });

  test('on the issue itself works on it again', async () => {
    const project = await begun();
    expect((await runOnce(project, { event: commented('/ralph run', { issue: 1 }) })).calls).toBe(1);
  });
});

describe('a request in a comment on the pull request', () => {
  const sentence = '/ralph please call it Greeter';

  /** Writes a comment on the queue's pull request, and returns its event. */
  const writes = (project: Project, text: string, { id = 7, login = 'ann' } = {}): Event => {
    const { forge } = project;
    const { number = 0, url = '' } = forge.pulls[0] ?? {};
    const said = forge.saidOf.get(BRANCH);
    const one = review({
      id,
      url: `${url}#issuecomment-${String(id)}`,
      by: person(login),
      state: 'comment',
      text,
      at: id * 1000,
    });
    forge.saidOf.set(BRANCH, { ...said, comments: [...(said?.comments ?? []), one] });
    const event = commented(text, { issue: number, login, isPullRequest: true });
    const { comment: written, issue, ...payload } = event.payload as Record<'comment' | 'issue', object>;
    const user = { login: 'our-app[bot]', id: 5, type: 'Bot' };
    return { ...event, payload: { ...payload, issue: { ...issue, user }, comment: { ...written, id } } };
  };
  const answersOn = ({ forge }: Project): string =>
    [...(forge.comments.get(forge.pulls[0]?.number ?? 0)?.values() ?? [])].join('\n');
  const said = (project: Project): string => project.script.calls.at(-1)?.prompt ?? '';

  test.each([sentence, '@our-app please call it Greeter', '**/ralph** please call it Greeter'])(
    '%j: is acknowledged, worked on, and answered there',
    async (text) => {
      const project = await reviewed(worker);
      const run = await next(project, writes(project, text));
      expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
      expect(project.forge.writes).toContain('eyes on comment 7');
      expect(said(project)).toContain('please call it Greeter');
      expect(remembered(project, 'comment-7')).toMatchObject({ kind: 'comment', answer: { kind: 'changed' } });
      expect(answersOn(project)).toMatch(/ralph-action:answer comment-7 asked=7[^]*ann asks: [^]*\*\*Done\*\*/);
    },
  );

  test('is worked on once', async () => {
    const project = await reviewed(worker);
    await next(project, writes(project, sentence));
    expect(await next(project)).toMatchObject({ calls: 0 });
    await next(project, writes(project, '/ralph and call the file so, too', { id: 8 }));
    expect(said(project)).toContain('and call the file so, too');
    expect(said(project)).not.toContain('please call it Greeter');
  });

  test('that an earlier version answered is not read', async () => {
    const project = await reviewed(worker);
    writes(project, sentence);
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test('is worked on by the next run, if this one may not work', async () => {
    const project = await reviewed(worker);
    const number = project.forge.pulls[0]?.number ?? 0;
    await next(project, commented('/ralph pause', { issue: number, isPullRequest: true }));
    expect(await next(project, writes(project, sentence))).toMatchObject({ end: 'paused (by_person)', calls: 0 });
    expect(answersOn(project)).toContain('**Request kept**');
    await next(project, commented('/ralph resume', { issue: number, isPullRequest: true }));
    expect(await next(project, schedule)).toMatchObject({ calls: 1 });
    expect(said(project)).toContain('please call it Greeter');
  });

  test('is worked on with `answer-reviews: false`, which the answer to a request in a thread says', async () => {
    const project = await reviewed(worker, { 'answer-reviews': 'false' });
    expect(await next(project, writes(project, sentence))).toMatchObject({ calls: 1 });
    expect(await next(project, inThread(project, sentence))).toMatchObject({ end: 'idle (answered)', calls: 0 });
    expect(answersOn(project)).toContain('is `false`');
  });

  test('is withdrawn by its deletion', async () => {
    const project = await reviewed(worker);
    const event = writes(project, sentence);
    project.forge.saidOf.delete(BRANCH);
    expect(await next(project, event)).toMatchObject({ calls: 0 });
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test.each(['/ralph please call it Waver', 'Never mind'])(
    'edited into %j before the run reads it is that',
    async (text) => {
      const project = await reviewed(worker);
      const event = writes(project, sentence);
      project.forge.saidOf.delete(BRANCH);
      writes(project, text);
      expect(await next(project, event)).toMatchObject({ calls: 1 });
      expect(said(project)).toContain(text.replace('/ralph ', ''));
      expect(said(project)).not.toContain('please call it Greeter');
    },
  );

  test('on a closed pull request is refused', async () => {
    const project = await reviewed(worker);
    const event = writes(project, sentence);
    const payload = event.payload as { readonly issue: object };
    const closed = { ...event, payload: { ...payload, issue: { ...payload.issue, state: 'closed' } } };
    expect(await next(project, closed)).toMatchObject({ end: 'idle (answered)', calls: 0 });
    expect(answersOn(project)).toContain('is closed');
  });

  test.each([
    ['cache', { end: 'complete (plan_complete)', calls: 1 }],
    ['none', { end: 'failed (configuration)', calls: 0 }],
  ])('with `state-store: %s`', async (stateStore, end) => {
    const project = await reviewed(worker, { 'state-store': stateStore });
    expect(await next(project, writes(project, sentence))).toMatchObject(end);
    expect(answersOn(project)).toContain(stateStore === 'none' ? 'state-store is "none"' : 'comment-7');
  });

  test.each([
    [sentence, 'refused (not_allowed)', ['-1 on comment 7']],
    ['@our-app please call it Greeter', 'idle (not_for_us)', []],
  ])('by a stranger is not read: %j', async (text, end, writesSeen) => {
    const project = await reviewed(worker);
    const before = project.forge.writes.length;
    expect(await next(project, writes(project, text, { login: 'eve' }))).toMatchObject({ end, calls: 0 });
    expect(project.forge.writes.slice(before)).toEqual(writesSeen);
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test("a mention on another bot's pull request is not read", async () => {
    const project = await reviewed(worker);
    const event = writes(project, '@our-app please rebase this');
    project.forge.pulls.push({ ...project.forge.pulls[0], number: 300, branch: 'our-app/bump' } as never);
    const payload = event.payload as { readonly issue: object };
    const before = project.forge.writes.length;
    const other = { ...event, payload: { ...payload, issue: { ...payload.issue, number: 300 } } };
    expect(await next(project, other)).toMatchObject({ end: 'idle (not_for_us)', calls: 0 });
    expect(project.forge.writes.slice(before)).toEqual([]);
  });
});

describe('a request in a review', () => {
  test('in a thread is acknowledged and answered there', async () => {
    const project = await reviewed(worker);
    const text = '/ralph please call it Greeter';
    project.forge.saidOf.set(BRANCH, { threads: [thread([comment(77, text)])] });
    expect(await next(project, inThread(project, text))).toMatchObject({ calls: 1 });
    expect(project.forge.writes).toContain('eyes on review PRRC_77');
    expect(project.script.calls.at(-1)?.prompt).toContain('please call it Greeter');
    expect(project.forge.replies.map(({ replyTo }) => replyTo)).toEqual([77]);
  });

  test.each([
    ['its own text', (text: string) => ({ reviews: [approval(text)], approvedBy: ['ann'] }), approving],
    ['a thread', (text: string) => ({ reviews: [approval('')], threads: [thread([comment(77, text)])] }), inThread],
  ])('that approves, in %s: is worked on', async (_where, said, event) => {
    const project = await reviewed(worker);
    const text = '/ralph please call it Greeter';
    project.forge.saidOf.set(BRANCH, said(text));
    expect(await next(project, event(project, text))).toMatchObject({ calls: 1 });
    expect(project.forge.writes).toContain(`eyes on review ${event === approving ? 'PRR_8' : 'PRRC_77'}`);
    expect(project.script.calls.at(-1)?.prompt).toContain('please call it Greeter');
    expect(await next(project)).toMatchObject({ calls: 0 });
  });

  test.each(['Nice, but please rename it.', '/ralph thanks!'])(
    'that approves with %j asks for nothing',
    async (text) => {
      const project = await reviewed(worker);
      project.forge.saidOf.set(BRANCH, { reviews: [approval(text)] });
      expect(await next(project, approving(project, text))).toMatchObject({ calls: 0 });
    },
  );

  test('a mistyped command is answered, and makes no call', async () => {
    const project = await reviewed(worker);
    expect(await next(project, inThread(project, '/ralph resum'))).toMatchObject({ end: 'idle (answered)', calls: 0 });
  });
});
