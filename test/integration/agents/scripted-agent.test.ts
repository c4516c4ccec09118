import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import { buildClaudeArguments } from '../../../src/agents/claude/cli.ts';
import { eventually } from '../../eventually.ts';
import { callOf, createAgentOn, createMachine, type AgentUnderTest, type Machine } from './agent-fixture.ts';
import { isRunning, processesWith } from '../processes/process-fixture.ts';

// The stand-in for the CLI; the adapter starts it like the real one.
const command = { kind: 'path', path: join(import.meta.dirname, '../../../testbed/scripted-agent.ts') } as const;
const PROMPT = '# Your task: issue-7\n\n<<<<< BEGIN TASK-1\nCount\n>>>>> END TASK-1';
const LAST_PROMPT = `- Tasks: 1 done, 1 open (this one included).\n\n${PROMPT}`;

test('it says that it is not a model', async () => {
  await using scene = await createScene([]);
  expect(await scene.agent.prepare()).toEqual({
    name: "the sandbox's scripted agent (no model; the sandbox plays without isolation)",
    version: '',
  });
});

test('it takes every option that a call may have', async () => {
  await using machine = await createMachine();
  const session = { cwd: machine.workFolder, env: machine.environment, encoding: 'utf8', input: PROMPT } as const;
  const args = buildClaudeArguments({
    ...{ model: 'a-model', allowedTools: ['Read'], extraArgs: ['--max-turns', '3'], budgetUsd: 1 },
    ...{ resume: null, alsoFolder: machine.home },
  });
  const first = spawnSync(process.execPath, [command.path, ...args], session);
  expect(first.stderr).toBe('');
  const [, id = ''] = /"session_id":"([^"]+)"/.exec(first.stdout) ?? [];
  expect(spawnSync(process.execPath, [command.path, ...args, '--resume', id], session)).toMatchObject({
    status: 0,
    stderr: '',
  });
});

test.each([
  { kind: 'not the last', second: PROMPT, exitSignal: false },
  { kind: 'the last', second: LAST_PROMPT, exitSignal: true },
])(
  'a task that is $kind is begun by the first call and finished by the second, which resumes',
  async ({ second, exitSignal }) => {
    await using scene = await createScene([]);
    const first = await scene.agent.call(callOf({ prompt: PROMPT }));
    expect(first).toMatchObject({
      end: { kind: 'exited', code: 0 },
      analysis: { agentError: null, signal: { from: 'block', status: 'IN_PROGRESS', exitSignal: false } },
    });
    // The log names files as a person knows them.
    expect(scene.log.lines.join('\n')).toContain('→ Write src/issue-7.mjs');
    const done = await scene.agent.call(callOf({ prompt: second, resume: first.analysis.sessionId }));
    expect(done.analysis).toMatchObject({
      sessionId: first.analysis.sessionId,
      signal: { status: 'COMPLETE', exitSignal, testsStatus: 'PASSING', tasksCompleted: 1 },
    });
    expect(existsSync(join(scene.machine.workFolder, 'src/issue-7.mjs'))).toBe(true);
    expect(existsSync(join(scene.machine.workFolder, 'test/issue-7.test.mjs'))).toBe(true);
  },
);

test('a session travels by export and import, and is unknown without', async () => {
  await using scene = await createScene([]);
  const id = (await scene.agent.call(callOf({ prompt: PROMPT }))).analysis.sessionId ?? '';
  const exported = await scene.agent.exportSession(id);

  const fresh = createAgentOn(scene.machine, { command });
  expect((await fresh.agent.call(callOf({ prompt: PROMPT, resume: id }))).analysis.agentError?.kind).toBe(
    'unknown-session',
  );
  expect(await fresh.agent.importSession(id, exported ?? Buffer.alloc(0))).toBe(true);
  expect((await fresh.agent.call(callOf({ prompt: PROMPT, resume: id }))).analysis).toMatchObject({
    agentError: null,
    sessionId: id,
  });
});

test.each<{ behaviour: Behaviour; run: Record<string, unknown> }>([
  { behaviour: { kind: 'exit', code: 1, stderr: 'cannot continue' }, run: { end: { kind: 'exited', code: 1 } } },
  {
    behaviour: { kind: 'usage-limit', resetsAt: 1_795_304_042 },
    run: { analysis: { usageLimit: { window: 'five-hour', resumeAt: '2026-11-21T23:34:02.000Z' } } },
  },
  {
    behaviour: { kind: 'denial', command: 'docker ps' },
    run: { analysis: { denials: [{ tool: 'Bash', command: 'docker ps' }], agentError: null } },
  },
  { behaviour: { kind: 'work-without-block' }, run: { analysis: { signal: { status: null }, agentError: null } } },
  { behaviour: { kind: 'idle' }, run: { analysis: { signal: { status: null }, agentError: null } } },
  { behaviour: { kind: 'garbage', text: '\u0000{"type":' }, run: { end: { kind: 'exited', code: 0 } } },
])('$behaviour.kind', async ({ behaviour, run }) => {
  await using scene = await createScene([behaviour]);
  expect(await scene.agent.call(callOf({ prompt: PROMPT }))).toMatchObject(run);
});

test('an agent that ignores SIGTERM is gone when its time is up', async () => {
  await using scene = await createScene([{ kind: 'hang', ignoreSigterm: true }]);
  const run = await scene.agent.call(callOf({ prompt: PROMPT, timeoutMs: 1_000, timeoutOf: 'run' }));
  expect(run.end).toEqual({ kind: 'timeout', of: 'run' });
  expect(processesWith(scene.runTag)).toEqual([]);
});

const RETRY = { type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 10, session_id: 's' };
const RETRIES = { ...RETRY, retry_delay_ms: 60_000, error_status: 529, error: 'overloaded' };

test.each<{ what: string; lines: readonly object[]; timeoutMs: number; run: Record<string, unknown> }>([
  {
    what: 'that only retries is ended with all its processes, in the words of the provider',
    lines: [RETRIES],
    timeoutMs: 60_000,
    run: {
      end: { kind: 'stalled' },
      analysis: {
        agentError: {
          kind: 'server',
          text: 'The provider answered HTTP 529 (overloaded), and the CLI only retried for 0.1 minutes, so the call was ended.',
        },
        usageLimit: { window: 'unknown', resumeAt: null, unconfirmed: true },
      },
    },
  },
  {
    what: 'whose try is under way is given its time, since a slow model may be answering it',
    lines: [{ ...RETRIES, retry_delay_ms: 1 }],
    timeoutMs: 1_000,
    run: { end: { kind: 'timeout', of: 'call' }, analysis: { agentError: null } },
  },
  {
    what: 'that continues after a retry is at work',
    lines: [RETRIES, { type: 'user', message: { role: 'user', content: [] }, session_id: 's' }],
    timeoutMs: 1_000,
    run: { end: { kind: 'timeout', of: 'call' }, analysis: { agentError: null } },
  },
])('a call $what', async ({ lines, timeoutMs, run }) => {
  await using machine = await createMachine();
  const path = join(machine.home, 'retrying.mjs');
  const printed = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  await writeFile(path, `process.stdout.write(${JSON.stringify(printed)});setInterval(() => {}, 1000);`);
  const { agent, runTag } = createAgentOn(machine, { command: { kind: 'path', path }, stallMs: 200 });
  expect(await agent.call(callOf({ prompt: PROMPT, timeoutMs }))).toMatchObject(run);
  expect(processesWith(runTag)).toEqual([]);
});

test('an exit code of 0 without a result is not believed', async () => {
  await using machine = await createMachine();
  const path = join(machine.home, 'nothing.mjs');
  await writeFile(path, '');
  const { agent } = createAgentOn(machine, { command: { kind: 'path', path } });
  expect(await agent.call(callOf({ prompt: PROMPT }))).toMatchObject({
    end: { kind: 'exited', code: 0 },
    analysis: { agentError: { kind: 'other', text: 'The CLI ended without a result.' } },
  });
});

test('an orphan of a call is gone when the call is done', async () => {
  await using scene = await createScene([{ kind: 'orphan', pidFile: 'orphan.pid' }]);
  expect((await scene.agent.call(callOf({ prompt: PROMPT }))).analysis.signal.status).toBe('IN_PROGRESS');
  expect(isRunning(Number(readFileSync(join(scene.machine.workFolder, 'orphan.pid'), 'utf8')))).toBe(false);
});

test('a sweep ends a running call', async () => {
  await using scene = await createScene([{ kind: 'hang', ignoreSigterm: true }]);
  const running = scene.agent.call(callOf({ prompt: PROMPT }));
  await eventually(() => {
    expect(processesWith(scene.runTag)).not.toEqual([]);
  });
  await scene.agent.sweep();
  expect(processesWith(scene.runTag)).toEqual([]);
  expect(await running).toMatchObject({ end: { kind: 'signalled' } });
});

test('an agent that cannot be started is reported with what to do', async () => {
  await using machine = await createMachine();
  const { agent } = createAgentOn(machine, { command: { kind: 'path', path: '/nowhere/claude' } });
  await expect(agent.call(callOf({ prompt: PROMPT }))).rejects.toThrow('The agent /nowhere/claude cannot be started');
  await expect(agent.prepare()).rejects.toThrow('Set agent-path');
});

async function createScene(
  behaviours: readonly Behaviour[],
): Promise<AgentUnderTest & { machine: Machine; [Symbol.asyncDispose](): Promise<void> }> {
  const machine = await createMachine();
  const script = join(machine.home, `${randomUUID()}.json`);
  await writeFile(script, JSON.stringify(behaviours));
  return {
    ...createAgentOn(machine, { command, environment: { RALPH_SCRIPT: script } }),
    machine,
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}
