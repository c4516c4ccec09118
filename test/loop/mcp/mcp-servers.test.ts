import { describe, expect, test } from 'vitest';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import type { Behaviour } from '../stage/behaviours.ts';
import { createProject, runOnce } from '../stage/run-action.ts';
import { runSplit } from '../stage/split.ts';

const FILE = '.mcp.json';
const configOf = (command: string, more: object = {}): string =>
  JSON.stringify({ mcpServers: { docs: { command, ...more } } });
const server = { kind: 'command', name: 'docs', tools: [], command: 'docs-server', args: [], env: {} };

/** Adds its own server to the file, and never finishes. */
const meddler: Behaviour = ({ turn }) => ({
  writes: { [FILE]: configOf('evil'), 'src/a.ts': `step ${String(turn)}` },
  output: { signal: { status: 'IN_PROGRESS', exitSignal: false } },
});
const inputs = { 'max-iterations': '1', 'mcp-config': FILE };

describe('the agent gets the servers', () => {
  test('none, if the input is empty, whatever the repository contains', async () => {
    const run = await runOnce(createProject({ files: { [FILE]: configOf('docs-server') }, agent: [meddler] }));
    expect(run.machine.mcpServers).toEqual([]);
  });

  test('of the input', async () => {
    const given = { 'max-iterations': '1', 'mcp-config': configOf('docs-server') };
    const run = await runOnce(createProject({ inputs: given, agent: [meddler] }));
    expect(run.machine.mcpServers).toEqual([server]);
    expect(run.log.join('\n')).toContain('MCP servers from `mcp-config`: docs');
  });

  test('of the file of the base branch, also once the agent has written it', async () => {
    const files = { [FILE]: configOf('docs-server') };
    const given = { ...inputs, 'allow-protected-paths': FILE };
    const project = createProject({ inputs: given, files, agent: [meddler] });
    const both = [await runOnce(project), await runOnce(project)];
    expect(both.map(({ calls, machine }) => [calls, machine.mcpServers])).toEqual([
      [1, [server]],
      [1, [server]],
    ]);
    const { commits, branches } = project.origin;
    const lane = commits.get(branches.get('ralph/queue') ?? '')?.tree ?? {};
    expect(lane[FILE]).toContain('evil');
  });

  test('of the gate in three jobs', async () => {
    const files = { [FILE]: configOf('docs-server', { env: ['TOKEN'] }) };
    const project = createProject({ inputs: { ...inputs, 'agent-env': 'TOKEN' }, files, agent: [meddler] });
    const { loop } = await runSplit(project);
    expect(loop?.machine.mcpServers).toEqual([{ ...server, env: { TOKEN: '${TOKEN}' } }]);
  });

  test('of the file in the folder of the repository in which it works', async () => {
    const files = { [FILE]: configOf('another'), [`shop/${FILE}`]: configOf('docs-server'), 'shop/README.md': '' };
    const project = createProject({ inputs: { ...inputs, 'working-directory': 'shop' }, files, agent: [meddler] });
    expect((await runOnce(project)).machine.mcpServers).toEqual([server]);
  });
});

test('a server that fails is named in the summary, and to the agent in the next prompts', async () => {
  const agent: Behaviour = (call) => ({ ...meddler(call), failedServers: ['docs (failed)'] });
  const given = { 'max-iterations': '2', 'mcp-config': configOf('docs-server') };
  const project = createProject({ inputs: given, agent: [agent] });
  const run = await runOnce(project);
  expect(run.report === null ? '' : renderSummary(run.report)).toContain(
    'could not use the tools of the MCP server docs (failed).',
  );
  expect(project.script.calls[0]?.prompt).not.toContain('docs (failed)');
  expect(project.script.calls[1]?.prompt).toContain('It had no tools of these MCP servers: docs (failed).');
});

test('a server that fails is named in the diagnosis of iterations that changed nothing', async () => {
  const agent: Behaviour = () => ({ failedServers: ['docs (failed)'] });
  const given = { 'max-iterations': '3', 'mcp-config': configOf('docs-server') };
  const project = createProject({ inputs: given, agent: [agent] });
  await runOnce(project);
  expect(project.script.calls[2]?.prompt).toContain('no tools of the MCP server docs (failed)');
});

describe('a file that cannot be used ends the run before a call', () => {
  test.each<[string, string | null, string]>([
    ['is missing', null, '- .mcp.json is not on the base branch: commit it there, or correct `mcp-config`'],
    [
      'does not count',
      'mcpServers:',
      '- .mcp.json: is not a JSON object: write {"mcpServers": {"name": {"command": "program"}}}',
    ],
    [
      'names what the agent does not see',
      configOf('a', { env: ['TOKEN', 'OTHER'], args: ['${GITHUB_TOKEN}', '${ANTHROPIC_API_KEY:-x}'] }),
      [
        "- .mcp.json: mcpServers.docs.args[0] names `GITHUB_TOKEN`, which may hold a job token or an agent's key, so no server may get it",
        "- .mcp.json: mcpServers.docs.args[1] names `ANTHROPIC_API_KEY`, which may hold a job token or an agent's key, so no server may get it",
        '- .mcp.json: mcpServers.docs.env.OTHER names `OTHER`, which the agent does not see: add it to `agent-env`',
      ].join('\n'),
    ],
  ])('%s', async (_, text, message) => {
    const project = createProject({
      inputs: { ...inputs, 'agent-env': 'TOKEN' },
      files: text === null ? {} : { [FILE]: text },
      agent: [meddler],
    });
    const run = await runOnce(project);
    expect(run).toMatchObject({ end: 'failed (configuration)', calls: 0 });
    expect(run.outcome).toMatchObject({ message: `The MCP servers cannot be used, so no call was made:\n${message}` });
  });

  test('if it is a link', async () => {
    const project = createProject({ inputs, files: { [FILE]: configOf('a') }, agent: [meddler] });
    const run = await runOnce(project, {
      prepare: (checkout) => {
        const { readTexts } = checkout;
        checkout.readTexts = async (paths, lane) => {
          const read = await readTexts(paths, lane);
          return paths.includes(FILE) ? { ...read, base: {}, links: { [FILE]: 'is a symbolic link' } } : read;
        };
      },
    });
    expect(run.outcome).toMatchObject({ message: expect.stringContaining('- .mcp.json is a symbolic link') as string });
    expect(run.calls).toBe(0);
  });
});
