import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isForbiddenAddress, parseAddress } from '../../../../src/core/isolation/addresses.ts';
import {
  listAllowedHosts,
  type AllowedHosts,
  allowsHost,
  type HostsAsked,
  isModelHost,
  listLocalPorts,
  findModelHosts,
  listModelHosts,
  nameOfTarget,
  parseAllowedHosts,
  parseTarget,
  withHosts,
} from '../../../../src/core/isolation/hosts.ts';
import { runs } from '../../../runs.ts';

describe('the input', () => {
  const listed = (...hosts: readonly (readonly [string, number])[]): HostsAsked => ({
    kind: 'registries-and',
    hosts: hosts.map(([host, port]) => ({ host, port })),
    localPorts: [],
  });

  test.each<[string, readonly string[], HostsAsked]>([
    ['nothing', [], listed()],
    ['any', ['any'], { kind: 'any' }],
    ['none', ['none'], { kind: 'none' }],
    ['a host', ['api.example.com'], listed(['api.example.com', 443])],
    ['in another case, with a dot at its end', ['API.Example.COM.'], listed(['api.example.com', 443])],
    ['a port', ['api.example.com:8443'], listed(['api.example.com', 8443])],
    ['all below a name', ['*.Example.org'], listed(['*.example.org', 443])],
    ['with a port', ['*.example.org:80'], listed(['*.example.org', 80])],
    ['a name as in DNS', ['xn--bcher-kva.example'], listed(['xn--bcher-kva.example', 443])],
    ['an address', ['203.0.113.7', '203.0.113.7:22'], listed(['203.0.113.7', 22], ['203.0.113.7', 443])],
    ['an IPv6 address', ['[2606::1]'], listed(['2606:0:0:0:0:0:0:1', 443])],
    ['sorted, each once', ['b.example', 'a.example', 'B.example:443'], listed(['a.example', 443], ['b.example', 443])],
  ])('%s', (_, items, asked) => {
    expect(parseAllowedHosts(items)).toEqual({ asked, problems: [] });
  });

  test.each<[string, string]>([
    [
      'https://api.example.com',
      'has "https://api.example.com", which is a URL or has a path: write only its host, api.example.com',
    ],
    [
      'https://api.example.com:8443/v1?x',
      'has "https://api.example.com:8443/v1?x", which is a URL or has a path: write only its host, api.example.com:8443',
    ],
    [
      'api.example.com/v1',
      'has "api.example.com/v1", which is a URL or has a path: write only its host, api.example.com',
    ],
    ['10.0.0.0/8', 'has "10.0.0.0/8", which is a URL or has a path: write only its host, 10.0.0.0'],
    ['//', 'has "//", which is a URL or has a path: write only its host, such as api.example.com'],
    [
      'https://user:secret@api.example.com',
      'has an item with a user name or password: write only its host, such as api.example.com',
    ],
    ['*', 'has "*": write any, alone, to allow every public host'],
    ['*.com', 'has "*.com", which opens a whole top-level domain: write a name below it, such as *.example.com'],
    ['api.*.com', 'has "api.*.com", which is not a host: * may only be the first label, as in *.example.com'],
    ['*api.example.com', 'has "*api.example.com", which is not a host such as api.example.com or *.example.com:8443'],
    ['*.203.0.113.7', 'has "*.203.0.113.7": write the address without *.'],
    [
      'bücher.example',
      `has "bücher.example", which is not plain ASCII: write the name's ASCII form, whose labels begin with xn--`,
    ],
    ['api.example.com:0', 'has "api.example.com:0", which is not a host: its port must be a number from 1 to 65535'],
    [
      'api.example.com:65536',
      'has "api.example.com:65536", which is not a host: its port must be a number from 1 to 65535',
    ],
    [
      'api.example.com:https',
      'has "api.example.com:https", which is not a host: its port must be a number from 1 to 65535',
    ],
    ['api.example.com:', 'has "api.example.com:", which is not a host: its port must be a number from 1 to 65535'],
    ['a b.example', 'has "a b.example", which is not a host such as api.example.com or *.example.com:8443'],
    ['a..example', 'has "a..example", which is not a host such as api.example.com or *.example.com:8443'],
    ['-a.example', 'has "-a.example", which is not a host such as api.example.com or *.example.com:8443'],
    [
      'a_b.example',
      'has "a_b.example", which is not a host: its name has a character other than letters, digits, - and .',
    ],
    ['2606::1', 'has "2606::1", which is not a host: write an IPv6 address in brackets, [2606::1]'],
    ['10.1.2.3', 'has "10.1.2.3", which is a private or reserved address: only public hosts can be allowed'],
    [
      '169.254.169.254:80',
      'has "169.254.169.254:80", which is a private or reserved address: only public hosts can be allowed',
    ],
    [
      '[::ffff:127.0.0.1]',
      'has "[::ffff:127.0.0.1]", which is a private or reserved address: only public hosts can be allowed',
    ],
    ['0x7f.1', 'has "0x7f.1", which is not a host such as api.example.com or *.example.com:8443'],
    ...['localhost', 'localhost:', 'localhost:80', 'localhost:65536', 'localhost:x', 'LocalHost:0'].map(
      (item) =>
        [item, `has "${item}": write localhost with a port from 1024 to 65535, as in localhost:5432`] as [
          string,
          string,
        ],
    ),
    [
      'db.localhost',
      'has "db.localhost", which only this machine or its own network knows: only public hosts can be allowed',
    ],
    ['redis', 'has "redis", which only this machine or its own network knows: only public hosts can be allowed'],
    ['', 'has "", which is not a host such as api.example.com or *.example.com:8443'],
  ])('%j is a problem', (item, problem) => {
    expect(parseAllowedHosts([item])).toEqual({ asked: listed(), problems: [problem] });
  });

  test('ports of localhost stand for themselves: the proxy never leads there', () => {
    const { asked, problems } = parseAllowedHosts(['localhost:6379', 'a.example', 'LOCALHOST:5432', 'localhost:6379']);
    expect([asked, problems]).toEqual([{ ...listed(['a.example', 443]), localPorts: [5432, 6379] }, []]);
    expect([listLocalPorts(asked), listLocalPorts({ kind: 'any' })]).toEqual([[5432, 6379], []]);
    expect(allowsHost({ allowed: listAllowedHosts(asked, []), never: [] }, 'localhost', 5432)).toBe(false);
    const many = Array.from({ length: 11 }, (_, at) => `localhost:${String(5000 + at)}`);
    expect(parseAllowedHosts(many)).toEqual({
      asked: listed(),
      problems: ['has 11 ports of localhost: give at most 10'],
    });
  });

  test('what is right stays next to problems, of which all are reported, each once', () => {
    expect(parseAllowedHosts(['any', 'a.example', 'none', 'any'])).toEqual({
      asked: listed(['a.example', 443]),
      problems: [
        'has any next to other items: give any alone, or only hosts',
        'has none next to other items: give none alone, or only hosts',
      ],
    });
  });

  test('has a bound', () => {
    const items = Array.from({ length: 201 }, (_, at) => `h${String(at)}.example`);
    expect(parseAllowedHosts(items)).toEqual({ asked: listed(), problems: ['has 201 items: give at most 200'] });
    expect(parseAllowedHosts(items.slice(1)).problems).toEqual([]);
    expect(parseAllowedHosts(['x'.repeat(10_000)]).problems[0]?.length).toBeLessThan(200);
  });

  test('no text makes it throw, or gives a rule for what is not public', () => {
    const item = fc.oneof(
      fc.string({ unit: fc.nat(0x24f).map((code) => String.fromCharCode(code)) }),
      fc.string({ unit: fc.constantFrom('a', 'b-', '.', '.example') }),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.string({ unit: fc.constantFrom(...Array.from('0123456789abx:.*-[]/@')) }),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 5 }), (items) => {
        const { asked, problems } = parseAllowedHosts(items);
        const hosts = asked.kind === 'registries-and' ? asked.hosts : [];
        for (const { host, port } of hosts) {
          expect(host).toMatch(/^(?:\*\.)?[a-z\d.:-]+$/);
          expect(port >= 1 && port <= 65_535).toBe(true);
          if (parseAddress(host) !== null) expect(isForbiddenAddress(host)).toBe(false);
        }
        for (const problem of problems) expect(problem).toMatch(/^has [\x20-\x7e]/);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('what the input and the registries come to', () => {
  const registry = { host: 'registry.example', port: 443 };
  test.each<[string, HostsAsked, AllowedHosts]>([
    ['any', { kind: 'any' }, { kind: 'any' }],
    ['none', { kind: 'none' }, { kind: 'listed', hosts: [] }],
    [
      'hosts',
      { kind: 'registries-and', hosts: [{ host: 'a.example', port: 1 }, registry], localPorts: [5432] },
      { kind: 'listed', hosts: [{ host: 'a.example', port: 1 }, registry] },
    ],
  ])('%s', (_, asked, allowed) => {
    expect(listAllowedHosts(asked, [registry])).toEqual(allowed);
  });
});

describe('what may be reached', () => {
  const rules = (...items: readonly string[]) => {
    const { asked, problems } = parseAllowedHosts(items);
    expect(problems).toEqual([]);
    return { allowed: listAllowedHosts(asked, []), never: ['api.model.example', '*.gateway.example'] };
  };

  test.each<[string, string, number, boolean]>([
    ['api.example.com', 'api.example.com', 443, true],
    ['api.example.com', 'API.example.com.', 443, true],
    ['api.example.com', 'api.example.com..', 443, false],
    ['api.example.com', 'api.example.com', 80, false],
    ['api.example.com', 'www.api.example.com', 443, false],
    ['api.example.com', 'xapi.example.com', 443, false],
    ['api.example.com', 'api.example.com.evil.example', 443, false],
    ['api.example.com', 'api.example.com\0.evil.example', 443, false],
    ['api.example.com:8443', 'api.example.com', 8443, true],
    ['api.example.com:8443', 'api.example.com', 443, false],
    ['*.example.org', 'a.example.org', 443, true],
    ['*.example.org', 'a.b.example.org', 443, true],
    ['*.example.org', 'a_b.example.org', 443, true],
    ['*.example.org', 'example.org', 443, false],
    ['*.example.org', '.example.org', 443, false],
    ['*.example.org', 'evilexample.org', 443, false],
    ['*.example.org', '*.example.org', 443, false],
    ['203.0.113.7', '203.0.113.7', 443, true],
    ['[2606::1]', '2606:0::0:1', 443, true],
    ['any', 'whatever.example', 1, true],
    ['any', '203.0.113.7', 22, true],
    ['any', '10.0.0.1', 443, false],
    ['any', '2130706433', 443, false],
    ['any', '0x7f.1', 443, false],
    ['any', '::ffff:10.0.0.1', 443, false],
    ['any', 'localhost', 443, false],
    ['any', 'metadata.google.internal', 80, false],
    ['any', 'printer.local', 80, false],
    ['any', 'redis', 6379, false],
    ['any', 'api.model.example', 443, false],
    ['any', 'API.MODEL.example.', 80, false],
    ['any', 'eu.gateway.example', 443, false],
    ['any', 'other.model.example', 443, true],
    ['api.model.example', 'api.model.example', 443, false],
    ['none', 'api.example.com', 443, false],
  ])('%s: %j, port %i: %s', (item, host, port, isAllowed) => {
    expect(allowsHost(rules(item), host, port)).toBe(isAllowed);
  });

  test('a host of the model is one whatever its notation', () => {
    const model = { ...rules('any'), never: ['API.Model.Example', '2606::1'] };
    for (const host of ['api.model.example.', '2606:0:0::1']) expect(isModelHost(model, host)).toBe(true);
    expect(isModelHost(model, 'model.example')).toBe(false);
  });
});

describe('a target', () => {
  test.each([
    ['a.example:443', 'a.example:443'],
    ['A.Example.:443', 'a.example:443'],
    ['8.8.8.8:53', '8.8.8.8:53'],
    ['[2606::1]:443', '[2606:0:0:0:0:0:0:1]:443'],
  ])('%s is %s', (text, name) => {
    const target = parseTarget(text, null);
    expect(target && nameOfTarget(target)).toBe(name);
  });

  test.each([
    'a.example',
    'a.example:',
    'a.example:0',
    'a.example:65536',
    'a.example:+443',
    'a.example:443:443',
    'a.example:443/',
    'a.example:443 ',
    'a.example:443\n',
    ':443',
    'user@a.example:443',
    'http://a.example:443',
    '[8.8.8.8]:443',
    '[a.example]:443',
    '[fe80::1%25eth0]:443',
    '2606::1:443',
    '2130706433:80',
    '1.2.3:80',
    'a.0x7f:80',
    `${'a'.repeat(64)}.example:443`,
    `${'a.'.repeat(127)}example:443`,
  ])('%j is rejected', (text) => {
    expect(parseTarget(text, null)).toBeNull();
  });
});

describe('the hosts of the providers', () => {
  const never = [...listModelHosts(['claude', 'codex', 'gemini']), 'gateway.example'];
  const everything = { allowed: { kind: 'any' }, never } as const;
  const named = (host: string): HostsAsked => ({
    kind: 'registries-and',
    hosts: [{ host, port: 443 }],
    localPorts: [],
  });

  test.each([
    'api.anthropic.com',
    'api.openai.com',
    'chatgpt.com',
    'generativelanguage.googleapis.com',
    'bedrock-runtime.us-east-1.amazonaws.com',
    'Bedrock-Runtime.EU-West-1.amazonaws.com.',
    'bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
    'bedrock-runtime.us-east-1.api.aws',
    'bedrock-runtime-fips.us-east-1.api.aws',
    'bedrock-runtime.cn-north-1.amazonaws.com.cn',
    'bedrock-mantle.us-east-1.api.aws',
    'aiplatform.googleapis.com',
    'us-east5-aiplatform.googleapis.com',
    'aiplatform.us.rep.googleapis.com',
    'us-east5-aiplatform.mtls.googleapis.com',
    'gateway.example',
  ])('%s is the broker’s alone, also where it is allowed by name', (host) => {
    const listed = { allowed: listAllowedHosts(named(host.toLowerCase().replace(/\.$/, '')), []), never };
    for (const rules of [everything, listed])
      for (const port of [443, 8443])
        expect([isModelHost(rules, host), allowsHost(rules, host, port)]).toEqual([true, false]);
    expect(findModelHosts(named(host.toLowerCase().replace(/\.$/, '')), never)).toHaveLength(1);
  });

  test.each([
    's3.us-east-1.amazonaws.com',
    'bedrock-runtime.amazonaws.com.attacker.example',
    'x.bedrock-runtime.us-east-1.amazonaws.com.example',
    'bedrock-runtime.us-east-1.amazonaws.community',
    'codeartifact.us-east-1.api.aws',
    'storage.googleapis.com',
    'europe-npm.pkg.dev',
    'aiplatform.rep.googleapis.com.example',
    'registry.gateway.example',
  ])('%s is not one of them', (host) => {
    expect([isModelHost(everything, host), allowsHost(everything, host, 443)]).toEqual([false, true]);
    expect(findModelHosts(named(host), never)).toEqual([]);
  });

  test("a wildcard below a provider's host is reported as well", () => {
    expect(findModelHosts(named('*.anthropic.com'), never)).toHaveLength(1);
    for (const asked of [{ kind: 'any' }, { kind: 'none' }] as const) expect(findModelHosts(asked, never)).toEqual([]);
  });
});

test('more hosts are allowed beside those of the input, each once, and none where all are', () => {
  const [a, b] = [
    { host: 'a.example', port: 443 },
    { host: 'b.example', port: 443 },
  ];
  expect(withHosts({ kind: 'listed', hosts: [b] }, [b, a])).toEqual({ kind: 'listed', hosts: [a, b] });
  expect(withHosts({ kind: 'any' }, [a])).toEqual({ kind: 'any' });
});
