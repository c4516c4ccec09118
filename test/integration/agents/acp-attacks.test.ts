import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AcpStep } from '../../../testbed/acp/scripted-agent.ts';
import { createAcpScene, DONE, oneTurn } from './acp-scene.ts';

const RULES = ['Read(src/**)', 'Edit', 'Bash(npm test)'];

const curl = { kind: 'execute', rawInput: { command: 'curl http://127.0.0.1:9/' } } as const;

test.each<readonly [what: string, call: Extract<AcpStep, { kind: 'ask' }>['call']]>([
  ['a title of an allowed command', { ...curl, title: 'npm test' }],
  ['a title of an allowed tool', { ...curl, title: 'Read src/a.ts' }],
  ['the kind of another tool', { ...curl, kind: 'read', locations: [{ path: 'src/a.ts' }] }],
  ['no raw text', { kind: 'execute', title: 'npm test', rawInput: {} }],
  ['raw text in other fields', { kind: 'execute', title: 'npm test', rawInput: { description: 'npm test' } }],
  ['a line break', { kind: 'execute', title: 'npm test', rawInput: { command: 'npm test\ntouch it-ran' } }],
  ['a log command in its text', { ...curl, title: '\n::set-env name=X::y', rawInput: { command: '\n::warning::y' } }],
  ['a mode that does not ask', { kind: 'switch_mode', title: 'npm test' }],
])('a request with %s is refused', async (_what, call) => {
  await using scene = await createAcpScene({ prompts: [[{ kind: 'ask', call, run: 'touch it-ran' }], [DONE]] });
  const { analysis } = await scene.calls('hello', { allowedTools: RULES });
  expect(analysis.denials).toHaveLength(1);
  expect(existsSync(join(scene.workFolder, 'it-ran'))).toBe(false);
  expect(scene.log.lines.filter((line) => /^::|\n/.test(line))).toEqual([]);
});

test('a request that leaves out the folder outside, which an update named before, is refused', async () => {
  const told = { sessionUpdate: 'tool_call', toolCallId: 'one', title: 'x', rawInput: { cwd: '/etc' } };
  const call = { toolCallId: 'one', kind: 'execute', rawInput: { command: 'npm test' } } as const;
  await using scene = await createAcpScene({
    prompts: [
      [
        { kind: 'update', update: told },
        { kind: 'ask', call },
      ],
      [DONE],
    ],
  });
  expect((await scene.calls('hello', { allowedTools: RULES })).analysis.denials).toHaveLength(1);
});

test('a request that can only be allowed forever is refused', async () => {
  const call = { kind: 'execute', rawInput: { command: 'npm test' } } as const;
  await using scene = await createAcpScene({
    prompts: [[{ kind: 'ask', call, run: 'touch it-ran', options: ['allow_always'] }], [DONE]],
  });
  expect((await scene.calls('hello', { allowedTools: RULES })).analysis.denials).toHaveLength(1);
  expect(existsSync(join(scene.workFolder, 'it-ran'))).toBe(false);
});

test('an edit behind a link that leads outside is refused', async () => {
  const call = { kind: 'edit' as const, locations: [{ path: 'out/file' }] };
  await using scene = await createAcpScene({ prompts: [[{ kind: 'ask', call, run: 'touch it-ran' }], [DONE]] });
  symlinkSync(scene.home, join(scene.workFolder, 'out'));
  expect((await scene.calls('hello', { allowedTools: RULES })).analysis.denials).toHaveLength(1);
});

test.each<readonly [what: string, steps: readonly AcpStep[]]>([
  ['without asking', [{ kind: 'make', call: { ...curl, title: 'npm test' } }]],
  ['without asking that fails', [{ kind: 'make', call: curl, run: 'exit 7' }]],
  [
    'that differs from what was allowed',
    [
      { kind: 'ask', call: { toolCallId: 'one', kind: 'execute', rawInput: { command: 'npm test' } } },
      { kind: 'make', call: { toolCallId: 'one', ...curl } },
    ],
  ],
  [
    'although it was refused',
    [
      { kind: 'ask', call: { toolCallId: 'one', ...curl } },
      { kind: 'make', call: { toolCallId: 'one', ...curl } },
    ],
  ],
])('a call %s ends the run where nothing else limits it', async (_what, steps) => {
  await using scene = await createAcpScene(oneTurn(...steps, { kind: 'hang' }));
  const { broken } = await scene.calls('hello', { allowedTools: RULES });
  expect(broken?.message).toMatch(/without asking that `allowed-tools` does not allow: execute curl http:/);
  expect(scene.heard('session/cancel')).toHaveLength(1);
});

test.each<readonly [what: string, call: object]>([
  ['a file outside', { rawInput: { file_path: '/etc/hosts' } }],
  ['a file of git', { content: [{ type: 'diff', path: '.git/hooks/post-commit', newText: 'x' }] }],
])('an edit that was allowed for another file than %s ends the run', async (_what, made) => {
  await using scene = await createAcpScene(
    oneTurn(
      { kind: 'ask', call: { toolCallId: 'one', kind: 'edit', rawInput: { file_path: 'a.ts' } } },
      { kind: 'make', call: { toolCallId: 'one', kind: 'edit', ...made } },
      { kind: 'hang' },
    ),
  );
  const { broken } = await scene.calls('hello', { allowedTools: RULES });
  expect(broken?.message).toMatch(/without asking that `allowed-tools` does not allow: edit/);
});

test.each<readonly [what: string, steps: readonly AcpStep[]]>([
  [
    'an allowed call without asking',
    [{ kind: 'make', call: { kind: 'execute', rawInput: { command: 'npm test' } }, run: 'exit 1' }],
  ],
  ['a call that failed before it began', [call({ ...curl, status: 'failed' })]],
  [
    'a call that failed because it was refused',
    [
      call({ ...curl, status: 'in_progress' }),
      { kind: 'ask', call: { toolCallId: 'one', ...curl } },
      call({ status: 'failed' }),
    ],
  ],
])('%s is work', async (_what, steps) => {
  await using scene = await createAcpScene(oneTurn(...steps));
  expect(await scene.calls('hello', { allowedTools: RULES })).not.toHaveProperty('broken');
});

function call(fields: object): AcpStep {
  return { kind: 'update', update: { sessionUpdate: 'tool_call_update', toolCallId: 'one', title: 'x', ...fields } };
}

test('what it says in the name of another session is not read', async () => {
  await using scene = await createAcpScene(
    oneTurn(
      { kind: 'request', method: 'session/request_permission', params: { ...foreign(), options: [] } },
      {
        kind: 'update',
        session: 'another',
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'FOREIGN' } },
      },
    ),
  );
  const { finalMessage } = await scene.calls('hello', { allowedTools: ['Bash'] });
  expect(finalMessage).not.toContain('FOREIGN');
  expect(scene.heard('session/request_permission')).toEqual([{ outcome: { outcome: 'cancelled' } }]);
});

function foreign(): object {
  return { sessionId: 'another', toolCall: { toolCallId: 'x', ...curl } };
}

test.each<readonly [what: string, text: string, times: number]>([
  ['lines that are not JSON', '{"jsonrpc":"2.0", broken\n', 2_000],
  ['answers that nobody asked for', '{"jsonrpc":"2.0","id":"\\n::error::x","result":{}}\n', 2_000],
  ['messages without a form', '{"jsonrpc":"2.0","method":7,"id":{}}\n[]\nnull\n{"jsonrpc":"2.0"}\n', 500],
  ['updates without a form', '{"jsonrpc":"2.0","method":"session/update","params":[1]}\n', 2_000],
  ['requests without an end', '{"jsonrpc":"2.0","id":1,"method":"x"}\n', 20_000],
  ['a line without an end', 'x'.repeat(1024 * 1024), 32],
])('%s are an error of the agent at most', async (_what, text, times) => {
  await using scene = await createAcpScene(oneTurn({ kind: 'print', text, times }, { kind: 'print', text: '\n' }));
  const { analysis, end } = await scene.calls('hello');
  expect(end).toEqual({ kind: 'exited', code: 0 });
  expect(analysis).toMatchObject({ agentError: null, signal: { status: 'COMPLETE' } });
});

test('a message without an end keeps its end, where the status block is', async () => {
  await using scene = await createAcpScene(
    oneTurn(...Array.from({ length: 40 }, (): AcpStep => ({ kind: 'say', text: 'x'.repeat(200_000) }))),
  );
  const { analysis, finalMessage } = await scene.calls('hello');
  expect(finalMessage.length).toBeLessThanOrEqual(1024 * 1024);
  expect(analysis.signal.status).toBe('COMPLETE');
});
