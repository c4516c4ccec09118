import type { McpServer } from '../../src/core/mcp/values.ts';

/** A server with one tool on standard input and output, which returns the server's arguments and environment. */
const PROGRAM = `
const answer = ({ method, params }) => {
  if (method === 'initialize')
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'tools', version: '1' } };
  if (method === 'tools/list')
    return { tools: [{ name: 'greet', description: 'Greets', inputSchema: { type: 'object', properties: {} } }] };
  return method === 'tools/call' ? { content: [{ type: 'text', text: 'It says ' + process.env.GREETING }] } : {};
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answer(message) }) + '\\n');
});
`.replaceAll('\n', ' ');

/** An MCP server for any agent. */
export const GREETER: McpServer = {
  kind: 'command',
  name: 'tools',
  command: process.execPath,
  args: ['-e', PROGRAM],
  env: { GREETING: '${GREETING}' },
  tools: ['greet'],
};
