import { expect, test } from 'vitest';
import { mapCodexServers } from '../../../src/agents/codex/tool-rules.ts';
import type { HostRule } from '../../../src/core/isolation/hosts.ts';
import type { McpServer } from '../../../src/core/mcp/values.ts';
import type { AgentSandbox } from '../../../src/ports/agent-sandbox.ts';
import { openServerHosts } from '../../../src/wiring/agents/agent-settings.ts';
import { configOf } from '../../loop/stage/run-action.ts';

const remote = (url: string, headers: Readonly<Record<string, string>> = {}): McpServer => ({
  ...{ kind: 'remote', name: 'docs', tools: [], transport: 'http' },
  ...{ url, headers },
});

function give(
  servers: readonly McpServer[],
  {
    isIsolated = true,
    allowedHosts = '',
    unmapped = [],
  }: { readonly isIsolated?: boolean; readonly allowedHosts?: string; readonly unmapped?: readonly string[] } = {},
) {
  const warnings: string[] = [];
  let opened: readonly HostRule[] | null = null;
  openServerHosts(
    {
      config: configOf({ 'allowed-hosts': allowedHosts }),
      variables: { TOKEN: 't' },
      log: {
        info: () => undefined,
        warning: (text) => warnings.push(text),
        error: () => undefined,
        group: (_, body) => body(),
      },
    },
    {
      isolation: { agentSandbox: isIsolated ? ({} as AgentSandbox) : null, allow: (hosts) => (opened = hosts) },
      login: { environment: { TOKEN: 't', KEY: 'k' } },
      servers,
      unmapped,
    },
  );
  return { warnings, opened };
}

test('an agent without servers opens nothing', () => {
  expect(give([])).toEqual({ warnings: [], opened: [] });
});

test('the hosts of its servers are opened', () => {
  const servers = [remote('https://a.example/mcp', { A: '${TOKEN}' })];
  expect(give(servers)).toEqual({ warnings: [], opened: [{ host: 'a.example', port: 443 }] });
});

test.each([
  ['${OTHER}', /The server docs names `OTHER`, which is not set in this job\./],
  ['${KEY:-x}', /The server docs names `KEY`, which belongs to the agent's login/],
])('one that names %s ends the run', (value, problem) => {
  expect(() => give([remote('https://a.example', { A: value })])).toThrow(problem);
});

test('what cannot be reached or mapped is a warning', () => {
  const local = remote('http://localhost:3000/mcp');
  const closed = [
    'The isolated agent cannot reach the MCP servers at localhost:3000. Name a port of localhost in `allowed-hosts`; hosts of a private network stay closed.',
  ];
  expect(give([local])).toMatchObject({ warnings: closed, opened: [] });
  expect(give([local], { allowedHosts: 'localhost:3000' }).warnings).toEqual([]);
  expect(give([local], { isIsolated: false }).warnings).toEqual([]);
  const old: McpServer = {
    ...remote('https://a.example'),
    kind: 'remote',
    transport: 'sse',
    url: 'https://a.example',
    headers: {},
  };
  expect(give([old], { unmapped: mapCodexServers([old]).unmapped }).warnings).toEqual([
    'The MCP server docs is left out: Codex speaks to servers of type http, not sse.',
  ]);
});
