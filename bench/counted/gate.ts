import { join } from 'node:path';
import { startTestbed, events, type Testbed } from '../../testbed/testbed.ts';
import { type Cost, costOf, type Row } from '../measure.ts';

const LANES = 20;
const MAX_ADDED_REQUESTS = 15;

interface GateCost extends Cost {
  readonly requests: number;
  readonly pushes: number;
}

/** Counts the requests and pushes of the gate's job with one branch and with 20, and compares its time. */
export async function countGateRequests(folder: string): Promise<readonly Row[]> {
  const cache = join(folder, 'compiled');
  // This run only fills the compile cache.
  await playGate(join(folder, 'first'), { lanes: 1, cache });
  const one = await playGate(join(folder, 'one'), { lanes: 1, cache });
  const many = await playGate(join(folder, 'many'), { lanes: LANES, cache });
  const more = many.requests - one.requests;
  const ratio = (of: (cost: GateCost) => number): string =>
    `${(of(many) / of(one)).toFixed(2)}× (${of(many).toFixed(0)} ms against ${of(one).toFixed(0)} ms)`;
  return [
    {
      measure: `requests: gate of ${String(LANES)} branches, more than of one`,
      value: `${String(more)} (${String(many.requests)}, of these ${String(many.pushes)} pushes; ${String(one.requests)} of one)`,
      goal: `≤ ${String(MAX_ADDED_REQUESTS)}`,
      isMet: more <= MAX_ADDED_REQUESTS,
    },
    {
      measure: `time: gate of ${String(LANES)} branches against one`,
      value: `${ratio(({ wallMs }) => wallMs)}, CPU ${ratio(({ cpuMs }) => cpuMs ?? NaN)}`,
      goal: '≤ 2×, on a quiet machine',
      isMet: null,
    },
  ];
}

async function playGate(
  folder: string,
  { lanes, cache }: { readonly lanes: number; readonly cache: string },
): Promise<GateCost> {
  await using testbed = await startTestbed(folder);
  const paths = Array.from({ length: LANES + 5 }, (_, at) => `src/f${String(at)}.js`);
  await testbed.remote.commitByHand('main', Object.fromEntries(paths.map((path) => [path, `// ${path}\n`])));
  for (const path of paths) testbed.openIssue({ title: `Improve ${path}`, body: 'With a test.' });
  let before = soFar(testbed);
  let named: readonly string[] = [];
  const cost = await costOf(async () => {
    const { outputs } = await testbed.run({
      event: events.schedule(),
      inputs: {
        ...{ phase: 'gate', 'handoff-branch': 'each', parallel: String(lanes), 'max-open-prs': '0' },
        ...{ 'max-iterations': '40', 'max-cost-usd': '0', 'agent-env': 'NODE_COMPILE_CACHE' },
      },
      env: { ANTHROPIC_API_KEY: '', NODE_COMPILE_CACHE: cache },
      prepare: () => {
        before = soFar(testbed);
        return Promise.resolve();
      },
    });
    named = JSON.parse(outputs['handoff-branches'] || '[]') as readonly string[];
  });
  if (named.length !== lanes) throw new Error(`The gate handed over ${String(named.length)} branches.`);
  const after = soFar(testbed);
  return { ...cost, requests: after.requests - before.requests, pushes: after.pushes - before.pushes };
}

function soFar({ github, cache, remote }: Testbed): Pick<GateCost, 'requests' | 'pushes'> {
  const pushes = remote.requests.filter(({ path, method }) => method === 'POST' && path.includes('receive-pack'));
  return { requests: github.requests.length + cache.requests.length + remote.requests.length, pushes: pushes.length };
}
