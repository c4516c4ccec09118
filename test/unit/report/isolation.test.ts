import { describe, expect, test } from 'vitest';
import type { IsolationFacts } from '../../../src/core/isolation/probe.ts';
import type { IsolationReport } from '../../../src/handover/report.ts';
import { renderClosingBlock } from '../../../src/report/pages/progress.ts';
import { buildPullRequestText } from '../../../src/report/pages/pull-request.ts';
import { renderStatusJson } from '../../../src/report/pages/status-json.ts';
import { renderSummary } from '../../../src/report/pages/summary.ts';
import { renderIsolation, describeIsolationProblems } from '../../../src/report/sentences/isolation.ts';
import { report } from './fixtures.ts';

/** Returns good facts with some changes. */
function facts(change: Partial<IsolationFacts> = {}): IsolationFacts {
  return {
    level: 'namespace',
    why: null,
    probe: { checks: 32, failed: [] },
    network: 'limited',
    allowedHosts: 4,
    refused: {},
    keyHidden: true,
    processesLeft: 0,
    caches: null,
    ...change,
  };
}

function isolated(change: Partial<IsolationFacts> = {}, from: IsolationReport['from'] = 'this-job'): IsolationReport {
  return { facts: facts(change), from };
}

const none = { level: 'none', network: 'open', probe: null, allowedHosts: 0 } as const;
const user = { level: 'user', probe: { checks: 20, failed: [] as string[] } } as const;
const failed = (...names: string[]) => ({ probe: { checks: 32, failed: names } });

describe('the line', () => {
  test.each<[string, IsolationReport]>([
    [
      'Isolation: namespace — own user, processes, files and network; 4 hosts allowed; the agent never held the model key; 0 processes left',
      isolated(),
    ],
    [
      'Isolation: namespace — own user, processes and files; all hosts allowed (`allowed-hosts: any`); the agent never held the model key; 0 processes left',
      isolated({ network: 'any' }),
    ],
    [
      'Isolation: namespace — own user, processes and files; NO network limit; the agent held the model key; 1 process left',
      isolated({ network: 'open', keyHidden: false, processesLeft: 1 }),
    ],
    [
      'Isolation: user — own user, limited network; 1 host allowed; the agent never held the model key',
      isolated({ ...user, allowedHosts: 1, processesLeft: null }),
    ],
    [
      'Isolation: user — own user; NO network limit; the agent never held the model key; 0 processes left. Stronger isolation is not available here (`namespace`: sudo asks for a password).',
      isolated({
        ...user,
        network: 'open',
        why: 'Stronger isolation is not available here (`namespace`: sudo asks for a password).',
      }),
    ],
    [
      "Isolation: sandbox — own processes, files and network; the runner's own user; 4 hosts allowed; the agent never held the model key; 0 processes left",
      isolated({ level: 'sandbox' }),
    ],
    [
      "Isolation: sandbox — own processes and files; the runner's own user; all hosts allowed (`allowed-hosts: any`); the agent never held the model key; 0 processes left",
      isolated({ level: 'sandbox', network: 'any' }),
    ],
    [
      'Isolation: none — nothing separates the agent from this action; NO network limit; the agent was not given the model key; 0 processes left',
      isolated(none),
    ],
    [
      'Isolation: namespace — NOT CHECKED; 4 hosts allowed; the agent was not given the model key; 0 processes left',
      isolated({ probe: null }),
    ],
    [
      'Isolation: namespace — 2 of 32 checks FAILED; 4 hosts allowed; the agent was not given the model key; 3 processes left',
      isolated({ ...failed('signal the action', 'use Docker'), processesLeft: 3 }),
    ],
    [
      'Isolation (reported by the job of the loop): namespace — own user, processes, files and network; 4 hosts allowed; the agent never held the model key; 0 processes left',
      isolated({}, 'loop-job'),
    ],
    [
      'Isolation (as the main step recorded it): none — nothing separates the agent from this action; NO network limit; the agent held the model key; 0 processes left',
      isolated({ ...none, keyHidden: false }, 'record'),
    ],
  ])('%s', (line, isolation) => {
    expect(renderIsolation(isolation)).toBe(line);
  });

  test('is one line, whatever a sentence of another job is', () => {
    expect(renderIsolation(isolated({ why: 'So\n::error::it\u202E is.' }, 'loop-job'))).toMatch(
      /0 processes left\. So ::error::it is\.$/,
    );
  });
});

describe('weak isolation', () => {
  test.each<[string, IsolationReport, readonly string[]]>([
    ['nothing', isolated(), []],
    ['nothing, where the user asked for it', isolated({ network: 'any' }), []],
    [
      'no isolation',
      isolated(none),
      [
        "The agent was not isolated: its programs could read every key and token of this job, and change what later steps run. Use a runner with sudo, such as GitHub's Ubuntu runners, and leave `isolation` at `auto`.",
      ],
    ],
    [
      'no network limit',
      isolated({ ...user, network: 'open' }),
      [
        "Nothing limits the agent's network: what it reads, it can send anywhere. Use a runner with sudo, such as GitHub's Ubuntu runners, to have `allowed-hosts` enforced.",
      ],
    ],
    [
      'no check',
      isolated({ probe: null }),
      ['The isolation was not checked from where the agent runs, so nothing proves it. The job log says why.'],
    ],
    [
      'a gap',
      isolated(failed("read the action's environment")),
      [
        "The isolation has gaps: the agent can read the action's environment. Give this job no secret that the agent must not have, and use a runner with sudo, such as GitHub's Ubuntu runners.",
      ],
    ],
    [
      'something that is in the way of the work, beside a gap and a check of another version',
      isolated(failed('use git in the work tree', 'use Docker', 'signal the action', 'write to /tmp', 'fl`y')),
      [
        "The isolation has gaps: the agent can use Docker and signal the action. Give this job no secret that the agent must not have, and use a runner with sudo, such as GitHub's Ubuntu runners.",
        'The isolation is too strict on this runner: the agent cannot use git in the work tree and write to /tmp. Choose another level with `isolation`.',
        "Other checks of the isolation failed: `fl'y`.",
      ],
    ],
    [
      'processes that were left',
      isolated({ processesLeft: 2 }),
      [
        '2 processes of the agent were still running at the end, and may see what later steps do. Use a fresh runner for the next job.',
      ],
    ],
    [
      'refused hosts, the most frequent first',
      isolated({ refused: { 'a.example:443': 1, 'example.com:443': 3 } }),
      [
        'Refused hosts: `example.com:443` (3×), `a.example:443` (1×). Add those that the work needs to `allowed-hosts`; any other can be a sign that hidden instructions misled the agent.',
      ],
    ],
    [
      'cache steps of the job, on one line',
      isolated({ caches: 'This job stores a cache\n(`Set up Node`).' }),
      ['This job stores a cache (`Set up Node`).'],
    ],
    [
      'something in another job',
      isolated({ processesLeft: 1 }, 'loop-job'),
      [
        'The job of the loop reports: 1 process of the agent was still running at the end, and may see what later steps do. Use a fresh runner for the next job.',
      ],
    ],
  ])('%s', (_, isolation, problems) => {
    expect(describeIsolationProblems(isolation)).toEqual(problems);
  });

  test('at most five checks and ten hosts are named', () => {
    const names = [
      ...["read the action's environment", "read the action's memory", 'signal the action', 'use Docker'],
      ...['write to /etc', 'use capabilities', 'use rights of groups'],
    ];
    const refused = Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`h${String(at)}:443`, 1]));
    const [gaps, hosts] = describeIsolationProblems(isolated({ ...failed(...names), refused }));
    expect(gaps).toContain('signal the action, use Docker, write to /etc and 2 more.');
    expect(hosts).toContain('`h9:443` (1×) and 3 more.');
    expect(hosts).not.toContain('h10');
  });
});

const limit = { kind: 'limit', reason: 'iterations' } as const;
const pages = (isolation: IsolationReport | null): Record<string, string> => {
  const some = report(limit, { isolation });
  return {
    summary: renderSummary(some),
    'pull request': buildPullRequestText(some, 0).body,
    log: renderClosingBlock(some),
    status: renderStatusJson(some),
  };
};

test.each(['summary', 'pull request', 'log'])(
  'the %s contains no sentence about isolation without a measurement',
  (page) => {
    expect(pages(null)[page]).not.toMatch(/isolat(?!ion":null|ion\\":null)/i);
  },
);

test('the job summary has the line with the machine, and what is weak as a problem above it', () => {
  const page = renderSummary(report(limit, { isolation: isolated({ refused: { 'example.com:443': 3 } }) }));
  const [above = '', machine = ''] = page.split('<summary>Details of the run</summary>');
  expect(machine).toContain('\n\nIsolation: namespace — own user, processes, files and network; 4 hosts allowed;');
  expect(above).toContain('### Problems\n\n- Refused hosts: `example.com:443` (3×). Add those');
  expect(above).not.toContain('Isolation: ');
});

test('that there was no isolation is a problem in the summary', () => {
  expect(pages(isolated(none))['summary']).toContain('### Problems\n\n- The agent was not isolated: its programs');
});

test('that there was no isolation is in the last line of the pull request, which nothing folds', () => {
  expect(pages(isolated(none))['pull request']).toContain('in a bounded loop **without isolation**, [see the log]');
  expect(pages(isolated())['pull request']).toContain('in a bounded loop, [see the log]');
});

test('the pull request has it with the evidence', () => {
  const page = pages(isolated({ probe: { checks: 32, failed: ['use Docker'] } }))['pull request'] ?? '';
  const [above = '', evidence = ''] = page.split('<summary>Evidence, and the state of the last run</summary>');
  expect(evidence).toContain('\n\nIsolation: namespace — 1 of 32 checks FAILED;');
  expect(evidence).toContain('\n\n- The isolation has gaps: the agent can use Docker.');
  expect(above).not.toMatch(/isolation/i);
});

test('the log closes with it, without Markdown', () => {
  expect((pages(isolated({ network: 'any', refused: { 'a.example:80': 1 } }))['log'] ?? '').split('\n')).toEqual(
    expect.arrayContaining([
      'Isolation: namespace — own user, processes and files; all hosts allowed (allowed-hosts: any); the agent never held the model key; 0 processes left',
      'Refused hosts: a.example:80 (1×). Add those that the work needs to allowed-hosts; any other can be a sign that hidden instructions misled the agent.',
    ]),
  );
});

test('names of hosts and sentences of another job mark up nothing, mention nobody and begin no line', () => {
  const evil = '@ann closes #1 <!-- x --> ![x](https://evil.example/x.png) `::error::`\n::warning::x';
  const isolation = isolated({ refused: { [evil]: 2 }, why: evil, ...failed(evil) }, 'loop-job');
  const { summary = '', 'pull request': body = '', log = '' } = pages(isolation);
  for (const page of [summary, body.slice(0, body.indexOf('<!-- ralph-action'))]) {
    expect(page).toContain('Refused hosts: ');
    expect(page).not.toMatch(/@ann|#1\b(?!2|3)|<!-- x|!\[x\]|:\/\/evil|^::/m);
  }
  expect(log).not.toMatch(/^\s*::/m);
});

test('RALPH_STATUS counts, and names no host', () => {
  const { status = '' } = pages(isolated({ refused: { 'a.example:80': 7, 'b.example:80': 1 } }));
  expect((JSON.parse(status) as { isolation: object }).isolation).toEqual({
    ...{ from: 'this-job', level: 'namespace', network: 'limited', allowedHosts: 4, refusedHosts: 2 },
    ...{ checks: 32, failedChecks: 0, keyHidden: true, processesLeft: 0 },
  });
  expect(status).not.toContain('a.example');
});
