import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { commandCli } from '../../../src/agents/command/cli.ts';
import { copilotCli } from '../../../src/agents/copilot/cli.ts';
import type { AgentCli } from '../../../src/agents/cli/cli.ts';
import { buildMcpToolRules, type RemoteServer } from '../../../src/core/mcp/values.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';

const docs: RemoteServer = {
  ...{ kind: 'remote', name: 'docs', tools: [], transport: 'http', url: 'https://a.example/mcp', headers: {} },
};

async function createScene(cli: AgentCli, script: string) {
  const machine = await createMachine();
  const path = join(machine.home, 'my-agent');
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null\n${script}\n`, { mode: 0o755 });
  return {
    ...machine,
    ...createAgentOn(machine, {
      cli,
      command: { kind: 'path', path },
      servers: [docs],
      allowedTools: ['Read', ...buildMcpToolRules([docs])],
    }),
  };
}

const line = (event: object): string => `echo '${JSON.stringify(event)}'`;
const init = (servers: readonly object[] = []): string =>
  line({ type: 'system', subtype: 'init', session_id: 's-1', mcp_servers: servers });
const result = line({
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'All done.',
  session_id: 's-1',
  num_turns: 1,
  total_cost_usd: 0.5,
  usage: { input_tokens: 5, output_tokens: 5 },
});

test.each<[string, readonly string[] | null, boolean]>([
  ['the rules of the run', null, true],
  ['rules of its own that only read', ['Read', 'Glob', 'Grep'], false],
])('with %s, a call gets the servers of which they allow a tool', async (_, allowedTools, isGiven) => {
  await using scene = await createScene(copilotCli, `printf '%s\\n' "$@" > "$HOME/given"`);
  await scene.agent.call(callOf({ prompt: 'x', allowedTools }));
  const given = readFileSync(join(scene.home, 'given'), 'utf8');
  expect(given).toContain('--output-format');
  expect([given.includes('a.example'), given.includes('--allow-tool=docs')]).toEqual([isGiven, isGiven]);
});

describe('a CLI that gave its result and does not exit', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());

  /** Makes a call, and lets the time pass for it that `passes` says once it has given its result. */
  async function call(script: string, passes: (at: { isOver: () => boolean; home: string }) => Promise<void>) {
    await using scene = await createScene(claudeCli, script);
    let over = false;
    const isOver = (): boolean => over;
    const run = scene.agent.call(callOf({ prompt: 'x', timeoutMs: 900_000 })).finally(() => {
      over = true;
    });
    while (!scene.log.lines.join('\n').includes('agent done')) await setImmediate();
    await passes({ isOver, home: scene.home });
    while (!isOver()) await pass(100);
    return { ...(await run), said: scene.log.lines.join('\n') };
  }

  /** Lets time pass, and what happens then happen. */
  async function pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  }

  test('is ended 30 to 60 s after its result, and the call counts with its result', async () => {
    const { end, analysis, said } = await call(`${init()}\n${result}\nsleep 600`, async ({ isOver }) => {
      await pass(29_000);
      expect(isOver()).toBe(false);
      await pass(31_000);
    });
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(analysis).toMatchObject({ agentError: null, costUsd: 0.5, sessionId: 's-1' });
    const [, seconds] = /did not exit for (\d+) s/.exec(said) ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(30);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  });

  test('is waited for while a task of it runs in the background', async () => {
    const task = { type: 'system', session_id: 's-1', task_id: 't' };
    const over = line({ ...task, subtype: 'task_notification', status: 'completed' });
    const { end, outputChars } = await call(
      [
        ...[init(), line({ ...task, subtype: 'task_started' }), result],
        'while [ ! -e "$HOME/over" ]; do sleep 0.05; done',
        ...[over, result.replace('All done.', 'Now all is done.')],
      ].join('\n'),
      async ({ isOver, home }) => {
        await pass(600_000);
        expect(isOver()).toBe(false);
        writeFileSync(join(home, 'over'), '');
      },
    );
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(outputChars).toBe('Now all is done.'.length);
  });
});

const copilotSays = (type: string, data: object): string => line({ type, data });

test.each<[string, AgentCli, string, readonly string[]]>([
  ['Claude: failed', claudeCli, init([{ name: 'docs', status: 'failed' }]), ['docs (failed)']],
  [
    'Claude: refused and connected',
    claudeCli,
    init([
      { name: 'docs', status: 'needs-auth' },
      { name: 'db', status: 'connected' },
    ]),
    ['docs (needs-auth)'],
  ],
  [
    'Claude: connected and slow',
    claudeCli,
    init([
      { name: 'db', status: 'connected' },
      { name: 'slow', status: 'pending' },
    ]),
    [],
  ],
  [
    'Copilot: failed and disabled',
    copilotCli,
    copilotSays('session.mcp_servers_loaded', {
      servers: [
        { name: 'docs', status: 'failed' },
        { name: 'own', status: 'disabled' },
      ],
    }),
    ['docs (failed)'],
  ],
  [
    'Copilot: failed later',
    copilotCli,
    copilotSays('session.mcp_server_status_changed', { serverName: 'docs', status: 'failed' }),
    ['docs (failed)'],
  ],
])('MCP servers of %s', async (_, cli, said, failed) => {
  await using scene = await createScene(cli, `${said}\n${result}`);
  const { failedServers } = await scene.agent.call(callOf({ prompt: 'x' }));
  expect(failedServers).toEqual(failed);
  for (const name of failed) expect(scene.log.lines.join('\n')).toContain(`no tools of the MCP server ${name}`);
});

const NODE_TRACE = `cat >&2 <<'END'
/srv/cli.js:10
    throw new TypeError('cannot read the conversation');
    ^

TypeError: cannot read the conversation
    at load (/srv/cli.js:10:11)
    at node:internal/main/run_main_module:36:49 {
  code: 'ERR_X'
}

Node.js v24.21.0
END
exit 1`;

describe('a call without a result', () => {
  test.each<[string, AgentCli, string, string]>([
    ['a trace of Node', claudeCli, NODE_TRACE, 'TypeError: cannot read the conversation'],
    [
      'a trace of Python',
      claudeCli,
      `printf 'Traceback:\\n  File "a.py", line 3\\nValueError: disk on fire\\n' >&2; exit 1`,
      'ValueError: disk on fire',
    ],
    [
      'a crash of V8',
      claudeCli,
      `printf 'FATAL ERROR: Reached heap limit\\n----- Native stack trace -----\\n 1: 0xb8d0a3 node::OOMErrorHandler [node]\\nAborted\\n' >&2; exit 134`,
      'FATAL ERROR: Reached heap limit',
    ],
    [
      'a warning behind it',
      claudeCli,
      `printf 'no disk\\n(node:7) Warning: slow\\nnpm notice New version\\n' >&2; exit 1`,
      'no disk',
    ],
    ['no word at all', claudeCli, 'exit 1', 'it ended without a result (exit code 1)'],
    ['a cut stream', claudeCli, `${init()}\necho 'out of memory' >&2; exit 134`, 'out of memory'],
    ['a command of the user', commandCli, NODE_TRACE, 'cannot read the conversation'],
  ])('%s: has its last words for its own, once in the log', async (_, cli, script, words) => {
    await using scene = await createScene(cli, script);
    const { analysis, end, outputChars } = await scene.agent.call(callOf({ prompt: 'x' }));
    expect(end.kind).toBe('exited');
    expect(analysis.agentError?.text).toContain(words);
    expect(outputChars).toBe(0);
    const [first = ''] = words.split(':');
    expect(scene.log.lines.filter((one) => one.includes(first)).length).toBeLessThanOrEqual(1);
  });
});
