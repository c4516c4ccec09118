import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseMcpServers, type VariableAccess } from '../../../../src/core/mcp/parse-servers.ts';
import { runs } from '../../../runs.ts';

const accessOf = (name: string): VariableAccess =>
  name === 'GITHUB_TOKEN' ? 'never' : ['TOKEN', 'HOME'].includes(name) ? 'given' : 'unnamed';

const parse = (mcpServers: unknown) => parseMcpServers(JSON.stringify({ mcpServers }), accessOf);

function problemsOf(text: string): readonly string[] {
  const parsed = parseMcpServers(text, accessOf);
  return parsed.kind === 'wrong' ? parsed.problems : [];
}

const problemsWith = (server: unknown): readonly string[] =>
  problemsOf(JSON.stringify({ mcpServers: { docs: server } }));

describe('a server', () => {
  const command = { kind: 'command', name: 'docs', tools: [], command: 'npx', args: [], env: {} };
  const remote = {
    kind: 'remote',
    name: 'docs',
    tools: [],
    transport: 'http',
    url: 'https://a.example/mcp',
    headers: {},
  };

  test.each<[string, object, object]>([
    ['is a program', { command: 'npx' }, command],
    ['with arguments', { type: 'stdio', command: 'npx', args: ['-y', 'a b'] }, { ...command, args: ['-y', 'a b'] }],
    [
      'with variables by name',
      { command: 'npx', env: ['TOKEN', 'HOME'] },
      { ...command, env: { TOKEN: '${TOKEN}', HOME: '${HOME}' } },
    ],
    [
      'under another name, with a default, as a part of a text, or a text alone',
      { command: 'npx', env: { A: '${TOKEN}', B: '${TOKEN:-none}', C: 'x ${HOME}/y', D: 'costs 5$ or $ 5' } },
      { ...command, env: { A: '${TOKEN}', B: '${TOKEN:-none}', C: 'x ${HOME}/y', D: 'costs 5$ or $ 5' } },
    ],
    [
      'with some of its tools, each once',
      { command: 'npx', tools: ['b', 'a.c', 'b'] },
      { ...command, tools: ['b', 'a.c'] },
    ],
    ['or it is at an address', { url: 'https://a.example/mcp' }, remote],
    ['that says how', { type: 'sse', url: 'https://a.example/mcp' }, { ...remote, transport: 'sse' }],
    [
      'with headers',
      { type: 'http', url: 'https://a.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
      { ...remote, headers: { Authorization: 'Bearer ${TOKEN}' } },
    ],
    ['on this machine', { url: 'http://localhost:3000/mcp?a=b' }, { ...remote, url: 'http://localhost:3000/mcp?a=b' }],
    ['or by its address', { url: 'http://[::1]:3000' }, { ...remote, url: 'http://[::1]:3000' }],
  ])('%s', (_, given, server) => {
    expect(parse({ docs: given })).toEqual({ kind: 'servers', servers: [server] });
  });
});

describe('mistakes are reported', () => {
  test.each<[string, string, string]>([
    ['nothing', '', 'is not a JSON object: write {"mcpServers": {"name": {"command": "program"}}}'],
    ['another form', '[]', 'is not a JSON object: write {"mcpServers": {"name": {"command": "program"}}}'],
    ['no servers', '{}', 'has no object `mcpServers`: write {"mcpServers": {"name": {"command": "program"}}}'],
    ['a slip', '{"mcpServer": {}}', 'has "mcpServer", which is not known: did you mean mcpServers?'],
    ['too long', `{"mcpServers": {}, "x": "${'x'.repeat(32 * 1024)}"}`, 'is longer than 32768 characters'],
    [
      'a name',
      '{"mcpServers": {"My Docs": {"command": "a"}}}',
      'mcpServers."My Docs" is not a server name: use at most 64 characters of a-z, 0-9, - and single _',
    ],
    [
      'two _',
      '{"mcpServers": {"a__b": {"command": "a"}}}',
      'mcpServers.a__b is not a server name: use at most 64 characters of a-z, 0-9, - and single _',
    ],
    [
      'no object',
      '{"mcpServers": {"docs": "npx"}}',
      'mcpServers.docs is not an object: give it a `command`, or a `url`',
    ],
  ])('about the whole: %s', (_, text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  test('too many servers', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`s${String(at)}`, { command: 'a' }]));
    expect(parse(many(21))).toEqual({ kind: 'wrong', problems: ['mcpServers has 21 servers: give at most 20'] });
    expect(parse(many(20))).toMatchObject({ kind: 'servers' });
  });

  test.each<[object, string]>([
    [{}, 'mcpServers.docs has no `command` and no `url`: give it one of the two'],
    [{ command: '' }, 'mcpServers.docs has no `command` and no `url`: give it one of the two'],
    [
      { command: 'npx', url: 'https://a.example' },
      'mcpServers.docs has command, which a server at an address does not have: give it a `command` or a `url`',
    ],
    [
      { command: 'npx', type: 'http' },
      'mcpServers.docs has command, which a server at an address does not have: give it a `command` or a `url`',
    ],
    [
      { command: 'npx', headers: {} },
      'mcpServers.docs has headers, which a program does not have: give it a `command` or a `url`',
    ],
    [{ command: 'npx', type: 'ws' }, 'mcpServers.docs.type "ws" is not known: use stdio, http or sse'],
    [
      { command: 'npx -y docs' },
      'mcpServers.docs.command "npx -y docs" is not one program: put the words after its name into `args`',
    ],
    [{ command: '--version' }, 'mcpServers.docs.command "--version" is not a program'],
    [{ command: 'npx', arg: [] }, 'mcpServers.docs has "arg", which is not known: did you mean args?'],
    [
      { command: 'npx', timeout: 1 },
      'mcpServers.docs has "timeout", which is not known: use type, command, args, env, url, headers, tools',
    ],
    [{ command: 'npx', args: 'a' }, 'mcpServers.docs.args is not a list of at most 200 texts'],
    [{ command: 'npx', args: ['a\nb'] }, 'mcpServers.docs.args[0] has a line break or another control character'],
    [
      { command: 'npx', args: ['a', '$TOKEN'] },
      'mcpServers.docs.args[1] has a `$` that does not begin a variable: write variables as ${NAME} or ${NAME:-default}',
    ],
    [
      { command: 'npx', args: ['${a-b}'] },
      'mcpServers.docs.args[0] has a `$` that does not begin a variable: write variables as ${NAME} or ${NAME:-default}',
    ],
    [
      { command: 'npx', args: ['${SECRET}'] },
      'mcpServers.docs.args[0] names `SECRET`, which the agent does not see: add it to `agent-env`',
    ],
    [
      { command: 'npx', env: { A: '${SECRET:-x}' } },
      'mcpServers.docs.env.A names `SECRET`, which the agent does not see: add it to `agent-env`',
    ],
    [
      { command: 'npx', env: ['GITHUB_TOKEN'] },
      "mcpServers.docs.env.GITHUB_TOKEN names `GITHUB_TOKEN`, which may hold a job token or an agent's key, so no server may get it",
    ],
    [
      { command: '${SECRET}' },
      'mcpServers.docs.command names `SECRET`, which the agent does not see: add it to `agent-env`',
    ],
    [
      { command: 'npx', env: 'A' },
      'mcpServers.docs.env is not an object of at most 200 names and texts, nor a list of names',
    ],
    [{ command: 'npx', env: { 'A-B': '' } }, 'mcpServers.docs.env.A-B is not a name of an environment variable'],
    [{ command: 'npx', tools: ['a b'] }, 'mcpServers.docs.tools has "a b", which is not a tool name'],
    [
      { url: 'http://a.example/mcp' },
      'mcpServers.docs.url "http://a.example/mcp" is not encrypted: use https, or http on localhost',
    ],
    [
      { url: 'https://me:secret@a.example' },
      'mcpServers.docs.url has a user name or password: pass them in a header whose value names a variable',
    ],
    [
      { url: 'https://a.example/${TOKEN}' },
      'mcpServers.docs.url names a variable, but the address must be known in advance: pass secrets in a header',
    ],
    [
      { url: 'https://a.example/a b?key=secret' },
      'mcpServers.docs.url "https://a.example/a b" is not an address such as https://mcp.example.com/mcp',
    ],
    [
      { url: 'ftp://a.example' },
      'mcpServers.docs.url "ftp://a.example" is not an address such as https://mcp.example.com/mcp',
    ],
    [{ url: 'https://a.example', headers: { 'A B': 'x' } }, 'mcpServers.docs.headers."A B" is not a name of a header'],
    [
      { url: 'https://a.example', headers: { A: 'x\r\nB: y' } },
      'mcpServers.docs.headers.A has a line break or another control character',
    ],
  ])('about one of them: %j', (server, problem) => {
    expect(problemsWith(server)).toEqual([problem]);
  });

  test('all at once', () => {
    expect(problemsWith({ command: 'a b', args: ['${X}', '${Y}'], tools: [''], more: 1 })).toHaveLength(5);
  });

  test('and no value that may be a secret with it', () => {
    const secret = 'hunter2';
    const problems = [
      ...problemsWith({ command: 'npx', args: [`$\{X}${secret}`], env: { A: `${secret}$B` } }),
      ...problemsWith({ url: `https://${secret}@a.example`, headers: { A: `${secret}\n` } }),
      ...problemsWith({ url: `http://a.example?key=${secret}`, headers: { A: { [secret]: 1 } } }),
    ];
    expect(problems.length).toBeGreaterThan(4);
    expect(problems.join()).not.toContain(secret);
  });
});

describe('whatever is given', () => {
  const value = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('${TOKEN}', '${NO}', '$X', 'https://a.example/x'),
  );
  const anything = fc.oneof(value, fc.array(value), fc.dictionary(value, value), fc.jsonValue());
  const server = fc.dictionary(
    fc.constantFrom('type', 'command', 'args', 'env', 'url', 'headers', 'tools', 'x'),
    anything,
  );

  test('it is read, or problems name what it is, in one line each', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.constantFrom('a', 'b-c', '__proto__'), fc.string()), fc.oneof(server, anything)),
        (servers) => {
          const parsed = parse(servers);
          if (parsed.kind === 'servers') expect(parsed.servers).toHaveLength(Object.keys(servers).length);
          else {
            expect(parsed.problems.length).toBeGreaterThan(0);
            for (const problem of parsed.problems) expect(problem).toMatch(/^[^\p{Cc}]{1,400}$/u);
          }
        },
      ),
      { numRuns: runs(1000) },
    );
  });

  test('no server that is read names a variable that it may not', () => {
    const names = fc.constantFrom('TOKEN', 'HOME', 'GITHUB_TOKEN', 'SECRET');
    const text = fc
      .array(
        fc.oneof(
          names.map((name) => `$\{${name}}`),
          names.map((name) => `$\{${name}:-x}`),
          names.map((name) => `$${name}`),
          fc.constantFrom('$', '{', '}', ' ', ':-', 'x'),
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (env) => {
        const parsed = parse({ a: { command: 'x', env: { A: env } } });
        if (parsed.kind === 'servers') expect(env).not.toMatch(/\$\{?(GITHUB_TOKEN|SECRET|HOME\w|TOKEN\w)|\$[A-Z]/);
      }),
      { numRuns: runs(2000) },
    );
  });

  test('a text that is not JSON is a problem', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseMcpServers(text, accessOf).kind).toBe('wrong');
      }),
      { numRuns: runs(400) },
    );
  });
});
