import { expect, test } from 'vitest';
import { listMcpHosts, parseMcpAddress, listUnreachableHosts } from '../../../../src/core/mcp/parse-servers.ts';
import type { McpServer } from '../../../../src/core/mcp/values.ts';

const at = (url: string): McpServer => ({ kind: 'remote', name: 'a', tools: [], transport: 'http', url, headers: {} });
const program: McpServer = {
  kind: 'command',
  name: 'b',
  tools: [],
  command: 'npx',
  args: ['https://no.example'],
  env: {},
};

test('hosts of addresses are opened, each once, and none of this machine or its network', () => {
  const servers = [
    program,
    ...['https://B.example/mcp', 'https://b.example:443/sse', 'https://a.example:8443?x', 'http://localhost:3000'].map(
      at,
    ),
    ...['https://10.0.0.1/mcp', 'https://mcp.internal', 'https://intranet/mcp'].map(at),
  ];
  expect(listMcpHosts(servers)).toEqual([
    { host: 'a.example', port: 8443 },
    { host: 'b.example', port: 443 },
  ]);
  expect(listUnreachableHosts(servers, [])).toEqual([
    'localhost:3000',
    '10.0.0.1:443',
    'mcp.internal:443',
    'intranet:443',
  ]);
  expect(listUnreachableHosts(servers, [3000])).toEqual(['10.0.0.1:443', 'mcp.internal:443', 'intranet:443']);
});

test.each<[string, object | null]>([
  ['https://a.example', { secure: true, target: { host: 'a.example', port: 443 }, path: '' }],
  ['HTTP://127.0.0.1:80/x?y=z', { secure: false, target: { host: '127.0.0.1', port: 80 }, path: '/x?y=z' }],
  ['https://[::1]:8/', { secure: true, target: { host: '0:0:0:0:0:0:0:1', port: 8 }, path: '/' }],
  ['https://user@a.example', null],
  ['https://a.example/x#y', null],
  ['https://a.example/x y', null],
  ['https://a.example/"', null],
  ['https://a.example\\@b.example', null],
  ['https://a.example:99999', null],
  ['https://', null],
  ['a.example', null],
  [' https://a.example', null],
])('%s is an address, or is not', (url, address) => {
  expect(parseMcpAddress(url)).toEqual(address);
});
