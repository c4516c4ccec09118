import { describe, expect, test } from 'vitest';
import { describeOutcome } from '../../../src/report/sentences/outcome-text.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { HOUR, MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import { crashing, endless, finisher, steadyWorker, stuck, usageLimited, type Behaviour } from '../stage/behaviours.ts';
import type { Project } from '../stage/project.ts';
import { addIssue, commented, createProject, labeled, runOnce, savedState } from '../stage/run-action.ts';
import { runLanes, runSplit } from '../stage/split.ts';

const THINKING =
  'API Error: 400 messages.1.content.5: `thinking` blocks in the latest assistant message cannot be modified';
const SCHEMA = 'API Error: 400 tools.3.custom.input_schema: JSON schema is invalid';

type Output = NonNullable<ReturnType<Behaviour>['output']>;
const fails =
  (text: string, output: Output = {}): Behaviour =>
  () => ({
    exitCode: 1,
    chars: 0,
    output: { agentError: { kind: 'other', text }, tokens: 0, costUsd: 0.01, ...output },
  });

/** Works in a new conversation, and ends like the other behaviour in a resumed one. */
const onlyFresh =
  (resumed: Behaviour, fresh: Behaviour = finisher): Behaviour =>
  (call) =>
    call.resume === null ? fresh(call) : resumed(call);

const notified = ({ forge }: Project): readonly string[] =>
  [...forge.notifications.values()].flatMap((texts) =>
    [...texts].flatMap(([marker, body]) => (marker.startsWith('settled') ? [] : [body])),
  );

describe('a conversation that cannot continue is dropped (L9)', () => {
  test.each<[string, Behaviour]>([
    ['the provider refuses it', fails(THINKING)],
    ['the CLI crashes', crashing],
    ['the CLI is killed', () => ({ exitCode: 137, chars: 0, output: { sessionId: null } })],
    ['the provider fails', fails('API Error: 500', { agentError: { kind: 'server', text: 'API Error: 500' } })],
    [
      'it has become too long',
      fails('Prompt is too long', { agentError: { kind: 'prompt-too-long', text: 'too long' } }),
    ],
    [
      'it runs out of turns',
      fails('', { agentError: { kind: 'max-turns', text: 'Reached maximum number of turns (30)' } }),
    ],
    ['its call hangs', endless],
  ])('%s: the call is repeated in a new one, in the same iteration', async (_, resumed) => {
    const project = createProject({
      issues: [1, 2, 3, 4],
      agent: [onlyFresh(resumed)],
      inputs: { 'max-minutes': '200' },
    });
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(run.work?.journal).toHaveLength(4);
    const { tasks, circuit, windows } = savedState(project);
    for (const id of ['issue-1', 'issue-2', 'issue-3', 'issue-4'])
      expect(tasks[id]).toMatchObject({ state: 'done', attempts: 1 });
    expect(circuit).toMatchObject({ kind: 'closed', noProgress: 0, agentFailures: 0 });
    // Both calls count, and both are charged.
    expect(run.calls).toBe(7);
    expect(windows.hour?.calls ?? 0).toBeLessThanOrEqual(7);
    expect(run.work?.journal.filter(({ madeAgain }) => madeAgain !== null)).toHaveLength(3);
  });

  test('the cost of the failed call is booked', async () => {
    const priced: Behaviour = (call) => ({
      ...finisher(call),
      output: { ...finisher(call).output, costUsd: 1, tokens: 10 },
    });
    const project = createProject({
      issues: [1, 2],
      agent: [onlyFresh(fails(THINKING, { costUsd: 0.5, tokens: 5 }), priced)],
    });
    const run = await runOnce(project);
    expect(run.work?.journal.map(({ analysis }) => [analysis.costUsd, analysis.tokens])).toEqual([
      [1, 10],
      [1.5, 15],
    ]);
    expect(savedState(project).windows).toMatchObject({ hour: { calls: 3, tokens: 25 }, day: { costUsd: 2.5 } });
    expect(savedState(project).change.costUsd).toBe(2.5);
  });

  test.each<[string, Output]>([
    ['a refused login', { agentError: { kind: 'auth', text: 'Invalid API key' } }],
    ['no credit', { agentError: { kind: 'billing', text: 'Credit balance is too low' } }],
    [
      'a usage limit',
      { agentError: { kind: 'rate-limit', text: 'limit' }, usageLimit: { window: 'weekly', resumeAt: null } },
    ],
    ['a rate limit', { agentError: { kind: 'rate-limit', text: '429' } }],
    ['the end of its money', { agentError: { kind: 'budget', text: 'The call reached its limit' } }],
  ])('not after %s', async (_, output) => {
    const project = createProject({
      issues: [1, 2],
      agent: [onlyFresh(fails('', output))],
      inputs: { 'max-iterations': '2' },
    });
    const run = await runOnce(project);
    expect(run.calls).toBe(2);
  });

  test.each<[string, Output, boolean]>([
    ['a limit without an end', { agentError: { kind: 'rate-limit', text: '429 tokens per minute' } }, true],
    ['an overload', { agentError: { kind: 'server', text: '529' } }, false],
    ['a limit for a person', { agentError: { kind: 'rate-limit', text: 'spend limit' } }, false],
  ])('%s, met again after the wait, decides whether the next run begins a new one', async (_, output, isDropped) => {
    const byPerson = output.agentError?.text === 'spend limit' ? { byPerson: true as const } : {};
    const limited = fails('', { ...output, usageLimit: { window: 'unknown', resumeAt: null, ...byPerson } });
    const project = createProject({ issues: [1, 2], agent: [onlyFresh(limited)], inputs: { 'max-iterations': '5' } });
    for (const calls of [2, 1]) {
      expect(await runOnce(project)).toMatchObject({ end: 'parked (usage_limit)', calls });
      project.clock.advance(HOUR);
    }
    expect(savedState(project).session === null).toBe(isDropped);
    const { end, calls } = await runOnce(project);
    expect([end, calls]).toEqual([isDropped ? 'complete (plan_complete)' : 'parked (usage_limit)', 1]);
  });

  test('not after the failed call changed something', async () => {
    const half: Behaviour = (call) => ({ ...fails(THINKING)(call), writes: { 'half.ts': String(call.turn) } });
    const project = createProject({ issues: [1, 2], agent: [onlyFresh(half)], inputs: { 'max-iterations': '2' } });
    expect((await runOnce(project)).calls).toBe(2);
  });

  test('not beyond the limits of the run: then the next call begins a new one', async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [onlyFresh(fails(THINKING))],
      inputs: { 'max-calls-per-hour': '2' },
    });
    expect(await runOnce(project)).toMatchObject({ end: 'parked (calls_per_hour)', calls: 2 });
    expect(savedState(project).session).toBeNull();
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test('not after a person closed the issue during the failed call', async () => {
    const refused: Behaviour = (call) => ({
      ...fails(THINKING)(call),
      meanwhile: () => {
        addIssue(project.forge, 2, { state: 'closed' });
      },
    });
    const project = createProject({ issues: [1, 2, 3], agent: [onlyFresh(refused)] });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    const { tasks } = savedState(project);
    expect(tasks).toMatchObject({ 'issue-2': { attempts: 0 }, 'issue-3': { state: 'done', attempts: 1 } });
  });

  test('a cancel ends it', async () => {
    const stop = new AbortController();
    const cancelled: Behaviour = () => ({
      meanwhile: () => {
        stop.abort();
      },
      exitCode: 143,
      chars: 0,
    });
    const project = createProject({ issues: [1, 2], agent: [onlyFresh(cancelled)] });
    expect(await runOnce(project, { signal: stop.signal })).toMatchObject({ end: 'cancelled (signal)', calls: 2 });
  });

  test('in a pipeline as well, with both calls in the journal', async () => {
    const pipeline = JSON.stringify({ steps: [{ type: 'agent', name: 'work' }] });
    const project = createProject({
      issues: [1, 2],
      agent: [onlyFresh(fails(THINKING))],
      files: { '.ralph/config.json': pipeline },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls: 3 });
    expect(run.work?.journal.map(({ evidence }) => evidence.steps[0]?.calls.length)).toEqual([1, 2]);
    expect(savedState(project).windows.hour?.calls).toBe(3);
  });
});

describe("the surroundings' errors are not the task's (L11)", () => {
  test('every call fails: three in a row end the run, no task is blamed, and every page quotes the error', async () => {
    const project = createProject({ issues: [1, 2, 3, 4], agent: [fails(SCHEMA)], inputs: { session: 'fresh' } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'halted (circuit_open)', calls: 3, outcome: { circuitReason: 'agent_error' } });
    const { tasks } = savedState(project);
    const begun = Object.values(tasks).filter(({ state }) => state !== 'todo');
    expect(begun).not.toEqual([]);
    for (const { attempts, state } of begun) expect([attempts, state]).toEqual([0, 'in-progress']);
    for (const { attempts } of Object.values(tasks)) expect(attempts).toBe(0);
    const [only, ...more] = notified(project);
    expect(more).toEqual([]);
    const report = run.report;
    if (report === null) throw new Error('there is no report');
    const comments = [...project.forge.comments.values()].flatMap((thread) => [...thread.values()]).join('\n');
    for (const text of [only, renderSummary(report), run.log.join('\n'), comments]) {
      expect(text).toContain('the agent failed (exit code 1): ');
      expect(text).toContain('JSON schema is invalid');
    }
    expect(only).not.toContain('smaller');
    expect(only).toContain('/ralph retry');
    expect(comments).not.toContain('Make the task smaller');
  });

  test('later runs that wait for the circuit quote it as well, wherever people look', async () => {
    const long = 'x'.repeat(2_000);
    const project = createProject({
      issues: [1, 2],
      agent: [fails(`${SCHEMA}\u0007 \`@everyone\` ${long}`)],
      inputs: { session: 'fresh' },
    });
    await runOnce(project);
    expect(JSON.stringify(savedState(project).circuit).length).toBeLessThan(700);
    const later = await runOnce(project);
    expect(later).toMatchObject({ end: 'halted (circuit_open)', calls: 0 });
    const { report } = later;
    if (report === null) throw new Error('there is no report');
    expect(notified(project)).toHaveLength(1);
    const texts = () => [...project.forge.comments.values()].flatMap((thread) => [...thread.values()]);
    const before = texts();
    await runOnce(project, { event: commented('/ralph status', { issue: 1 }) });
    const answer = texts()
      .filter((text) => !before.includes(text))
      .join('\n');
    for (const text of [renderSummary(report), describeOutcome(report).what, answer]) {
      expect(text).toContain('the agent failed (exit code 1): ');
      expect(text).toContain('JSON schema is invalid');
      expect(text).not.toContain('\u0007');
    }
  });

  test('it is reported once, and its probe fails in the same way', async () => {
    const project = createProject({ issues: [1, 2], agent: [fails(SCHEMA)], inputs: { session: 'fresh' } });
    await runOnce(project);
    project.clock.advance(31 * MINUTE);
    const probe = await runOnce(project);
    expect(probe).toMatchObject({ end: 'halted (circuit_open)', calls: 1, outcome: { circuitReason: 'agent_error' } });
    expect(notified(project)).toHaveLength(1);
  });

  test.each<[string, Behaviour]>([
    ['an exit code without a word', crashing],
    ['a signal', () => ({ exitCode: 137, chars: 0, output: { sessionId: null } })],
    [
      'no result',
      () => ({ chars: 0, output: { agentError: { kind: 'other', text: 'The CLI ended without a result.' } } }),
    ],
    [
      'different words each time',
      ({ turn }) => ({
        exitCode: 1,
        output: { agentError: { kind: 'other', text: `broken pipe of ${'abc'.charAt(turn % 3)}` } },
      }),
    ],
    ['a call without an end', endless],
  ])('%s is a failure of the agent', async (_, behaviour) => {
    const project = createProject({
      issues: [1, 2],
      agent: [behaviour],
      inputs: { session: 'fresh', 'max-minutes': '200' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'halted (circuit_open)', calls: 3, outcome: { circuitReason: 'agent_error' } });
    expect(run.work?.journal.every(({ verdict }) => verdict.agentFailed && verdict.setAside === null)).toBe(true);
  });

  test('a working call in between ends the streak', async () => {
    const behaviours = [fails(SCHEMA), fails(SCHEMA), steadyWorker, fails(SCHEMA), fails(SCHEMA), finisher];
    const project = createProject({ agent: behaviours, inputs: { session: 'fresh' } });
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 6 });
    expect(savedState(project).tasks['issue-1']).toMatchObject({ attempts: 2 });
  });

  test('tasks whose calls always fail keep no other task from its turn', async () => {
    const picky: Behaviour = (call) => (call.task === 'issue-3' ? finisher(call) : fails(SCHEMA)(call));
    const project = createProject({ issues: [1, 2, 3], agent: [picky], inputs: { session: 'fresh' } });
    for (let run = 0; run < 4; run += 1) {
      await runOnce(project);
      project.clock.advance(31 * MINUTE);
    }
    expect(savedState(project).tasks['issue-3']?.state).toBe('done');
  });

  test('idle iterations are counted as usual', async () => {
    const project = createProject({
      agent: [stuck, fails(SCHEMA), stuck, fails(SCHEMA), stuck],
      inputs: { session: 'fresh' },
    });
    expect(await runOnce(project)).toMatchObject({ calls: 5, outcome: { circuitReason: 'no_progress' } });
  });

  test('another agent gets its chance', async () => {
    const project = createProject({
      issues: [1, 2],
      agent: [fails(SCHEMA)],
      others: { codex: [finisher] },
      inputs: { session: 'fresh' },
    });
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(run.work?.journal.map(({ agent }) => agent)).toEqual(['claude', 'claude', 'codex', 'codex']);
  });
});

describe('limits (L12)', () => {
  const spendLimit = "You've hit your monthly spend limit · raise it at claude.ai/settings/usage";
  const spent: Behaviour = fails('', {
    agentError: { kind: 'rate-limit', text: spendLimit },
    usageLimit: { window: 'unknown', resumeAt: null, byPerson: true },
  });

  test('one that only a person lifts parks as usual, and is notified once, in the words of the provider', async () => {
    const project = createProject({ issues: [1], agent: [spent] });
    for (let run = 0; run < 5; run += 1) {
      expect(await runOnce(project)).toMatchObject({ end: 'parked (usage_limit)' });
      project.clock.advance(HOUR + MINUTE);
    }
    const [only, ...more] = notified(project);
    expect(more).toEqual([]);
    expect(only).toContain('monthly spend limit');
    expect(only).toContain('Raise the limit');
    project.script.behaviours = [finisher];
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    expect(project.forge.writes.filter((write) => write.startsWith('settled'))).not.toEqual([]);
  });

  test.each([
    ['longer than a day', 58 * HOUR, 1],
    ['not longer than a day', 23 * HOUR, 0],
  ])('one that lasts %s', async (_, wait, times) => {
    const limited: Behaviour = fails('', {
      agentError: { kind: 'rate-limit', text: "Sorry, you've hit a rate limit" },
      usageLimit: { window: 'unknown', resumeAt: new Date(noon + wait).toISOString() },
    });
    const project = createProject({ agent: [limited] });
    await runOnce(project);
    expect(notified(project)).toHaveLength(times);
    project.clock.advance(HOUR);
    await runOnce(project);
    expect(notified(project)).toHaveLength(times);
  });

  test('one whose reset has just passed: a try within minutes, and then the usual hour', async () => {
    const passed: Behaviour = fails('', {
      agentError: { kind: 'rate-limit', text: 'weekly limit' },
      usageLimit: { window: 'weekly', resumeAt: new Date(noon - 6 * MINUTE).toISOString() },
    });
    const project = createProject({ agent: [passed] });
    const first = await runOnce(project);
    if (first.outcome.kind !== 'parked') throw new Error('it is not parked');
    expect(first.outcome.resumeAt - project.clock.now()).toBeLessThanOrEqual(10 * MINUTE);
    project.clock.advance(first.outcome.resumeAt - project.clock.now());
    const second = await runOnce(project);
    if (second.outcome.kind !== 'parked') throw new Error('it is not parked');
    expect(second.calls).toBe(1);
    expect(second.outcome.resumeAt - project.clock.now()).toBe(HOUR);
  });

  test('a person who has raised the limit need not wait', async () => {
    const project = createProject({ issues: [1], agent: [spent] });
    const asked = { event: commented('/ralph run', { issue: 1 }) };
    expect(await runOnce(project, asked)).toMatchObject({ end: 'parked (usage_limit)', calls: 1 });
    project.script.behaviours = [finisher];
    expect(await runOnce(project, asked)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });
});

describe('a limit that several branches meet (L12)', () => {
  const words = "You've hit your weekly limit";
  const weekly: Behaviour = fails('', {
    agentError: { kind: 'rate-limit', text: words },
    usageLimit: { window: 'weekly', resumeAt: new Date(noon + 5 * 24 * HOUR).toISOString() },
  });
  const spent: Behaviour = fails('', {
    agentError: { kind: 'rate-limit', text: 'monthly spend limit' },
    usageLimit: { window: 'unknown', resumeAt: null, byPerson: true },
  });
  const parked = 'parked (usage_limit)';
  const mails = (project: Project): number => notified(project).filter((body) => body.includes('usage_limit')).length;

  test.each([
    ['weekly', weekly],
    ['spend', spent],
  ])('%s: the queue knows it from an issue of its own, makes no call and is silent', async (_, limited) => {
    const project = createProject({ issues: [1, 2, 3], agent: [limited] });
    expect(await runOnce(project, { event: labeled(1) })).toMatchObject({ end: parked, calls: 1 });
    const until = savedState(project, 'issue-1').park?.resumeAt;
    expect(await runOnce(project)).toMatchObject({ end: parked, calls: 0, outcome: { resumeAt: until } });
    expect(mails(project)).toBe(1);
  });

  test.each([
    ['weekly', weekly],
    ['spend', spent],
  ])('%s: three labels are one call and one notification, and none of the issues is lost', async (_, limited) => {
    const project = createProject({ issues: [1, 2, 3], agent: [limited] });
    for (const [at, issue] of [1, 2, 3].entries())
      expect(await runOnce(project, { event: labeled(issue) })).toMatchObject({ end: parked, calls: at === 0 ? 1 : 0 });
    expect(await runOnce(project)).toMatchObject({ end: parked, calls: 0 });
    expect(mails(project)).toBe(1);
    project.clock.advance(5 * 24 * HOUR);
    project.script.behaviours = [finisher];
    for (let run = 0; run < 3; run += 1) await runOnce(project);
    const done = [...project.forge.issues.values()].filter(({ labels }) => labels.includes('ralph:done'));
    expect(done).toHaveLength(3);
  });

  test('who commands a run of another issue gets one call, and no second notification', async () => {
    const project = createProject({ issues: [1, 2], agent: [weekly] });
    await runOnce(project, { event: labeled(1) });
    const asked = { event: commented('/ralph run', { issue: 2 }) };
    expect(await runOnce(project, asked)).toMatchObject({ end: parked, calls: 1 });
    expect(mails(project)).toBe(1);
  });

  test('three jobs: the branch that a person asks for next is silent, and the queue makes no call', async () => {
    const project = createProject({ issues: [1, 2], agent: [weekly] });
    const command = commented('/ralph run', { issue: 2 });
    for (const event of [labeled(1), command]) expect((await runSplit(project, { event })).publish?.end).toBe(parked);
    const none = { gate: { end: parked, calls: 0 }, loop: null };
    expect(await runSplit(project, { event: labeled(2) })).toMatchObject(none);
    expect(await runSplit(project)).toMatchObject(none);
    expect(mails(project)).toBe(1);
  });

  test('branches side by side notify of it once, and the next run makes no call', async () => {
    const files = { 'src/a.ts': '', 'src/b.ts': '' };
    const project = createProject({ issues: [], files, agent: [weekly], inputs: { parallel: '2' } });
    for (const [at, path] of Object.keys(files).entries()) addIssue(project.forge, at + 1, { body: `Change ${path}` });
    const { lanes } = await runLanes(project);
    expect([...lanes.values()].map(({ publish }) => publish?.end)).toEqual([parked, parked]);
    project.clock.advance(2 * HOUR);
    expect(await runLanes(project)).toMatchObject({ gate: { end: parked, calls: 0 } });
    expect(mails(project)).toBe(1);
  });

  test('each try of a limit without a known end is one call, whatever its branch, and silent', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [spent] });
    await runOnce(project, { event: labeled(1) });
    for (let hour = 0; hour < 3; hour += 1) {
      project.clock.advance(HOUR + MINUTE);
      expect(await runOnce(project)).toMatchObject({ end: parked, calls: 1 });
      expect(await runOnce(project)).toMatchObject({ end: parked, calls: 0 });
    }
    expect(mails(project)).toBe(1);
  });

  test('a branch calls the next agent at once', async () => {
    const project = createProject({ issues: [1, 2], agent: [weekly], others: { codex: [finisher] } });
    const turns = async (issue: number) =>
      (await runOnce(project, { event: labeled(issue) })).work?.journal.map(({ agent }) => agent);
    expect(await turns(1)).toEqual(['claude', 'codex']);
    const run = await runOnce(project);
    expect(run.work?.journal.map(({ agent }) => agent)).toEqual(['codex']);
    expect(mails(project)).toBe(0);
  });

  test('a limit that is over soon holds for people as well', async () => {
    const project = createProject({ issues: [1, 2], agent: [usageLimited(noon + 3 * HOUR)] });
    await runOnce(project, { event: labeled(1) });
    expect(await runOnce(project, { event: labeled(2) })).toMatchObject({ end: parked, calls: 0 });
    project.clock.advance(3 * HOUR);
    project.script.behaviours = [finisher];
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
  });

  test.each(['run', 'retry', 'the limit was raised, please try again now'])(
    '/ralph %s on another branch opens it',
    async (command) => {
      const project = createProject({ issues: [1, 2], agent: [weekly] });
      await runOnce(project, { event: labeled(1) });
      project.script.behaviours = [finisher];
      const asked = { event: commented(`/ralph ${command}`, { issue: 2 }) };
      expect((await runOnce(project, asked)).end).toBe('complete (plan_complete)');
    },
  );

  test('when it is over on one branch, it is over on all', async () => {
    const project = createProject({ issues: [1, 2, 3], agent: [weekly] });
    await runOnce(project, { event: labeled(1) });
    project.script.behaviours = [finisher];
    const asked = { event: commented('/ralph run', { issue: 2 }) };
    expect(await runOnce(project, asked)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
    expect((await runOnce(project)).calls).toBeGreaterThan(0);
    expect(mails(project)).toBe(1);
    // The next one is another limit.
    project.script.behaviours = [weekly];
    addIssue(project.forge, 4);
    expect(await runOnce(project, { event: labeled(4) })).toMatchObject({ end: parked, calls: 1 });
    expect(mails(project)).toBe(2);
  });
});
