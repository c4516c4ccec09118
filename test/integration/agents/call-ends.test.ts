import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { claudeCli } from '../../../src/agents/claude/cli.ts';
import { commandCli } from '../../../src/agents/command/cli.ts';
import { copilotCli } from '../../../src/agents/copilot/cli.ts';
import type { AgentCli } from '../../../src/agents/cli/cli.ts';
import { mcpToolRules, type RemoteServer } from '../../../src/core/mcp/values.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';

const docs: RemoteServer = {
  ...{ kind: 'remote', name: 'docs', tools: [], transport: 'http', url: 'https://a.example/mcp', headers: {} },
};

async function createScene(cli: AgentCli, script: string, lingerMs = 45_000) {
  const machine = await createMachine();
  const path = join(machine.home, 'my-agent');
  writeFileSync(path, `#!/bin/sh\ncat > /dev/null\n${script}\n`, { mode: 0o755 });
  return {
    ...machine,
    ...createAgentOn(machine, {
      cli,
      command: { kind: 'path', path },
      lingerMs,
      servers: [docs],
      allowedTools: ['Read', ...mcpToolRules([docs])],
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
  test('is ended, and the call counts with its result', async () => {
    await using scene = await createScene(claudeCli, `${init()}\n${result}\nsleep 600`, 300);
    const { end, analysis, durationMs } = await scene.agent.call(callOf({ prompt: 'x' }));
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(analysis).toMatchObject({ agentError: null, costUsd: 0.5, sessionId: 's-1' });
    expect(durationMs).toBeLessThan(60_000);
    expect(scene.log.lines.join('\n')).toContain('did not exit');
  });

  test('is waited for while a task of it runs in the background', async () => {
    const task = line({ type: 'system', subtype: 'task_started', session_id: 's-1', task_id: 't' });
    const over = line({
      type: 'system',
      subtype: 'task_notification',
      session_id: 's-1',
      task_id: 't',
      status: 'completed',
    });
    const late = result.replace('All done.', 'Now all is done.');
    await using scene = await createScene(claudeCli, `${init()}\n${task}\n${result}\nsleep 1\n${over}\n${late}`, 300);
    const { end, outputChars } = await scene.agent.call(callOf({ prompt: 'x' }));
    expect(end).toEqual({ kind: 'exited', code: 0 });
    expect(outputChars).toBe('Now all is done.'.length);
  });
});

test.each([
  [[{ name: 'docs', status: 'failed' }], ['docs (failed)']],
  [
    [
      { name: 'docs', status: 'needs-auth' },
      { name: 'db', status: 'connected' },
    ],
    ['docs (needs-auth)'],
  ],
  [
    [
      { name: 'db', status: 'connected' },
      { name: 'slow', status: 'pending' },
    ],
    [],
  ],
])('MCP servers %j: without tools are %j', async (servers, failed) => {
  await using scene = await createScene(claudeCli, `${init(servers)}\n${result}`);
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
