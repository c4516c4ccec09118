import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import type { ModelStep } from '../../../testbed/scripted-model/step.ts';
import { mapClaudeServers } from '../../../src/agents/claude/cli.ts';
import { buildMcpToolRules } from '../../../src/core/mcp/values.ts';
import { parseMcpServers } from '../../../src/core/mcp/parse-servers.ts';
import { createWorld, installOnce } from './claude-fixture.ts';

// These tests use the real Claude Code CLI, a scripted model, and a small MCP server.
beforeAll(installOnce, 300_000);

/**
 * A server of three tools on standard input and output: each returns its name and the server's arguments and
 * environment.
 */
const SERVER = `
const tools = ['greet', 'dotted.name', 'other'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
const answer = ({ method, params }) => {
  if (method === 'initialize')
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' } };
  if (method === 'tools/list') return { tools };
  if (method !== 'tools/call') return {};
  const { GREETING, FALLBACK, LITERAL } = process.env;
  return { content: [{ type: 'text', text: JSON.stringify({ tool: params.name, GREETING, FALLBACK, LITERAL, args: process.argv.slice(1) }) }] };
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) }) + '\\n');
});
`.replaceAll('\n', ' ');

const use = (tool: string): ModelStep => ({ kind: 'use', tool, input: {} });
const done: ModelStep = { kind: 'reply', text: 'Done.' };

function given(mcpServers: object): {
  readonly extraArgs: readonly string[];
  readonly allowedTools: readonly string[];
} {
  const parsed = parseMcpServers(JSON.stringify({ mcpServers }), () => 'given');
  if (parsed.kind === 'wrong') throw new Error(parsed.problems.join('\n'));
  return { extraArgs: mapClaudeServers(parsed.servers), allowedTools: ['Read', ...buildMcpToolRules(parsed.servers)] };
}

const local = (tools: readonly string[]) => ({
  'my_docs-2': {
    command: process.execPath,
    args: ['-e', SERVER, '${GREETING}', `"quoted" 'text' \\ , --option`],
    env: { GREETING: '${GREETING}', FALLBACK: '${NOT_SET:-instead}', LITERAL: `"a" 'b' \\n, {}` },
    tools,
  },
});

test('the tools that are listed are run, with variables by name, and no other one is', async () => {
  const environment = { GREETING: 'hello, "you"' };
  await using world = await createWorld({
    ...given(local(['greet', 'dotted.name'])),
    environment,
    script: [use('mcp__my_docs-2__greet'), use('mcp__my_docs-2__dotted_name'), use('mcp__my_docs-2__other'), done],
  });
  const run = await world.call('greet');
  expect(run.analysis).toMatchObject({ agentError: null, denials: [{ tool: 'mcp__my_docs-2__other' }] });
  const results = world.model.requests.at(-1)?.conversation?.results ?? [];
  const answers = results.map(({ text, isError }) => (isError ? 'refused' : (JSON.parse(text) as unknown)));
  const heard = {
    ...environment,
    FALLBACK: 'instead',
    LITERAL: `"a" 'b' \\n, {}`,
    args: ['hello, "you"', `"quoted" 'text' \\ , --option`],
  };
  expect(answers).toEqual([{ tool: 'greet', ...heard }, { tool: 'dotted.name', ...heard }, 'refused']);
});

test('without a list every tool of the server is allowed, and the arguments of a user still count', async () => {
  const { extraArgs, allowedTools } = given(local([]));
  await using world = await createWorld({
    extraArgs: [...extraArgs, '--append-system-prompt', 'more'],
    allowedTools,
    environment: { GREETING: 'hi' },
    script: [use('mcp__my_docs-2__other'), done],
  });
  const run = await world.call('go');
  expect(run.analysis).toMatchObject({ agentError: null, denials: [] });
  expect(world.model.requests.at(-1)?.conversation?.results).toMatchObject([{ isError: false }]);
});

test('a server at an address is asked with its headers', async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers['x-key']?.toString());
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/mcp`;
  await using world = await createWorld({
    ...given({ remote: { type: 'http', url, headers: { 'X-Key': 'Bearer ${GREETING}' } } }),
    environment: { GREETING: 'secret' },
    script: [done],
  });
  expect((await world.call('go')).analysis.agentError).toBeNull();
  server.close();
  expect(seen[0]).toBe('Bearer secret');
});
