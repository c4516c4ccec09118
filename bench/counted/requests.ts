import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { editIssue } from '../../testbed/github/people.ts';
import { events, startTestbed, type Testbed, type TestbedJob } from '../../testbed/testbed.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import type { Row } from '../measure.ts';
import { countGateRequests } from './gate.ts';

/**
 * Maximum number of API requests of the first run over three issues, which needs 40. All goals below are the numbers of
 * November 2026. They may fall but not rise: a change that needs one more request raises its goal and gives the reason.
 * An idle run requests the issues, all open pull requests of the lanes, and the label names. When everything is done, a
 * run reads the state's ref 3 times, its cache once, the branches twice, and then makes the idle run's requests and
 * reads the lane's own pull request. Every run requests all open pull requests at its start, to say which one to merge
 * next.
 */
const MAX_API_REQUESTS = 45;
const MAX_DASHBOARD_REQUESTS = 2;
const GOALS = { idle: 3, asked: 58, first: 92, done: 10, blocked: 50, stuck: 76, settling: 68 } as const;

/** Changes nothing and asks a question. */
const asks: Behaviour = {
  kind: 'shell',
  script: 'true',
  text: [
    '---RALPH_STATUS---',
    'STATUS: BLOCKED',
    'EXIT_SIGNAL: false',
    'QUESTION: Which greeting is meant?',
    '---END_RALPH_STATUS---',
  ].join('\n'),
  status: null,
};
/** Changes nothing and makes no progress. */
const lost: Behaviour = {
  kind: 'shell',
  script: 'true',
  text: 'I looked around.',
  status: { finishes: false, exit: false },
};

/** Makes some progress and does not finish. */
const half: Behaviour = {
  kind: 'shell',
  script: 'date +%s%N >> notes.txt',
  text: 'A part of it.',
  status: { finishes: false, exit: false },
};

/** Counts the HTTP requests of whole runs, main and post: to the API, the cache and the git server. */
export async function countRequests(folder: string): Promise<readonly Row[]> {
  return [
    ...(await inScene(folder, 'happy', happy)),
    ...(await inScene(folder, 'asked', asked)),
    ...(await inScene(folder, 'blocked', blocked)),
    ...(await inScene(folder, 'stuck', stuck)),
    ...(await inScene(folder, 'settling', settling)),
    ...(await inScene(folder, 'dashboard', dashboard)),
    ...(await countGateRequests(join(folder, 'gate'))),
  ];
}

async function happy({ testbed, run }: Scene): Promise<readonly Row[]> {
  const idle = await run('idle', []);
  for (const title of ['Add a farewell', 'Add a product', 'Say hello in German'])
    testbed.openIssue({ title, body: 'With a test.' });
  const first = await run('complete', []);
  const again = await run('idle', []);
  return [
    row('requests: idle run, no labelled issue', idle, GOALS.idle),
    working('requests: first run over 3 issues', first, GOALS.first),
    {
      measure: 'requests: of these to the API',
      value: String(first.api),
      goal: `≤ ${String(MAX_API_REQUESTS)}`,
      isMet: first.api <= MAX_API_REQUESTS,
    },
    row('requests: next run, all of them done', again, GOALS.done),
  ];
}

/** A person labels an issue, which gets a branch of its own. */
async function asked({ testbed, run }: Scene): Promise<readonly Row[]> {
  const event = events.labeled(testbed.openIssue({ title: 'Add a greeting', body: 'With a test.' }));
  return [working('requests: run for one issue', await run('complete', [], { event }), GOALS.asked)];
}

/** The agent asks a question, and a person is notified. */
async function blocked({ testbed, run }: Scene): Promise<readonly Row[]> {
  testbed.openIssue({ title: 'Add a greeting', body: 'With a test.' });
  return [
    working('requests: run with a question, one notification', await run('blocked', [asks, asks]), GOALS.blocked),
  ];
}

/** One task is set aside and a person is notified; the other task is done. */
async function stuck({ testbed, run }: Scene): Promise<readonly Row[]> {
  for (const title of ['Add everything', 'Add a farewell']) testbed.openIssue({ title, body: 'With a test.' });
  const counted = await run('blocked', [lost, lost, lost]);
  return [working('requests: run with a task set aside and one done', counted, GOALS.stuck)];
}

/** An idle run reads the dashboard and updates it, because a person has changed its text. */
async function dashboard({ testbed, run }: Scene): Promise<readonly Row[]> {
  const without = await run('idle', []);
  const inputs = { dashboard: 'true' };
  await run('idle', [], { inputs });
  const { state } = testbed.github;
  const { number, body } = state.issues[0] ?? { number: 0, body: '' };
  editIssue(state, number, { body: `${body}\nMine`, by: 'octo', now: Date.now() });
  const { api } = await run('idle', [], { inputs });
  if (state.issues[0]?.body.includes('Mine') !== false) throw new Error('the dashboard was not brought up to date');
  return [
    {
      measure: 'requests: idle run with a dashboard that it writes, to the API',
      value: `${String(api)} (${String(without.api)} without)`,
      goal: `≤ ${String(without.api + MAX_DASHBOARD_REQUESTS)}`,
      isMet: api <= without.api + MAX_DASHBOARD_REQUESTS,
    },
  ];
}

/** Three comments of earlier runs are about tasks that no longer exist. */
async function settling({ testbed, run }: Scene): Promise<readonly Row[]> {
  for (const title of ['Add a greeting', 'Add a question', 'Add an answer']) {
    testbed.openIssue({ title, body: 'With a test.' });
    await run('blocked', [half], { inputs: { 'max-iterations-per-task': '1' } });
  }
  for (const issue of testbed.github.state.issues) issue.labels.length = 0;
  testbed.openIssue({ title: 'Add a farewell', body: 'With a test.' });
  const counted = await run('complete', []);
  return [working('requests: run that is complete and settles 3 notifications', counted, GOALS.settling)];
}

interface Scene {
  readonly testbed: Testbed;
  /**
   * Starts a run, scheduled by default, whose agent shows these behaviours in its first calls, and works honestly after
   * that.
   */
  readonly run: (
    expected: string,
    agent: readonly Behaviour[],
    job?: Partial<Pick<TestbedJob, 'event' | 'inputs'>>,
  ) => Promise<Requests>;
}

async function inScene(
  folder: string,
  name: string,
  play: (scene: Scene) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const at = join(folder, name);
  await mkdir(at, { recursive: true });
  await using testbed = await startTestbed(join(at, 'sandbox'));
  return await play({ testbed, run: (expected, agent, job = {}) => requestsOf(testbed, { expected, agent, job, at }) });
}

interface Requests {
  readonly api: number;
  readonly cache: number;
  readonly git: number;
  readonly iterations: number;
}

async function requestsOf(
  testbed: Testbed,
  {
    expected,
    agent,
    job: { event = events.schedule(), inputs = {} },
    at,
  }: {
    readonly expected: string;
    readonly agent: readonly Behaviour[];
    readonly job: Partial<Pick<TestbedJob, 'event' | 'inputs'>>;
    readonly at: string;
  },
): Promise<Requests> {
  const script = join(at, 'script.json');
  await writeFile(script, JSON.stringify(agent));
  let before = requestsSoFar(testbed);
  const { outputs, main } = await testbed.run({
    event,
    inputs: { 'agent-env': 'RALPH_SCRIPT, NODE_COMPILE_CACHE', ...inputs },
    // Share the compile cache: only requests are counted.
    env: { RALPH_SCRIPT: script, NODE_COMPILE_CACHE: join(dirname(at), 'compiled') },
    // Do not count requests of the checkout step.
    prepare: () => {
      before = requestsSoFar(testbed);
      return Promise.resolve();
    },
  });
  if (outputs['outcome'] !== expected)
    throw new Error(`the run ended as ${outputs['outcome'] ?? 'nothing'} instead of ${expected}:\n${main.log}`);
  const after = requestsSoFar(testbed);
  return {
    api: after.api - before.api,
    cache: after.cache - before.cache,
    git: after.git - before.git,
    iterations: Number(outputs['iterations']),
  };
}

function requestsSoFar({ github, cache, remote }: Testbed): Omit<Requests, 'iterations'> {
  return { api: github.requests.length, cache: cache.requests.length, git: remote.requests.length };
}

function working(measure: string, counted: Requests, goal: number): Row {
  return row(`${measure}, ${String(counted.iterations)} iterations`, counted, goal);
}

function row(measure: string, { api, cache, git }: Requests, goal: number): Row {
  const all = api + cache + git;
  return {
    measure,
    value: `${String(all)} (${String(api)} API, ${String(cache)} cache, ${String(git)} git)`,
    goal: `≤ ${String(goal)}`,
    isMet: all <= goal,
  };
}
