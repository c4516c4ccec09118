import { describe, expect, test } from 'vitest';
import { HOUR, MINUTE, noon } from '../../unit/core/core-fixtures.ts';
import {
  crashing,
  denied,
  finisher,
  liar,
  steadyWorker,
  stuck,
  usageLimited,
  type AgentScript,
  type Behaviour,
} from '../stage/behaviours.ts';
import { renderStatusJson } from '../../../src/report/pages/status-json.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import type { Project } from '../stage/project.ts';
import { runSplit } from '../stage/split.ts';
import { createProject, makeRed, runOnce, savedState, type Run } from '../stage/run-action.ts';

function refusing(kind: 'auth' | 'billing' | 'server'): Behaviour {
  return () => ({ exitCode: 1, output: { agentError: { kind, text: `${kind} problem` } } });
}

/** Returns the script of the second agent. */
function second({ others: [other] }: Project): AgentScript {
  if (other === undefined) throw new Error('there is no second agent');
  return other[1];
}

/** Returns the agent of each iteration. */
function turns({ work }: Run): readonly (string | null)[] {
  return work?.journal.map(({ agent }) => agent) ?? [];
}

describe('a task is handed on within the run', () => {
  test.each<[string, readonly Behaviour[], readonly string[]]>([
    ['at the usage limit of its provider', [usageLimited(noon + 3 * HOUR)], ['claude', 'codex']],
    ['without credit', [refusing('billing')], ['claude', 'codex']],
    ['with a refused key', [refusing('auth')], ['claude', 'codex']],
    ['after a second failure in a row', [refusing('server')], ['claude', 'claude', 'codex']],
    ['after a second call that only retried', [() => ({ stalled: true, exitCode: 1 })], ['claude', 'claude', 'codex']],
    ['after a second crash of its CLI', [crashing], ['claude', 'claude', 'codex']],
    [
      'after a second call that was cut off and changed nothing',
      [() => ({ minutes: Infinity, chars: 0 })],
      ['claude', 'claude', 'codex'],
    ],
  ])('%s', async (_, agent, expected) => {
    const project = createProject({ agent, others: { codex: [finisher] }, inputs: { 'agent-timeout-minutes': '5' } });
    const run = await runOnce(project);
    expect({ end: run.end, turns: turns(run) }).toEqual({ end: 'complete (plan_complete)', turns: expected });
    expect(savedState(project).tasks['issue-1']).toMatchObject({ state: 'done', attempts: 1 });
    expect(savedState(project).circuit).toMatchObject({ kind: 'closed', noProgress: 0 });
    expect(savedState(project).park).toBeNull();
  });

  test('even if the first failure would open the circuit of a single agent', async () => {
    const inputs = { 'circuit-no-progress': '1' };
    const project = createProject({ agent: [refusing('server')], others: { codex: [finisher] }, inputs });
    expect((await runOnce(project)).end).toBe('complete (plan_complete)');
  });

  test('its commits name the agent that created them', async () => {
    const project = createProject({
      agent: [steadyWorker, usageLimited(noon + 3 * HOUR)],
      others: { codex: [finisher] },
    });
    const run = await runOnce(project);
    const messages = run.work?.journal.map(({ commit }) => project.origin.commits.get(commit ?? '')?.message ?? '');
    expect(messages?.map((message) => /Co-authored-by: (\w+)/.exec(message)?.[1] ?? null)).toEqual([
      'Claude',
      null,
      'codex',
    ]);
  });
});

describe('if no agent can be called', () => {
  test('the run is parked until the first limit is over', async () => {
    const project = createProject({
      agent: [usageLimited(noon + 3 * HOUR)],
      others: { codex: [usageLimited(noon + 2 * HOUR)] },
    });
    const run = await runOnce(project);
    expect(run.outcome).toEqual({ kind: 'parked', reason: 'usage_limit', resumeAt: noon + 2 * HOUR });
    expect(turns(run)).toEqual(['claude', 'codex']);
    expect(savedState(project)).toMatchObject({
      park: { reason: 'usage_limit', resumeAt: noon + 2 * HOUR },
      tasks: { 'issue-1': { attempts: 0 } },
    });
    // Until then no run calls an agent; afterwards the agent that is available again has its turn.
    project.clock.advance(HOUR);
    expect(await runOnce(project)).toMatchObject({ end: 'parked (usage_limit)', calls: 0 });
    project.clock.advance(HOUR);
    second(project).behaviours = [finisher];
    const last = await runOnce(project);
    expect({ end: last.end, turns: turns(last) }).toEqual({ end: 'complete (plan_complete)', turns: ['codex'] });
  });

  test('a refused key and a limit: the limit is waited for', async () => {
    const project = createProject({ agent: [refusing('auth')], others: { codex: [usageLimited(noon + 2 * HOUR)] } });
    expect((await runOnce(project)).outcome).toMatchObject({ kind: 'parked', resumeAt: noon + 2 * HOUR });
  });

  test('each key is refused: the run fails as with one agent, and the next run calls one again', async () => {
    const project = createProject({ agent: [refusing('auth')], others: { codex: [refusing('billing')] } });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 2 });
    project.script.behaviours = [finisher];
    project.clock.advance(MINUTE);
    expect(await runOnce(project)).toMatchObject({ end: 'complete (plan_complete)', calls: 1 });
  });

  test("each provider only fails: the lane's circuit ends the run, as with one agent", async () => {
    const project = createProject({ agent: [refusing('server')], others: { codex: [refusing('server')] } });
    const run = await runOnce(project);
    expect(run.end).toBe('halted (circuit_open)');
    expect(turns(run).slice(0, 4)).toEqual(['claude', 'claude', 'codex', 'codex']);
    expect(savedState(project).tasks['issue-1']?.attempts).toBe(0);
  });
});

describe('a bad result never leads to another agent', () => {
  test.each<[string, readonly Behaviour[]]>([
    ['no progress', [stuck]],
    ['claims', [liar]],
    ['refused tools', [denied]],
  ])('%s', async (_, agent) => {
    const project = createProject({ agent, others: { codex: [finisher] } });
    const run = await runOnce(project);
    expect({ end: run.end, agents: new Set(turns(run)) }).toEqual({
      end: 'halted (circuit_open)',
      agents: new Set(['claude']),
    });
    expect(second(project)).toMatchObject({ calls: [], prepared: 0 });
  });

  test('tests that fail', async () => {
    const inputs = { verify: 'npm test', 'max-iterations': '3' };
    const project = createProject({ agent: [finisher], others: { codex: [finisher] }, inputs });
    makeRed(project);
    expect(turns(await runOnce(project))).toEqual(['claude', 'claude', 'claude']);
  });
});

describe('the first agent of the order returns', () => {
  test('when its limit is over, in the middle of a run', async () => {
    const project = createProject({
      agent: [usageLimited(noon + 3 * MINUTE), finisher],
      others: { codex: [steadyWorker] },
    });
    const run = await runOnce(project);
    expect(run.end).toBe('complete (plan_complete)');
    expect(turns(run)).toEqual(['claude', 'codex', 'codex', 'claude']);
  });

  test('by one call that probes it; a probe that fails costs no more than that call', async () => {
    const fails = refusing('server');
    const project = createProject({
      agent: [fails, fails, fails, steadyWorker],
      others: { codex: [(call) => ({ ...steadyWorker(call), minutes: 8 })] },
      inputs: { 'max-iterations': '10', 'max-iterations-per-task': '0', 'max-minutes': '90' },
    });
    const run = await runOnce(project);
    const [a, b] = ['claude', 'codex'];
    expect(turns(run)).toEqual([a, a, b, b, a, b, b, a, a, a]);
    expect(savedState(project).providers).toEqual({ claude: { kind: 'closed', failures: 0 } });
  });

  test('an agent that is not called is not installed', async () => {
    const project = createProject({
      agent: [usageLimited(noon + 5 * HOUR)],
      others: { codex: [steadyWorker], gemini: [steadyWorker] },
      inputs: { 'max-iterations': '2' },
    });
    await runOnce(project);
    await runOnce(project);
    expect([project.script.prepared, ...project.others.map(([, { prepared }]) => prepared)]).toEqual([1, 2, 0]);
  });
});

describe('each agent has its own conversation', () => {
  test('which it continues at its next turn, in this run and in later ones', async () => {
    const project = createProject({
      agent: [steadyWorker, usageLimited(noon + 2 * HOUR)],
      others: { codex: [steadyWorker] },
      inputs: { 'max-iterations': '3', 'max-iterations-per-task': '0' },
    });
    const codex = second(project);
    await runOnce(project);
    expect(savedState(project)).toMatchObject({
      agent: 'codex',
      session: { id: 'codex-session-1' },
      resting: { claude: { id: 'session-1' } },
    });
    // The next run is on another machine, where Claude Code is not even loaded.
    await runOnce(project);
    expect(codex.calls.map(({ resume }) => resume)).toEqual([null, ...Array<string>(3).fill('codex-session-1')]);
    expect(project.script.calls).toHaveLength(2);
    project.clock.advance(2 * HOUR);
    project.script.behaviours = [steadyWorker];
    await runOnce(project);
    expect(project.script.calls.map(({ resume }) => resume)).toEqual([
      null,
      'session-1',
      'session-1',
      'session-1',
      'session-1',
    ]);
    expect(savedState(project).resting).toMatchObject({ codex: { id: 'codex-session-1' } });
  });

  test('and learns what another one did when it takes a task over', async () => {
    const works: Behaviour = (call) => {
      const act = steadyWorker(call);
      return {
        ...act,
        output: { signal: { ...act.output?.signal, summary: 'Laid the table', recommendation: 'Cook' } },
      };
    };
    const project = createProject({ agent: [works, usageLimited(noon + 9 * HOUR)], others: { codex: [works] } });
    await runOnce({ ...project, inputs: { 'max-iterations': '4' } });
    const prompts = second(project).calls.map(({ prompt }) => prompt);
    expect(prompts[0]).toContain('Another agent (claude) worked on this task before you');
    expect(prompts[0]).toContain('Laid the table');
    expect(prompts[0]).toMatch(/Iteration 1 \(issue-1\): changed src\//);
    // The agent remembers its own iteration.
    expect(prompts[1]).not.toContain('Another agent');
    expect(project.script.calls.every(({ prompt }) => !prompt.includes('Another agent'))).toBe(true);
  });
});

describe('people see which agent did what', () => {
  test('in the summary, in RALPH_STATUS, in the log and on the pull request', async () => {
    const project = createProject({
      agent: [steadyWorker, usageLimited(noon + 2 * HOUR)],
      others: { codex: [finisher] },
    });
    const run = await runOnce(project);
    if (run.report === null) throw new Error('there is no report');
    const said = 'claude was at its usage limit until 2026-11-21 14:00 UTC, so codex took over in iteration 3.';
    expect(run.log.join('\n')).toContain(said);
    expect(renderSummary(run.report)).toContain(said);
    expect(JSON.parse(renderStatusJson(run.report))).toMatchObject({
      agents: [
        { name: 'claude', iterations: 2 },
        { name: 'codex', iterations: 1 },
      ],
      handOvers: [said],
      tasks: [{ id: 'issue-1', agents: ['claude', 'codex'] }],
    });
    expect(project.forge.pulls[0]?.body).toContain('by claude, codex');
    expect(savedState(project).ledger).toMatchObject([{ calls: 3, agents: { claude: 2, codex: 1 } }]);
  });

  test('but not if one agent did everything', async () => {
    const project = createProject({ agent: [finisher], others: { codex: [finisher] } });
    const run = await runOnce(project);
    if (run.report === null) throw new Error('there is no report');
    expect(renderSummary(run.report)).not.toMatch(/codex|claude/);
    expect(project.forge.pulls[0]?.body).not.toContain('codex');
  });
});

test('over three jobs the task is handed on, and each conversation is kept, as in one job', async () => {
  const project = createProject({
    agent: [steadyWorker, usageLimited(noon + 2 * HOUR)],
    others: { codex: [steadyWorker] },
    inputs: { 'max-iterations': '3', 'max-iterations-per-task': '0' },
  });
  await runSplit(project);
  await runSplit(project);
  project.clock.advance(2 * HOUR);
  project.script.behaviours = [steadyWorker];
  await runSplit(project);
  expect(second(project).calls.map(({ resume }) => resume)).toEqual([
    null,
    ...Array<string>(3).fill('codex-session-1'),
  ]);
  expect(project.script.calls.map(({ resume }) => resume).slice(1)).toEqual(Array<string>(4).fill('session-1'));
});
