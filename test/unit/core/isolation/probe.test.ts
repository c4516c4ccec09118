import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AttemptName,
  attemptNames,
  type AttemptResult,
  isolationFacts,
  type IsolationFacts,
  type IsolationLevel,
  judgeProbe,
  groupByMeaning,
  parseProbeAnswer,
  type ProbeResults,
  findExpectedResult,
} from '../../../../src/core/isolation/probe.ts';
import { runs } from '../../../runs.ts';

type Network = IsolationFacts['network'];

const places: readonly (readonly [IsolationLevel, Network])[] = (
  ['namespace', 'user', 'sandbox', 'none'] as const
).flatMap((level) => (['limited', 'any', 'open'] as const).map((network) => [level, network] as const));

function all(result: AttemptResult): Record<AttemptName, AttemptResult> {
  return Object.fromEntries(attemptNames.map((name) => [name, result])) as Record<AttemptName, AttemptResult>;
}

/** Returns the required results, and the opposite for checks that are not required. */
function perfect(level: IsolationLevel, network: Network): Record<AttemptName, AttemptResult> {
  return Object.fromEntries(
    attemptNames.map((name) => [name, findExpectedResult(name, level, network) ?? 'open']),
  ) as Record<AttemptName, AttemptResult>;
}

const needed = [
  'write to the work tree',
  'use git in the work tree',
  'write to its home',
  'write to /tmp',
  'reach the broker',
  'reach the proxy',
];
const elsewhere = ['connect to other machines directly', 'send UDP to other machines', 'connect to other local ports'];
const ABSTRACT = "connect to the machine's abstract sockets";
const namespaceOnly = [
  "read the action's command line",
  'write to /usr/local/bin',
  'write to /opt',
  'write to /opt/hostedtoolcache',
  'write to /usr/share',
  'use system daemons such as D-Bus',
  'use sockets of daemons in folders that are shown',
  "see the machine's /tmp",
];
const closedAlways = [
  "read the action's environment",
  "read the action's memory map",
  "read the action's memory",
  "list the action's open files",
  'signal the action',
  'become root with sudo',
  'become root with su',
  "list the runner's home",
  "list the runner's temporary folder",
  "use the runner's file commands",
  'write to /etc',
  'use Docker',
  "use the kernel's keys",
  'make sockets that no network namespace holds',
  'use files that were open when it was started',
  'use rights of groups',
  'gain rights by set-uid programs',
  'use capabilities',
];

/** The checks at `sandbox`, whose agent has the groups of the action's own user. */
const closedInSandbox = [...closedAlways.filter((name) => name !== 'use rights of groups'), ...namespaceOnly];

describe('what must be closed', () => {
  test.each<[IsolationLevel, Network, readonly string[]]>([
    ['namespace', 'limited', [...closedAlways, ...namespaceOnly, ...elsewhere, ABSTRACT]],
    ['namespace', 'any', [...closedAlways, ...namespaceOnly]],
    ['namespace', 'open', [...closedAlways, ...namespaceOnly]],
    ['user', 'limited', [...closedAlways, ...elsewhere]],
    ['user', 'any', closedAlways],
    ['user', 'open', closedAlways],
    ['sandbox', 'limited', [...closedInSandbox, ...elsewhere, ABSTRACT]],
    ['sandbox', 'any', closedInSandbox],
    ['none', 'open', []],
  ])('at level %s, network %s', (level, network, closed) => {
    const { checks, failed } = judgeProbe(level, network, all('open'));
    expect(new Set(failed)).toEqual(new Set(closed));
    expect(checks).toBe(closed.length + needed.length);
  });
});

test.each(places)('what the agent needs must work at level %s, network %s', (level, network) => {
  expect(judgeProbe(level, network, all('closed')).failed).toEqual(needed);
});

test.each(places)('all is well at level %s, network %s, where each check finds what is wanted', (level, network) => {
  expect(judgeProbe(level, network, perfect(level, network)).failed).toEqual([]);
  expect(judgeProbe(level, network, { ...perfect(level, network), 'make a user namespace': 'closed' }).failed).toEqual(
    [],
  );
});

test.each<[AttemptName, AttemptResult, readonly string[]]>([
  ["read the action's environment", 'open', ["read the action's environment"]],
  ["list the runner's home", 'absent', []],
  ['use git in the work tree', 'closed', ['use git in the work tree']],
  ['reach the proxy', 'absent', []],
])('that an agent can %s is %s: fails %j', (name, result, failed) => {
  expect(judgeProbe('namespace', 'limited', { ...perfect('namespace', 'limited'), [name]: result }).failed).toEqual(
    failed,
  );
});

test('a try without an answer has failed', () => {
  const { checks, failed } = judgeProbe('namespace', 'limited', {});
  expect(failed).toHaveLength(checks);
  const others = Object.entries(perfect('user', 'open')).filter(([name]) => name !== 'signal the action');
  expect(judgeProbe('user', 'open', Object.fromEntries(others)).failed).toEqual(['signal the action']);
});

test('the results fit into the facts of a run', () => {
  const facts: IsolationFacts = {
    ...{ level: 'namespace', why: null, network: 'limited', allowedHosts: 0, refused: {} },
    ...{ keyHidden: true, processesLeft: null, caches: null },
    probe: judgeProbe('namespace', 'limited', {}),
  };
  expect(isolationFacts.parse(facts)).toEqual(facts);
});

describe("the probe's answer", () => {
  test('is read back', () => {
    const results: ProbeResults = { 'signal the action': 'closed', 'reach the proxy': 'absent' };
    expect(parseProbeAnswer(JSON.stringify(results))).toEqual(results);
    expect(parseProbeAnswer(`${JSON.stringify(all('open'))}\n`)).toEqual(all('open'));
  });

  test.each([
    '',
    '{',
    'null',
    '[]',
    '"closed"',
    '{"signal the action":true}',
    '{"signal the action":"CLOSED"}',
    '{"signal the action":"closed","fly":"closed"}',
    '{"signal the action":"closed"}{"signal the action":"closed"}',
    JSON.stringify({ results: all('closed') }),
  ])('%j proves nothing', (text) => {
    expect(parseProbeAnswer(text)).toBeNull();
  });

  test('may be anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const results = parseProbeAnswer(text);
        if (results !== null) expect(judgeProbe('user', 'open', results).failed.length).toBeGreaterThan(0);
      }),
      { numRuns: runs(200) },
    );
  });
});

test('names of failed checks are sorted by what they mean', () => {
  expect(groupByMeaning(['signal the action', 'write to /tmp', 'fly', 'toString', 'use Docker'])).toEqual({
    can: ['signal the action', 'use Docker'],
    cannot: ['write to /tmp'],
    unknown: ['fly', 'toString'],
  });
});
