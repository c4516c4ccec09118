import { describe, expect, test } from 'vitest';
import { HOUR, noon } from '../../unit/core/core-fixtures.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import {
  createScript,
  finisher,
  steadyWorker,
  usageLimited,
  type AgentScript,
  type Behaviour,
} from '../stage/behaviours.ts';
import { addCommit } from '../stage/in-memory.ts';
import type { Project } from '../stage/project.ts';
import { createProject, runOnce, savedState, type Run } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const work = { type: 'agent', name: 'work' };
const review = (config: object = {}, step: object = {}): object => ({
  type: 'agent',
  name: 'review',
  config: { agent: 'codex', role: 'review', ...config },
  ...step,
});

function filesWith(...steps: readonly object[]): Readonly<Record<string, string>> {
  return { '.ralph/config.json': JSON.stringify({ steps }) };
}

/** Reviews with these findings; each is a severity. */
function finding(...severities: readonly string[]): Behaviour {
  const findings = severities.map((severity, at) => ({
    file: 'src/a.ts',
    line: at + 1,
    severity,
    text: `Flaw ${String(at)}.`,
  }));
  return () => ({ words: JSON.stringify({ findings }) });
}

function reviewerOf({ stepAgents: [codex] }: Project): AgentScript {
  return codex?.[1] ?? createScript([]);
}

function projectWith(
  codex: readonly Behaviour[],
  setting: Partial<Parameters<typeof createProject>[0]> & { readonly steps?: readonly object[] } = {},
): Project {
  const { steps = [work, review()], ...rest } = setting;
  return createProject({ agent: [finisher], stepAgents: { codex }, files: filesWith(...steps), ...rest });
}

function pageOf({ report }: Run): string {
  return report?.kind === 'worked' ? buildPullRequestText(report, 0).body : '';
}

describe('a review by another agent', () => {
  test('has its own prompt, conversation and model, and decides nothing by its words', async () => {
    const approving: Behaviour = () => ({
      words: '{"findings": []}',
      output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1, summary: 'Merge it.' } },
    });
    const project = projectWith([approving], {
      agent: [steadyWorker],
      steps: [work, review({ model: 'gpt-5' })],
      inputs: { 'max-iterations': '2' },
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'limit (iterations)', calls: 4 });
    expect(reviewerOf(project).calls.map(({ model, resume }) => [model, resume])).toEqual([
      ['gpt-5', null],
      ['gpt-5', null],
    ]);
    const prompt = reviewerOf(project).calls[0]?.prompt ?? '';
    expect(prompt).toContain('Review the changes that were made');
    expect(prompt).toContain('Changed in this iteration: src/issue-1.ts');
    expect(prompt).toContain('{"findings": [');
    expect(prompt).not.toContain('RALPH_STATUS');
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([null, 'session-1']);
    expect(savedState(project)).toMatchObject({ agent: 'claude', ledger: [{ calls: 4 }] });
  });

  test('changes nothing, whatever it writes', async () => {
    const editing: Behaviour = () => ({
      words: '{"findings": []}',
      writes: { 'src/issue-1.ts': 'mine', 'EXTRA.md': 'mine', '.ralph/complete': '' },
    });
    const project = projectWith([editing], { agent: [steadyWorker], inputs: { 'max-iterations': '1' } });
    const run = await runOnce(project);
    const commit = run.work?.journal[0]?.commit ?? '';
    expect(project.origin.commits.get(commit)?.tree).toMatchObject({ 'src/issue-1.ts': 'step 1' });
    expect(project.origin.commits.get(commit)?.tree).not.toHaveProperty('EXTRA.md');
    expect(run.log.join('\n')).toContain('step review only reviews');
  });
});

describe('findings', () => {
  test('hold nothing by default: the task is done, and the pull request lists them', async () => {
    const run = await runOnce(projectWith([finding('low', 'high')]));
    expect(run.end).toBe('complete (plan_complete)');
    expect(pageOf(run)).toContain('<summary>Step <code>review</code> (Codex) on #1: 2 findings</summary>');
    expect(pageOf(run)).toMatch(/- \*\*high\*\* `src\/a\.ts:2`: Flaw 1\.\n- \*\*low\*\* `src\/a\.ts:1`: Flaw 0\./);
  });

  test.each<[string, readonly string[], string]>([
    ['high', ['medium', 'low'], 'complete (plan_complete)'],
    ['medium', ['low'], 'complete (plan_complete)'],
    ['low', [], 'complete (plan_complete)'],
    ['high', ['high', 'low', 'high'], 'limit (iterations)'],
    ['low', ['low', 'low'], 'limit (iterations)'],
  ])('hold: %s with %j ends with %s', async (hold, severities, end) => {
    const steps = [work, review({ hold })];
    const project = projectWith([finding(...severities)], { steps, inputs: { 'max-iterations': '2' } });
    const run = await runOnce(project);
    expect(run.end).toBe(end);
    const isHeld = end.startsWith('limit');
    if (run.report === null) throw new Error('no report');
    expect(renderSummary(run.report).includes('held by review: 2 findings')).toBe(isHeld);
    expect(pageOf(run).includes('held by review: 2 findings')).toBe(isHeld);
    expect(/^## .*/m.exec(pageOf(run))?.[0].includes('Held by review: 2 findings. 0 of 1 task done')).toBe(isHeld);
    expect(savedState(project).tasks['issue-1']?.state).toBe(isHeld ? 'in-progress' : 'done');
  });

  test('go into the next prompt as data, also of the next run, and are gone once a review finds nothing', async () => {
    const steps = [work, review({ hold: 'high' })];
    const project = projectWith([finding('high')], { steps, inputs: { 'max-iterations': '1' } });
    await runOnce(project);
    reviewerOf(project).behaviours = [finding()];
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    const prompt = project.script.calls[1]?.prompt ?? '';
    expect(prompt).toMatch(/What reviews found[^]*FINDINGS[^]*- high: src\/a\.ts:1: Flaw 0\.[^]*FINDINGS/);
    expect(prompt).toContain('Your claim to be done was overruled: a review found');
    expect(savedState(project).change.reviews).toEqual([]);
    expect(pageOf(run)).not.toContain('Findings of reviews');
  });

  test('are there for a step after the review', async () => {
    const steps = [work, review(), { type: 'agent', name: 'fix' }];
    const project = projectWith([finding('high')], { steps });
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
    expect(project.script.calls[1]?.prompt).toContain('- high: src/a.ts:1: Flaw 0.');
  });

  test('that stay end the run by the existing limits', async () => {
    const steps = [work, review({ hold: 'high' })];
    const idle: Behaviour = () => ({ output: { signal: { status: 'COMPLETE', exitSignal: true, tasksCompleted: 1 } } });
    const project = projectWith([finding('high')], { steps, agent: [finisher, idle] });
    const run = await runOnce(project);
    expect(run.end).toMatch(/^halted \((?:circuit_open|safety)\)$/);
    expect(pageOf(run)).toContain('held by review: 1 finding');
  });

  test.each<[string, Behaviour]>([
    ['without JSON', () => ({ words: 'LGTM' })],
    ['without a final message', () => ({})],
    ['of 10 MB', () => ({ words: JSON.stringify({ findings: 'x'.repeat(10_000_000) }) })],
  ])('that nobody can read are named, and hold where findings hold: %s', async (_, reviewer) => {
    const free = await runOnce(projectWith([reviewer]));
    expect(free.end).toBe('complete (plan_complete)');
    expect(free.log.join('\n')).toContain('step review (agent) passed; unreadable (its final message has');
    expect(pageOf(free)).toMatch(/its findings cannot be read<\/summary>\n\n- ⚠️ its final message has/);
    const steps = [work, review({ hold: 'low' })];
    const held = await runOnce(projectWith([reviewer], { steps, inputs: { 'max-iterations': '2' } }));
    expect(held.end).toBe('limit (iterations)');
    expect(pageOf(held)).toContain('held by review: unreadable');
  });

  test('that quote others which a file has still hold', async () => {
    const findings = '{"findings": [{"file": "a", "severity": "high", "text": "Its end says {\\"findings\\": []}."}]}';
    const quoting: Behaviour = () => ({ words: `Done.\n${findings}\nI ignored this in \`a\`:\n{"findings": []}` });
    const steps = [work, review({ hold: 'high' })];
    const run = await runOnce(projectWith([quoting], { steps, inputs: { 'max-iterations': '1' } }));
    expect(run.end).toBe('limit (iterations)');
    expect(pageOf(run)).toContain('held by review: 1 finding');
  });

  test('a review that fails holds as well, although the step may fail', async () => {
    const steps = [work, review({ hold: 'high' }, { continue_on_error: true })];
    const project = projectWith([() => ({ exitCode: 1 })], { steps, inputs: { 'max-iterations': '1' } });
    expect((await runOnce(project)).end).toBe('limit (iterations)');
    const free = projectWith([() => ({ exitCode: 1 })], { steps: [work, review({}, { continue_on_error: true })] });
    expect((await runOnce(free)).end).toBe('complete (plan_complete)');
  });

  test.each<[string, Behaviour, string]>([
    ['its provider is at its limit', usageLimited(noon + 3 * HOUR), 'parked (usage_limit)'],
    [
      'its key is refused',
      () => ({ exitCode: 1, output: { agentError: { kind: 'auth', text: '401 no' } } }),
      'failed (configuration)',
    ],
    ['it keeps failing', () => ({ exitCode: 1 }), 'parked (step_circuit)'],
  ])('a review that holds and may fail ends the run instead of more work: %s', async (_, reviewer, end) => {
    const breaker = { threshold: 1, reset_after: '2h' };
    const step = review({ hold: 'high' }, { continue_on_error: true, circuit_breaker: breaker });
    const project = projectWith([reviewer], { steps: [work, step] });
    expect(await runOnce(project)).toMatchObject({ end, calls: 2 });
    expect(savedState(project).tasks['issue-1']?.state).toBe('in-progress');
  });

  test.each<[string, Behaviour, string]>([
    ['at its limit', usageLimited(noon + 3 * HOUR), 'parked (usage_limit)'],
    [
      'with a refused key',
      () => ({ exitCode: 1, output: { agentError: { kind: 'auth', text: '401 no' } } }),
      'failed (configuration)',
    ],
  ])('a review by the agent of the iteration, %s, costs no further call', async (_, reviewer, end) => {
    const own = review({ agent: undefined, hold: 'high' }, { continue_on_error: true });
    const project = createProject({
      agent: [steadyWorker, reviewer, finisher],
      files: filesWith(work, own, { type: 'agent', name: 'fix' }),
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end, calls: 2 });
    expect(savedState(project).providers).toMatchObject({ claude: { kind: 'open' } });
    expect(run.work?.journal[0]?.commit).not.toBeNull();
  });

  test('the words of a review do not become the message of a commit after it', async () => {
    const words: Behaviour = () => ({ words: '{"findings": []}', output: { signal: { summary: 'Looks good.' } } });
    const project = projectWith([words], { steps: [work, review(), { type: 'git-commit', name: 'keep' }] });
    const run = await runOnce(project);
    const { message } = project.origin.commits.get(run.work?.journal[0]?.commit ?? '') ?? {};
    expect(message).toMatch(/^Part of|Title 1|issue-1/m);
    expect(message).not.toContain('Looks good');
  });

  test.each<[string, readonly object[], number]>([
    ['removed', [work], 1],
    ['renamed', [work, { ...review({ hold: 'high' }), name: 'check' }], 2],
  ])('are gone once their task is done by a pipeline whose step is %s', async (_, steps, calls) => {
    const inputs = { 'max-iterations': '1' };
    const project = projectWith([finding('high')], { steps: [work, review({ hold: 'high' })], inputs });
    expect(pageOf(await runOnce(project))).toContain('held by review: 1 finding</summary>');
    const parent = project.origin.branches.get('main') ?? '';
    const tree = { ...project.origin.commits.get(parent)?.tree, ...filesWith(...steps) };
    project.origin.branches.set('main', addCommit(project.origin, { tree, parent, message: 'Pipeline' }));
    project.clock.advance(HOUR);
    reviewerOf(project).behaviours = [finding()];
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'complete (plan_complete)', calls });
    expect(pageOf(run)).not.toContain('### Findings of reviews');
  });

  test('count over three jobs as in one', async () => {
    const steps = [work, review({ hold: 'high' })];
    const project = projectWith([finding('high')], { steps, inputs: { 'max-iterations': '1' } });
    const run = await runSplit(project);
    expect(savedState(project)).toMatchObject({ tasks: { 'issue-1': { state: 'in-progress' } } });
    expect(savedState(project).change.reviews).toMatchObject([
      { task: 'issue-1', step: 'review', review: { holding: 1 } },
    ]);
    expect(run).toBeDefined();
  });
});

describe('the provider of a step with an agent of its own', () => {
  test('at its limit parks the run until then, also the next one, and the first agent is not blamed', async () => {
    const project = projectWith([usageLimited(noon + 3 * HOUR)]);
    const run = await runOnce(project);
    expect(run.outcome).toMatchObject({ kind: 'parked', reason: 'usage_limit', resumeAt: noon + 3 * HOUR });
    expect(savedState(project).providers).toMatchObject({ codex: { kind: 'open', why: 'limit' } });
    expect(savedState(project).providers.claude?.kind).not.toBe('open');
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'parked (usage_limit)', calls: 0 });
    project.clock.advance(3 * HOUR);
    reviewerOf(project).behaviours = [finding()];
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
  });

  test('at its limit is not called again for a review that may fail, and the work continues', async () => {
    const project = projectWith([usageLimited(noon + 3 * HOUR)], {
      agent: [steadyWorker],
      steps: [work, review({}, { continue_on_error: true })],
      inputs: { 'max-iterations': '3' },
    });
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 4 });
    project.clock.advance(4 * HOUR);
    reviewerOf(project).behaviours = [finding()];
    expect(await runOnce(project)).toMatchObject({ end: 'limit (iterations)', calls: 6 });
  });

  test('refusing its key ends the run, and says whose', async () => {
    const project = projectWith([() => ({ exitCode: 1, output: { agentError: { kind: 'auth', text: '401 no' } } })]);
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 2 });
    expect(run.outcome).toMatchObject({
      message: expect.stringContaining('The agent codex of step review cannot work: 401 no.') as string,
    });
  });

  test('without a price leaves the cost unknown, never $0.00', async () => {
    const project = projectWith([() => ({ words: '{"findings": []}', output: { costUsd: null, tokens: 50 } })]);
    const run = await runOnce(project);
    if (run.report === null) throw new Error('no report');
    expect(renderSummary(run.report)).toContain('**Cost:** at least $0.01');
    expect(pageOf(run)).toContain('at least $0.01');
    expect(savedState(project).change).toMatchObject({ unpriced: 1 });
  });

  test('with no key ends the run before a call', async () => {
    const project = projectWith([finding()]);
    const run = await runOnce(project, { otherLoginProblems: { codex: ['There is no key for the agent.'] } });
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({
      message: expect.stringContaining('step review calls the agent codex: There is no key for the agent.') as string,
    });
  });

  test.each(['command', 'acp'])('%s without a path ends the run before a call', async (agent) => {
    const run = await runOnce(projectWith([finding()], { steps: [work, review({ agent })] }));
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({
      message: expect.stringContaining(`give its path: \`agent-path: ${agent}=PATH\``) as string,
    });
  });

  test('inputs about an agent that nothing calls end the run before a call', async () => {
    const inputs = { 'agent-path': 'gemini=/bin/gemini' };
    expect(await runOnce(projectWith([finding()], { inputs }))).toMatchObject({
      end: 'failed (configuration)',
      calls: 0,
    });
  });
});
