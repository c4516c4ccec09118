import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapClaudeServers } from '../../../src/agents/claude/cli.ts';
import { mapCodexServers } from '../../../src/agents/codex/tool-rules.ts';
import { mapCopilotServers } from '../../../src/agents/copilot/cli.ts';
import { mapGeminiServers } from '../../../src/agents/gemini/cli.ts';
import { mapOpencodeServers } from '../../../src/agents/opencode/tool-rules.ts';
import { explainUnmappedServers as leftOutByQwen } from '../../../src/agents/qwen/cli.ts';
import { parseMcpServers } from '../../../src/core/mcp/parse-servers.ts';
import {
  selectAllowedServers,
  type CommandServer,
  type McpServer,
  type RemoteServer,
  replaceVariables,
  buildMcpToolRules,
  listServerValues,
  findVariablesIn,
} from '../../../src/core/mcp/values.ts';
import { runs } from '../../runs.ts';

const program: CommandServer = {
  ...{ kind: 'command', name: 'docs', tools: ['find', 'a.b'], command: 'npx', args: ['-y', 'docs'] },
  env: { TOKEN: '${TOKEN}', MODE: 'fast' },
};
const remote: RemoteServer = {
  ...{ kind: 'remote', name: 'web', tools: [], transport: 'http', url: 'https://a.example/mcp' },
  headers: { Authorization: 'Bearer ${TOKEN}', 'X-Key': '${KEY}', 'X-Mode': 'fast' },
};
const stream: RemoteServer = { ...remote, transport: 'sse', headers: {} };
const both: readonly McpServer[] = [program, remote];

describe('no servers are nothing', () => {
  test.each<[string, { readonly own: unknown; readonly unmapped: readonly string[] }, unknown]>([
    ['claude', { own: mapClaudeServers([]), unmapped: [] }, []],
    ['codex', mapCodexServers([]), []],
    ['gemini', mapGeminiServers([]), {}],
    ['opencode', mapOpencodeServers([], {}), { mcp: {}, permission: {} }],
    ['copilot', mapCopilotServers([]), []],
  ])('%s', (_, mapped, own) => {
    expect(mapped).toEqual({ own, unmapped: [] });
  });
});

test('Claude Code: one argument, and rules for the tools', () => {
  const servers = [...both, { ...stream, name: 'old' }];
  const args = mapClaudeServers(servers);
  expect(buildMcpToolRules(servers)).toEqual(['mcp__docs__find', 'mcp__docs__a_b', 'mcp__web', 'mcp__old']);
  expect(args).toHaveLength(1);
  expect(jsonBehind('--mcp-config=', args[0])).toEqual({
    mcpServers: {
      docs: { type: 'stdio', command: 'npx', args: ['-y', 'docs'], env: { TOKEN: '${TOKEN}', MODE: 'fast' } },
      web: { type: 'http', url: 'https://a.example/mcp', headers: remote.headers },
      old: { type: 'sse', url: 'https://a.example/mcp', headers: {} },
    },
  });
});

describe('Codex', () => {
  test('overrides, which hand variables on by name', () => {
    expect(mapCodexServers(both)).toEqual({
      own: [
        '-c',
        'mcp_servers.docs={command="npx",args=["-y","docs"],env={"MODE"="fast"},env_vars=["TOKEN"],enabled_tools=["find","a.b"],default_tools_approval_mode="approve"}',
        '-c',
        'mcp_servers.web={url="https://a.example/mcp",http_headers={"X-Mode"="fast"},env_http_headers={"X-Key"="KEY"},bearer_token_env_var="TOKEN",default_tools_approval_mode="approve"}',
      ],
      unmapped: [],
    });
  });

  test.each<[string, McpServer, string]>([
    ['an argument', { ...program, args: ['${TOKEN}'] }, 'takes variables in `env` and in headers only'],
    ['a program', { ...program, command: '${HOME}' }, 'takes variables in `env` and in headers only'],
    [
      'another name',
      { ...program, env: { A: '${TOKEN}' } },
      'hands variables on under their own names and without defaults only',
    ],
    [
      'a default',
      { ...program, env: { TOKEN: '${TOKEN:-x}' } },
      'hands variables on under their own names and without defaults only',
    ],
    ['sse', { ...stream, name: 'docs' }, 'speaks to servers of type http, not sse'],
    [
      'a part of a header',
      { ...remote, name: 'docs', headers: { A: 'x ${TOKEN}' } },
      'takes a header that is a variable or a text, or `Bearer ${NAME}`',
    ],
    [
      'the bearer of another header',
      { ...remote, name: 'docs', headers: { A: 'Bearer ${TOKEN}' } },
      'takes a header that is a variable or a text, or `Bearer ${NAME}`',
    ],
  ])('leaves out what it cannot take as it is meant: %s', (_, server, why) => {
    expect(mapCodexServers([server])).toEqual({
      own: [],
      unmapped: [`The MCP server docs is left out: Codex ${why}.`],
    });
  });
});

describe('Gemini CLI', () => {
  const settings = {
    docs: { ...{ command: 'npx', args: ['-y', 'docs'], env: program.env }, includeTools: ['find', 'a.b'], trust: true },
    web: { httpUrl: 'https://a.example/mcp', headers: remote.headers, trust: true },
    old: { url: 'https://a.example/mcp', headers: {}, trust: true },
  };
  const servers = [...both, { ...stream, name: 'old' }];

  test('settings', () => {
    expect(mapGeminiServers(servers)).toEqual({ own: settings, unmapped: [] });
  });

  test('settings that it does not support', () => {
    expect(mapGeminiServers([{ ...program, name: 'my_docs' }, remote])).toEqual({
      own: { web: settings.web },
      unmapped: ['The MCP server my_docs is left out: Gemini CLI takes no `_` in the name of a server: use `-`.'],
    });
  });
});

test('Qwen Code gets none: in a folder that it does not trust it starts no server, whoever names it', () => {
  expect(leftOutByQwen([])).toEqual([]);
  expect(leftOutByQwen(both)).toEqual([
    "The MCP server docs is left out: Qwen Code starts servers only where it obeys the repository's settings as well.",
    "The MCP server web is left out: Qwen Code starts servers only where it obeys the repository's settings as well.",
  ]);
});

describe('opencode', () => {
  const variables = { TOKEN: 't"\\', KEY: 'k' };

  test('its configuration, with values, and rules of which the last one wins', () => {
    const renamed = { ...program, args: ['${TOKEN}', '${NO:-none}'], env: { ...program.env, OTHER: '${TOKEN}' } };
    const { own, unmapped } = mapOpencodeServers([renamed, remote], variables);
    expect(own.mcp).toEqual({
      docs: {
        ...{ type: 'local', enabled: true, command: ['npx', 't"\\', 'none'] },
        environment: { MODE: 'fast', OTHER: 't"\\' },
      },
      web: {
        ...{ type: 'remote', enabled: true, oauth: false, url: 'https://a.example/mcp' },
        headers: { Authorization: 'Bearer t"\\', 'X-Key': 'k', 'X-Mode': 'fast' },
      },
    });
    expect(Object.entries(own.permission)).toEqual([
      ['docs_*', 'deny'],
      ['docs_find', 'allow'],
      ['docs_a_b', 'allow'],
      ['web_*', 'allow'],
    ]);
    expect(unmapped).toEqual([]);
  });

  test('settings that it does not support', () => {
    const servers = [{ ...program, args: ['{env:HOME}'] }, remote, { ...remote, name: 'web_two' }];
    const { own, unmapped } = mapOpencodeServers(servers, { ...variables, KEY: '{file:/etc/passwd}' });
    expect(own).toEqual({ mcp: {}, permission: {} });
    expect(unmapped).toEqual([
      'The MCP server docs is left out: opencode takes no `{env:` and no `{file:` in a text.',
      'The MCP server web is left out: opencode takes no server whose name is the beginning of that of another one.',
      'The MCP server web_two is left out: opencode takes no `{env:` and no `{file:` in a text.',
    ]);
  });
});

test('GitHub Copilot CLI: arguments, which allow the tools that the servers may offer', () => {
  const { own, unmapped } = mapCopilotServers(both);
  expect(own.filter((_, index) => index !== 1)).toEqual([
    '--additional-mcp-config',
    '--allow-tool=docs',
    '--allow-tool=web',
  ]);
  expect(jsonBehind('', own[1])).toEqual({
    mcpServers: {
      docs: { type: 'local', command: 'npx', args: ['-y', 'docs'], env: program.env, tools: ['find', 'a.b'] },
      web: { type: 'http', url: 'https://a.example/mcp', headers: remote.headers, tools: ['*'] },
    },
  });
  expect(unmapped).toEqual([]);
});

describe('whatever servers are read', () => {
  const value = fc.oneof(
    fc.string({ unit: fc.constantFrom(...Array.from(`"'\\{}[]=,#$: -a\`()\u00e9\u{1f600}`)) }),
    fc.constantFrom('${A}', '${B:-x"y}', 'Bearer ${A}', '"}', '"],x=["'),
  );
  const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,5}$/);
  const env = fc.dictionary(fc.stringMatching(/^[A-Z_]{1,3}$/), value, { maxKeys: 3 });
  const tools = fc.array(fc.stringMatching(/^[A-Za-z0-9_.-]{1,5}$/), { maxLength: 3 });
  const server = fc.oneof(
    fc.record({ command: fc.constantFrom('npx', "a'b", 'a"b\\'), args: fc.array(value, { maxLength: 3 }), env, tools }),
    fc.record({
      type: fc.constantFrom('http', 'sse'),
      url: fc.constantFrom('https://a.example/x?y=z', "http://localhost:1/'"),
      headers: fc.dictionary(fc.constantFrom('Authorization', 'X-Key'), value),
      tools,
    }),
  );
  const servers = fc
    .dictionary(name, server, { maxKeys: 4 })
    .map((mcpServers) => parseMcpServers(JSON.stringify({ mcpServers }), () => 'given'))
    .filter((parsed) => parsed.kind === 'servers')
    .map((parsed) => parsed.servers);
  const always = (property: (given: readonly McpServer[]) => void): void => {
    fc.assert(fc.property(servers, property), { numRuns: runs(400) });
  };

  test('no value is more than a value in the arguments of Claude Code and Copilot', () => {
    always((given) => {
      const claude = mapClaudeServers(given);
      const copilot = mapCopilotServers(given).own;
      if (given.length === 0) return;
      expect(claude).toHaveLength(1);
      expect(copilot).toHaveLength(2 + given.length);
      const configs = [jsonBehind('--mcp-config=', claude[0]), jsonBehind('', copilot[1])];
      for (const { mcpServers } of configs as {
        readonly mcpServers: Record<string, Partial<CommandServer & RemoteServer>>;
      }[]) {
        expect(Object.keys(mcpServers).sort()).toEqual(given.map((one) => one.name).sort());
        for (const one of given) expect(mcpServers[one.name]).toMatchObject(ownPart(one));
      }
      for (const rule of buildMcpToolRules(given))
        expect(rule).toMatch(/^mcp__[a-z0-9_-]+$|^mcp__[a-z0-9_-]+__[\w-]+$/);
    });
  });

  test('nor in an override of Codex, which never holds a variable', () => {
    always((given) => {
      const { own, unmapped } = mapCodexServers(given);
      expect(own.length / 2 + unmapped.length).toBe(given.length);
      for (const override of own.filter((_, index) => index % 2 === 1)) {
        const [, key = '', toml = ''] = /^mcp_servers\.([a-z0-9_-]+)=(.*)$/s.exec(override) ?? [];
        const read = tomlValue(toml) as Readonly<Record<string, Readonly<Record<string, string>>>>;
        const one = given.find((server) => server.name === key);
        if (one?.kind === 'command') {
          expect(read).toMatchObject({ command: one.command, args: one.args });
          const handed = (read['env_vars'] as unknown as readonly string[]).map((name) => [name, `$\{${name}}`]);
          expect({ ...read['env'], ...Object.fromEntries(handed) }).toEqual(one.env);
        } else expect(read['url']).toBe(one?.url);
        const texts = Object.values({ ...read['env'], ...read['http_headers'] });
        expect(texts.flatMap(findVariablesIn)).toEqual([]);
      }
    });
  });

  test('nor in the settings of the others, and each server is there or named', () => {
    always((given) => {
      const settings = mapGeminiServers(given);
      expect(Object.keys(settings.own).length + settings.unmapped.length).toBe(given.length);
      for (const one of given.filter(({ name }) => Object.hasOwn(settings.own, name)))
        expect(settings.own[one.name]).toMatchObject(one.kind === 'command' ? ownPart(one) : { headers: one.headers });
      const variables = { A: 'a"\\b' };
      const { own, unmapped } = mapOpencodeServers(given, variables);
      expect(Object.keys(own.mcp).length + unmapped.length).toBe(given.length);
      for (const one of given.filter(({ name }) => Object.hasOwn(own.mcp, name))) {
        if (one.kind === 'command')
          expect(own.mcp[one.name]?.['command']).toEqual(
            [one.command, ...one.args].map((text) => replaceVariables(text, variables)),
          );
        // opencode itself would replace this.
        expect(listServerValues(one).join()).not.toContain('{env:');
      }
    });
  });
});

/** Returns the part of a server that is equal in every form. */
function ownPart(server: McpServer): object {
  if (server.kind === 'remote') return { url: server.url, headers: server.headers };
  return { command: server.command, args: server.args, env: server.env };
}

function jsonBehind(start: string, text: string | undefined): unknown {
  expect(text?.startsWith(start)).toBe(true);
  return JSON.parse(text?.slice(start.length) ?? '');
}

/** Converts inline tables and basic strings of TOML to JSON: keys get quotes, and `=` becomes `:`. */
function tomlValue(toml: string): unknown {
  const tokens = toml.match(/"(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+|./gsu) ?? [];
  return JSON.parse(
    tokens.map((token) => (token === '=' ? ':' : /^[A-Za-z0-9_-]+$/.test(token) ? `"${token}"` : token)).join(''),
  );
}

test.each<[rule: string, given: readonly string[], tools: readonly string[] | null]>([
  ['mcp__docs', ['find'], ['find']],
  ['mcp__docs__*', [], []],
  ['mcp__docs__a_b', ['find', 'a.b'], ['a.b']],
  ['mcp__docs__find', [], ['find']],
  ['mcp__docs__get_*', [], ['get_*']],
  ['mcp__docs__get_*', ['get_x', 'put'], ['get_x']],
  ['mcp__docs__other', ['find'], null],
  ['mcp__docs2', [], null],
])('%s leaves of the tools %j', (rule, tools, left) => {
  expect(selectAllowedServers([{ ...program, tools }], ['Read', rule])).toEqual(
    left === null ? [] : [{ ...program, tools: left }],
  );
});
