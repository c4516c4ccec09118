import { isProtected } from '../../src/git/inspection/protected-paths.ts';
import { lookAtFirst, moreToLookAt, type LookAt } from '../../src/core/review/look-at.ts';
import { reportWithoutLane, type RunReport } from '../../src/handover/report.ts';
import { failureOf } from '../../src/river/failure.ts';
import type { TaskSize } from '../../src/core/lane/change.ts';
import type { Analysis } from '../../src/core/analysis/analysis.ts';
import type { Verifier } from '../../src/ports/agent.ts';
import { HOUR, noon } from '../../test/unit/core/core-fixtures.ts';
import type { Behaviour } from '../../test/loop/stage/behaviours.ts';
import type { Files, Origin } from '../../test/loop/stage/in-memory.ts';
import type { Machine } from '../../test/loop/stage/machine.ts';
import type { Project } from '../../test/loop/stage/project.ts';
import {
  addIssue,
  configOf,
  createProject,
  labeled,
  runOnce,
  schedule,
  type Event,
  type RunSetting,
} from '../../test/loop/stage/river.ts';

/** A situation that people meet, and how a run gets into it. `issue`: the one whose page is looked at. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  readonly issue: number;
  readonly play: () => Promise<PlayedScene>;
}

/** The project after its run; null: the run never saw it. */
export interface PlayedScene {
  readonly project: Project | null;
  readonly report: RunReport;
  /** The lines of the job log that are seen while all groups are closed, each with its level, without the last block. */
  readonly log: readonly string[];
}

/** What the agent does in one call, and what it costs. */
interface Turn {
  readonly writes?: Files;
  readonly says: 'working' | 'done' | 'blocked';
  readonly recommendation?: string;
  readonly output?: Partial<Pick<Analysis, 'question' | 'agentError' | 'usageLimit'>>;
  readonly minutes?: number;
  /** How the tests stand from here on. */
  readonly tests?: 'green' | 'red';
}

type Prepare = NonNullable<RunSetting['prepare']>;

interface Setting {
  /** Titles, by number. */
  readonly issues: Readonly<Record<number, string>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly turns: readonly (Turn | ((task: string) => Turn))[];
  /** The event of the very first run; without it, it is a scheduled one, and not the first. */
  readonly first?: Event;
}

const VERIFY = 'npm ci && npm test';
const TEST_OUTPUT = `
> shop@2.4.0 test
> vitest run

 ✓ test/prices.test.ts (14 tests) 9ms
 ❯ test/shipping.test.ts (6 tests | 2 failed) 21ms
   × an order of 50.00 € ships for free
     → expected 4.9 to be +0 // Object.is equality
   × the cart says how much is missing
     → cart.missing is not a function

 Test Files  1 failed | 1 passed (2)
      Tests  2 failed | 18 passed (20)
`;

const INVOICE_QUESTION =
  'Which number does an invoice get: the number of the order, or one of its own without gaps? The law of most countries wants the latter.';

const shop = {
  12: 'Orders of 50 € and more ship for free',
  14: 'Show prices with VAT',
  17: 'Let customers download their invoice',
} as const;

/** Lines of some source: how many is what people see of it. */
function source(name: string, lines: number): string {
  return Array.from({ length: lines }, (_, line) => `export const ${name}${String(line)} = ${String(line)};`).join(
    '\n',
  );
}

const shippingBegun: Turn = {
  writes: { 'src/shipping.ts': source('shipping', 46), 'test/shipping.test.ts': source('case', 31) },
  says: 'working',
  recommendation: 'Shipping is free from 50 €; next the cart has to say how much is missing.',
  minutes: 6,
};
const shippingDone: Turn = {
  writes: { 'src/shipping.ts': source('shipping', 61), 'src/cart.ts': source('cart', 18) },
  says: 'done',
  recommendation: 'Free shipping is in, and the cart says how much is missing.',
  minutes: 4,
};
const pricesDone: Turn = {
  writes: { 'src/prices.ts': source('price', 38), 'test/prices.test.ts': source('case', 52) },
  says: 'done',
  recommendation: 'All prices are shown with VAT. The rate per country is in src/prices.ts.',
  minutes: 7,
};

/** The ten situations, from the best to the worst. */
export const scenes: readonly Scene[] = [
  {
    name: 'complete',
    title: 'Complete: two issues done, tests green',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [shippingBegun, shippingDone, pricesDone],
      }),
  },
  {
    name: 'limit-red',
    title: 'Limit reached, tests red',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY, 'max-iterations': '3' },
        turns: [
          { ...shippingBegun, tests: 'red' },
          shippingDone,
          {
            writes: { 'src/cart.ts': source('cart', 25) },
            says: 'done',
            recommendation: 'All tests pass now.',
            minutes: 5,
          },
        ],
      }),
  },
  {
    name: 'blocked',
    title: 'Blocked with a question',
    issue: 17,
    play: () =>
      play({
        issues: { 17: shop[17] },
        inputs: { verify: VERIFY },
        turns: [
          {
            writes: { 'src/invoice.ts': source('invoice', 40) },
            says: 'blocked',
            recommendation: INVOICE_QUESTION,
            minutes: 5,
          },
          { says: 'blocked', recommendation: INVOICE_QUESTION, minutes: 2 },
        ],
      }),
  },
  {
    name: 'stuck',
    title: 'A stuck task set aside, the next one done',
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [
          shippingBegun,
          ...[1, 2, 3].map((): Turn => ({
            says: 'working',
            recommendation: 'I am looking for the place where the cart adds up.',
            minutes: 2,
          })),
          pricesDone,
          { says: 'working', recommendation: 'I am still looking for it.', minutes: 2 },
        ],
      }),
  },
  {
    name: 'circuit-open',
    title: 'Circuit open: nothing changes any more',
    issue: 14,
    play: () =>
      play({
        issues: { 14: shop[14] },
        inputs: { verify: VERIFY },
        turns: [
          { ...pricesDone, says: 'working', recommendation: 'The rate per country is in; the product page is left.' },
          { says: 'working', recommendation: 'I will now look at the product page.', minutes: 2 },
        ],
      }),
  },
  {
    name: 'withheld',
    title: 'Files withheld',
    issue: 14,
    play: () =>
      play({
        issues: { 14: shop[14] },
        inputs: { verify: VERIFY, 'max-iterations': '2' },
        turns: [
          {
            ...pricesDone,
            writes: {
              ...pricesDone.writes,
              '.github/workflows/ci.yml': source('job', 9),
              '.mcp.json': '{}',
              '.npmrc': 'registry=https://registry.npmjs.org/',
            },
            says: 'working',
          },
          {
            writes: { 'src/prices.ts': source('price', 41) },
            says: 'working',
            recommendation:
              'Prices are shown with VAT. That the tests run in another time zone, too, is for a person to add to ci.yml.',
            minutes: 3,
          },
        ],
      }),
  },
  {
    name: 'first-run',
    title: 'The first run: a label, all defaults, no tests',
    issue: 12,
    play: () => play({ issues: { 12: shop[12] }, inputs: {}, turns: [shippingDone], first: labeled(12) }),
  },
  {
    name: 'parked',
    title: "Parked: the provider's limit is reached",
    issue: 12,
    play: () =>
      play({
        issues: { 12: shop[12], 14: shop[14], 17: shop[17] },
        inputs: { verify: VERIFY },
        turns: [
          shippingBegun,
          {
            says: 'working',
            output: {
              agentError: { kind: 'rate-limit', text: 'You have hit your limit' },
              usageLimit: { window: 'five-hour', resumeAt: new Date(noon + 5 * HOUR).toISOString() },
            },
            minutes: 1,
          },
        ],
      }),
  },
  {
    name: 'configuration-error',
    title: 'Configuration error',
    issue: 12,
    play: () => Promise.resolve(misconfigured({ 'max-iterations': 'ten', 'state-store': 'disk', session: 'yes' })),
  },
  {
    name: 'thirty-tasks',
    title: 'Thirty tasks, twelve done on one branch',
    issue: 31,
    play: () =>
      play({
        issues: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [31 + at, manyTitles(at)])),
        inputs: { verify: VERIFY, 'max-iterations': '12', 'max-minutes': '120', 'max-tasks-per-pr': '0' },
        turns: [
          (task) => ({
            writes: {
              [`src/pages/${task}.ts`]: source('page', 24),
              [`test/pages/${task}.test.ts`]: source('case', 12),
            },
            says: 'done',
            recommendation: 'Moved, with a test.',
            minutes: 3,
          }),
        ],
      }),
  },
];

function manyTitles(at: number): string {
  const page = ['start', 'search', 'product', 'cart', 'checkout', 'account'][at % 6] ?? '';
  const part =
    ['header', 'price box', 'error messages', 'loading state', 'keyboard navigation'][Math.floor(at / 6)] ?? '';
  return `Move the ${part} of the ${page} page to the new design`;
}

/** A run of the real river, with a scripted agent; what it leaves on the stand-in of GitHub is what people see. `first`: none was before it. */
async function play({ issues, inputs, turns, first }: Setting): Promise<PlayedScene> {
  const tests = { red: false };
  const project = createProject({ issues: [], inputs });
  project.verifier = verifierOf(tests);
  const prepare: Prepare = (_checkout, machine) => {
    makeLifelike(machine, project.origin);
  };
  if (first === undefined) await playEarlierRun(project, prepare);
  for (const [number, title] of Object.entries(issues))
    addIssue(project.forge, Number(number), { title, body: `${title}, as we agreed with the shop team.` });
  project.script.behaviours = turns.map((turn) => behaviourOf(turn, tests));
  const { report, foldedLog } = await runOnce(project, { event: first ?? schedule, prepare });
  if (report === null) throw new Error('The run was killed.');
  return { project, report, log: foldedLog };
}

/** An hour and more ago a run finished a task, and its pull request is merged. */
async function playEarlierRun(project: Project, prepare: Prepare): Promise<void> {
  const { forge, origin, script, clock } = project;
  addIssue(forge, 9, { title: 'Thank customers for their order' });
  script.behaviours = [
    behaviourOf({ writes: { 'src/thanks.ts': source('thanks', 12) }, says: 'done' }, { red: false }),
  ];
  await runOnce(project, { prepare });
  const [pull] = forge.pulls;
  const tip = origin.branches.get('ralph/queue');
  if (pull === undefined || tip === undefined) throw new Error('The earlier run has not finished its task.');
  origin.branches.set('main', tip);
  origin.branches.delete('ralph/queue');
  forge.pulls[0] = { ...pull, state: 'merged', headSha: tip };
  addIssue(forge, 9, { title: 'Thank customers for their order', state: 'closed' });
  clock.advance(2 * HOUR);
}

function behaviourOf(turn: Setting['turns'][number], tests: { red: boolean }): Behaviour {
  return ({ task, turn: number }) => {
    const {
      writes = {},
      says,
      recommendation = null,
      output = {},
      minutes = 3,
      tests: become,
    } = typeof turn === 'function' ? turn(task) : turn;
    const status = { working: 'IN_PROGRESS', done: 'COMPLETE', blocked: 'BLOCKED' } as const;
    return {
      writes,
      minutes,
      meanwhile: () => {
        if (become !== undefined) tests.red = become === 'red';
      },
      output: {
        signal: {
          status: status[says],
          exitSignal: false,
          testsStatus: 'PASSING',
          workType: 'IMPLEMENTATION',
          tasksCompleted: says === 'done' ? 1 : 0,
          filesModified: Object.keys(writes).length,
          recommendation,
          summary: says === 'blocked' ? null : recommendation,
          asks: says === 'blocked' ? recommendation : null,
        },
        turns: 12 + number,
        tokens: 41_300 + 2_750 * minutes,
        costUsd: 0.11 + 0.07 * minutes,
        ...output,
      },
    };
  };
}

function verifierOf(tests: { readonly red: boolean }): Verifier {
  return {
    verify: () =>
      Promise.resolve(
        tests.red
          ? { kind: 'failed', command: VERIFY, code: 1, tail: TEST_OUTPUT, durationMs: 11_200 }
          : { kind: 'passed', durationMs: 9_400 },
      ),
  };
}

/** The stage's machine, with an agent's name, lines that are counted, and rules for what is published. */
function makeLifelike({ agent, checkout }: Machine, { trees }: Origin): void {
  Object.assign(agent, { prepare: () => Promise.resolve({ name: 'Claude Code', version: '2.1.40' }) });
  const { compare, commit, snapshot } = checkout;
  let worthALook: readonly LookAt[] = [];
  const sizes: Record<string, TaskSize> = {};
  const texts = (tree: string, path: string): string | null => trees.get(tree)?.[path] ?? null;
  checkout.compare = async (before, after) => {
    const change = await compare(before, after);
    const lines = (tree: string, path: string): readonly string[] => texts(tree, path)?.split('\n') ?? [];
    const added = (from: string, to: string): number =>
      change.files.flatMap((path) => lines(to, path).filter((line) => !lines(from, path).includes(line))).length;
    return { ...change, insertions: added(before.tree, after.tree), deletions: added(after.tree, before.tree) };
  };
  // What is withheld stays in the work tree.
  const kept = new Set<string>();
  checkout.commit = async (iteration) => {
    const withheld = Object.keys(checkout.files).filter(isProtected);
    checkout.files = Object.fromEntries(Object.entries(checkout.files).filter(([path]) => !withheld.includes(path)));
    for (const path of withheld) kept.add(path);
    const after = await snapshot();
    const { files } = await compare(iteration.before, after);
    const found = lookAtFirst(
      files.map((path) => {
        const [old, now] = [texts(iteration.before.tree, path), texts(after.tree, path)];
        const kind = old === null ? 'added' : now === null ? 'deleted' : 'changed';
        const insertions = now?.split('\n').length ?? 0;
        return {
          path,
          kind,
          binary: false,
          insertions,
          bytes: now?.length ?? null,
          unread: false,
          before: old,
          after: now,
        };
      }),
    );
    worthALook = moreToLookAt(worthALook, found);
    const task = iteration.trailers['Ralph-Task'] ?? '';
    const { insertions, deletions } = await checkout.compare(iteration.before, after);
    const size = sizes[task] ?? { files: 0, insertions: 0, deletions: 0, since: iteration.before.head };
    sizes[task] = {
      files: size.files + files.length,
      insertions: size.insertions + insertions,
      deletions: size.deletions + deletions,
      since: size.since,
    };
    const why = 'it is a protected path; the input allow-protected-paths can allow it';
    return {
      ...(await commit({ ...iteration, after })),
      withheld: withheld.map((path) => ({ path, why })),
      withheldNow: [...kept].map((path) => ({ path, why })),
      lookAt: found,
    };
  };
  checkout.review = () =>
    Promise.resolve({
      lookAt: worthALook,
      lines: Object.values(sizes).reduce((sum, { insertions, deletions }) => sum + insertions + deletions, 0),
      sizes,
    });
}

/** A run that ended at its inputs. */
function misconfigured(inputs: Readonly<Record<string, string>>): PlayedScene {
  try {
    configOf(inputs);
  } catch (error) {
    const outcome = failureOf(error, () => undefined);
    const runUrl = 'https://github.test/acme/shop/actions/runs/1';
    return {
      project: null,
      log: [],
      report: reportWithoutLane({ outcome, repositoryUrl: '', runUrl, startedAt: noon, endedAt: noon + 400 }),
    };
  }
  throw new Error('These inputs are right.');
}
