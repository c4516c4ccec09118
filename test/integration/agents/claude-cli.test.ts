import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ModelStep } from '../../../testbed/scripted-model/step.ts';
import { writeStatusBlock } from '../../../testbed/scripted-work.ts';
import { createWorkerScript } from '../../../testbed/worker-script.ts';
import { mentions } from '../../agents/mentions.ts';
import { eventually } from '../../eventually.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';
import { claude, createWorld, installOnce } from './claude-fixture.ts';
import { commandOf, isRunning, processesWith } from '../processes/process-fixture.ts';

// These tests use the real Claude Code CLI against a scripted model on loopback.
beforeAll(installOnce, 300_000);

afterEach(() => {
  vi.useRealTimers();
});

test('an installed version is found again without npm', async () => {
  await using machine = await createMachine();
  expect(await createAgentOn(machine, { command: claude, environment: { PATH: '/nowhere' } }).agent.prepare()).toEqual({
    name: 'Claude Code',
    version: claude.version,
  });
});

describe('work', () => {
  test('it writes a file and ends with a status block', async () => {
    await using world = await createWorld({
      script: [
        write('hello.txt', 'hello\n'),
        {
          kind: 'reply',
          text: `Done.\n\n${writeStatusBlock({ finishes: true, exit: true, tests: 'NOT_RUN', recommendation: 'none' })}`,
        },
      ],
    });
    const run = await world.call('write hello');
    expect(readFileSync(join(world.machine.workFolder, 'hello.txt'), 'utf8')).toBe('hello\n');
    expect(run).toMatchObject({
      end: { kind: 'exited', code: 0 },
      analysis: {
        format: 'jsonl',
        agentError: null,
        denials: [],
        turns: 2,
        signal: { from: 'block', status: 'COMPLETE', exitSignal: true },
      },
    });
    expect(run.outputChars).toBeGreaterThan(100);
    expect(world.log.lines).toContain('→ Write hello.txt');
  });

  test('no file or skill that a prompt mentions is read for it', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'Done.' }] });
    expect(await world.call(mentions(world.machine))).toMatchObject({ finalMessage: 'Done.' });
    const said = JSON.stringify(world.model.requests.map(({ body }) => body));
    expect([said.includes('@./inner.txt'), said.includes('MENTIONED')]).toEqual([true, false]);
  });

  test('in a folder of the repository it writes there and beside it, and its session continues there', async () => {
    await using world = await createWorld({
      script: [write('here.txt', 'here\n'), write('../../shared.txt', 'there\n'), { kind: 'reply', text: 'Done.' }],
      folder: 'packages/a',
    });
    const folder = join(world.machine.workFolder, 'packages/a');
    mkdirSync(folder, { recursive: true });
    const run = await world.call('write both');
    expect(run.analysis.denials).toEqual([]);
    expect(readFileSync(join(folder, 'here.txt'), 'utf8')).toBe('here\n');
    expect(readFileSync(join(world.machine.workFolder, 'shared.txt'), 'utf8')).toBe('there\n');
    expect(await world.agent.exportSession(run.analysis.sessionId ?? '')).not.toBeNull();
  });

  test('it commits, and a resumed session on a fresh config folder knows what went before', async () => {
    await using world = await createWorld({ script: createWorkerScript() });
    const first = await world.call(promptFor({ open: 2 }));
    expect(first.analysis).toMatchObject({ agentError: null, signal: { status: 'IN_PROGRESS', exitSignal: false } });
    const sessionId = first.analysis.sessionId ?? '';
    const exported = await world.agent.exportSession(sessionId);

    const fresh = createAgentOn(world.machine, { command: claude, environment: world.environment });
    expect(await fresh.agent.importSession(sessionId, exported ?? Buffer.alloc(0))).toBe(true);
    const second = await fresh.agent.call(callOf({ prompt: promptFor({ open: 1 }), resume: sessionId }));
    expect(second.analysis).toMatchObject({
      sessionId,
      agentError: null,
      signal: { status: 'COMPLETE', exitSignal: true },
    });
    expect(execFileSync('git', ['-C', world.machine.workFolder, 'log', '--format=%s %an'], { encoding: 'utf8' })).toBe(
      'Test issue-12 Agent\n',
    );
    expect(world.model.requests.at(-1)?.conversation?.prompts).toHaveLength(2);
  });

  test('a transcript leaves without what must not be stored', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'the key is s3cr3t-value' }] });
    const { analysis } = await world.call('say it');
    const exported = await world.agent.exportSession(analysis.sessionId ?? '');
    const text = Buffer.from(exported ?? []).toString();
    expect(text).toMatch(/the key is \*\*\*/);
    expect(text).not.toContain('s3cr3t-value');
  });

  test('a prompt larger than an argument can be arrives whole', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'read' }] });
    await world.call(`${'x'.repeat(200_000)} the end`);
    expect(world.model.requests[0]?.conversation?.prompts[0]).toContain(`${'x'.repeat(200_000)} the end`);
  });

  test('settings of the repository are not obeyed', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'fine' }] });
    const marker = join(world.machine.home, 'hook-ran');
    const settings = {
      env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
      hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${marker}` }] }] },
    };
    mkdirSync(join(world.machine.workFolder, '.claude'));
    writeFileSync(join(world.machine.workFolder, '.claude/settings.json'), JSON.stringify(settings));
    const run = await world.call('hello');
    expect(run.analysis.agentError).toBeNull();
    expect(existsSync(marker)).toBe(false);
  });
});

describe('what goes wrong', () => {
  test('a denied command is a denial and no error', async () => {
    await using world = await createWorld({
      script: [
        { kind: 'use', tool: 'Bash', input: { command: 'curl http://127.0.0.1:9/', description: 'fetch' } },
        { kind: 'reply', text: 'I may not.' },
      ],
    });
    expect(await world.call('fetch')).toMatchObject({
      end: { kind: 'exited', code: 0 },
      analysis: { agentError: null, denials: [{ tool: 'Bash', command: 'curl http://127.0.0.1:9/' }] },
    });
  });

  test.each([
    { status: 401, type: 'authentication_error', kind: 'auth', usageLimit: null },
    { status: 529, type: 'overloaded_error', kind: 'server', usageLimit: { window: 'unknown', resumeAt: null } },
  ])('an API that answers $status is an agent error of the kind $kind', async ({ status, type, kind, usageLimit }) => {
    await using world = await createWorld({
      script: [{ kind: 'error', status, type, message: 'no' }],
      environment: { CLAUDE_CODE_MAX_RETRIES: '0' },
    });
    expect(await world.call('hello')).toMatchObject({
      end: { kind: 'exited', code: 1 },
      analysis: { agentError: { kind }, usageLimit },
    });
  });

  test("a subscription's five-hour limit tells when it ends", async () => {
    const resetsAt = Math.floor(Date.now() / 1000) + 7200;
    const headers = {
      'anthropic-ratelimit-unified-status': 'rejected',
      'anthropic-ratelimit-unified-reset': String(resetsAt),
      'anthropic-ratelimit-unified-representative-claim': 'five_hour',
      'anthropic-ratelimit-unified-overage-status': 'rejected',
    };
    await using world = await createWorld({
      script: [{ kind: 'error', status: 429, type: 'rate_limit_error', message: 'limit', headers }],
      environment: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-not-a-token' },
    });
    expect((await world.call('hello')).analysis.usageLimit).toEqual({
      window: 'five-hour',
      resumeAt: new Date(resetsAt * 1000).toISOString(),
    });
  });

  test('a session without a transcript is an unknown session', async () => {
    await using world = await createWorld({ script: [{ kind: 'reply', text: 'never asked' }] });
    const run = await world.agent.call(callOf({ prompt: 'go on', resume: randomUUID() }));
    expect(run.analysis.agentError?.kind).toBe('unknown-session');
    expect(world.model.requests).toEqual([]);
  });

  test('a refused option, reported on stderr alone, is the error of the agent', async () => {
    await using world = await createWorld({
      script: [{ kind: 'reply', text: 'never asked' }],
      extraArgs: ['--no-such-option'],
    });
    expect(await world.call('hello')).toMatchObject({
      end: { kind: 'exited', code: 1 },
      analysis: { agentError: { kind: 'other', text: expect.stringContaining('--no-such-option') } },
    });
  });
});

describe('the end', () => {
  const forever: ModelStep = {
    kind: 'use',
    text: 'working',
    tool: 'Bash',
    input: { command: 'git add . && (setsid sleep 1000 & sleep 1000)', description: 'wait' },
  };

  // processes/run-program.test.ts tests that this takes less than 5 s, whatever the processes do.
  test('a cancelled call leaves no process behind', async () => {
    await using world = await createWorld({ script: [forever], allowedTools: ['Bash'] });
    const cancel = new AbortController();
    const running = world.agent.call(callOf({ prompt: 'wait', signal: cancel.signal }));
    await eventually(() => {
      expect(processesWith(world.runTag).map(commandOf)).toContain('sleep 1000 ');
    });
    const pids = processesWith(world.runTag);
    cancel.abort();
    expect((await running).end).toEqual({ kind: 'cancelled' });
    expect(pids.filter(isRunning)).toEqual([]);
    expect(processesWith(world.runTag)).toEqual([]);
  });

  test('a call that takes too long is ended, and what it had said is known', async () => {
    await using world = await createWorld({ script: [{ kind: 'hang' }] });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = world.agent.call(callOf({ prompt: 'wait', timeoutMs: 3_000 }));
    while (world.model.requests.every(({ method }) => method !== 'POST')) await pause(20);
    vi.advanceTimersByTime(3_000);
    const run = await running;
    expect(run).toMatchObject({
      end: { kind: 'timeout', of: 'call' },
      analysis: { sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/), agentError: null },
    });
    expect(processesWith(world.runTag)).toEqual([]);
  });
});

/**
 * Returns the parts of a prompt that the scripted model reads; tests with the scripted agent show that our prompts have
 * them.
 */
function promptFor({ open }: { readonly open: number }): string {
  return `- Tasks: 0 done, ${open} open (this one included).\n\n# Your task: issue-12\n\n<<<<< BEGIN TASK-1\nSay "hello"\n>>>>> END TASK-1`;
}

function write(path: string, content: string): ModelStep {
  return { kind: 'use', text: `I write ${path}.`, tool: 'Write', input: { file_path: path, content } };
}
