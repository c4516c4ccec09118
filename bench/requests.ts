import { events, type Sandbox } from '../sandbox/sandbox.ts';
import type { Row } from './measure.ts';

const IDLE_GOAL = 5;
/** Asking whether all is done takes the state from both places: 3 for the ref, 2 for the cache, 2 for the branches, 1 for the issues. */
const DONE_GOAL = 8;
/** What the same first run asked for before there were a live status and notifications, at most so much more since, and one for each iteration. */
const FIRST_BEFORE = 74;
const FIRST_MORE = 6;

/** HTTP requests of whole runs, main and post: to the API, the cache and the git server. Counted, not timed. */
export async function countRequests(sandbox: Sandbox): Promise<readonly Row[]> {
  const idle = await requestsOf(sandbox, 'idle');
  for (const title of ['Add a farewell', 'Add a product', 'Say hello in German'])
    sandbox.openIssue({ title, body: 'With a test.' });
  const first = await requestsOf(sandbox, 'complete');
  const mayBe = FIRST_BEFORE + FIRST_MORE + first.iterations;
  const again = await requestsOf(sandbox, 'idle');
  return [
    row('requests: idle run, no labelled issue', idle, IDLE_GOAL),
    row(
      `requests: first run over 3 issues, ${String(first.iterations)} iterations (${String(FIRST_BEFORE)} before the live status)`,
      first,
      mayBe,
    ),
    row('requests: next run, all of them done', again, DONE_GOAL),
  ];
}

interface Requests {
  readonly api: number;
  readonly cache: number;
  readonly git: number;
  readonly iterations: number;
}

async function requestsOf(sandbox: Sandbox, expected: string): Promise<Requests> {
  let before = requestsSoFar(sandbox);
  const { outputs, main } = await sandbox.run({
    event: events.schedule(),
    // What the checkout step asked for is not ours.
    prepare: () => {
      before = requestsSoFar(sandbox);
      return Promise.resolve();
    },
  });
  if (outputs['outcome'] !== expected)
    throw new Error(`the run ended as ${outputs['outcome'] ?? 'nothing'} instead of ${expected}:\n${main.log}`);
  const after = requestsSoFar(sandbox);
  return {
    api: after.api - before.api,
    cache: after.cache - before.cache,
    git: after.git - before.git,
    iterations: Number(outputs['iterations']),
  };
}

function requestsSoFar({ github, cache, remote }: Sandbox): Omit<Requests, 'iterations'> {
  return { api: github.requests.length, cache: cache.requests.length, git: remote.requests.length };
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
