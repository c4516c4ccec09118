import { isProtected } from '../../src/git/inspection/protected-paths.ts';
import { listLookAtFirst, combineLookAt, type FilesToLookAt } from '../../src/core/review/look-at.ts';
import type { RunReport } from '../../src/handover/report.ts';
import type { TaskSize } from '../../src/core/lane/change.ts';
import type { Analysis } from '../../src/core/analysis/analysis.ts';
import type { ReviewResult } from '../../src/core/pipeline/review.ts';
import type { Verifier } from '../../src/ports/agent.ts';
import { HOUR } from '../../test/unit/core/core-fixtures.ts';
import type { Behaviour } from '../../test/loop/stage/behaviours.ts';
import type { Files, Origin } from '../../test/loop/stage/in-memory.ts';
import type { Machine } from '../../test/loop/stage/machine.ts';
import type { Project } from '../../test/loop/stage/project.ts';
import {
  addIssue,
  createProject,
  runOnce,
  schedule,
  type Event,
  type RunSetting,
} from '../../test/loop/stage/run-action.ts';

/** A situation that people meet, and the run that leads to it. `issue` is the one whose page is shown. */
export interface Scene {
  readonly name: string;
  readonly title: string;
  readonly issue: number;
  readonly play: () => Promise<PlayedScene>;
}

/** The project after its run, or null if the run ended before it reached the project. */
export interface PlayedScene {
  readonly project: Project | null;
  readonly report: RunReport;
  /** The visible lines of the job log while all groups are closed, each with its level, without the last block. */
  readonly log: readonly string[];
}

/** The agent's work in one call, and its cost. */
export interface Turn {
  readonly writes?: Files;
  readonly says: 'working' | 'done' | 'blocked';
  readonly recommendation?: string;
  readonly output?: Partial<Pick<Analysis, 'question' | 'agentError' | 'usageLimit'>>;
  readonly minutes?: number;
  /** The result of the tests from here on. */
  readonly tests?: 'green' | 'red';
}

type Prepare = NonNullable<RunSetting['prepare']>;

export interface Setting {
  /** Titles by issue number. */
  readonly issues: Readonly<Record<number, string>>;
  readonly inputs: Readonly<Record<string, string>>;
  readonly turns: readonly (Turn | ((task: string) => Turn))[];
  /** The event of the very first run; without it, the run is a scheduled one and not the first. */
  readonly first?: Event;
  /**
   * The feedback of people and CI on the pull request an hour after each run; it starts the next run, which answers it.
   */
  readonly said?: readonly ((project: Project) => void)[];
  /** The findings of Codex in each of its reviews, if it reviews every iteration; a grave one holds the task. */
  readonly reviews?: readonly (readonly Finding[])[];
}

type Finding = ReviewResult['findings'][number];

/** A pipeline in which another agent reviews. */
const REVIEWED = JSON.stringify({
  steps: [
    { type: 'agent', name: 'implement' },
    { type: 'agent', name: 'review', config: { agent: 'codex', role: 'review', hold: 'high' } },
  ],
});

/** The value of `verify` in every scene that sets it. */
export const VERIFY = 'npm ci && npm test';
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

/** Returns source code with this many lines; readers only see the number of lines. */
export function source(name: string, lines: number): string {
  return Array.from({ length: lines }, (_, line) => `export const ${name}${String(line)} = ${String(line)};`).join(
    '\n',
  );
}

/**
 * Plays a real run with a scripted agent; its results on GitHub's stand-in are the pages to show. `first` is set if
 * there was no earlier run.
 */
export async function play({ issues, inputs, turns, first, said = [], reviews }: Setting): Promise<PlayedScene> {
  const tests = { red: false };
  const reviewed = { stepAgents: { codex: [reviewOf([])] }, files: { '.ralph/config.json': REVIEWED } };
  const project = createProject({ issues: [], inputs, ...(reviews === undefined ? {} : reviewed) });
  project.verifier = verifierOf(tests, project.origin);
  const prepare: Prepare = (_checkout, machine) => {
    makeLifelike(machine, project.origin);
  };
  if (first === undefined) await playEarlierRun(project, prepare);
  for (const [number, title] of Object.entries(issues))
    addIssue(project.forge, Number(number), { title, body: `${title}, as we agreed with the shop team.` });
  project.script.behaviours = turns.map((turn) => behaviourOf(turn, tests));
  for (const [, script] of project.stepAgents) script.behaviours = (reviews ?? []).map(reviewOf);
  let played = await runOnce(project, { event: first ?? schedule, prepare });
  for (const say of said) {
    project.clock.advance(HOUR);
    say(project);
    played = await runOnce(project, { event: schedule, prepare });
  }
  const { report, foldedLog } = played;
  if (report === null) throw new Error('The run was killed.');
  return { project, report, log: foldedLog };
}

/** Plays a run, more than an hour ago, that finished a task; its pull request is merged. */
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

function reviewOf(findings: readonly Finding[]): Behaviour {
  return () => ({ words: JSON.stringify({ findings }), minutes: 2, output: { tokens: 31_400, costUsd: null } });
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

/** The base is always green. */
function verifierOf(tests: { readonly red: boolean }, { branches }: Origin): Verifier {
  return {
    verify: ({ folder }) =>
      Promise.resolve(
        tests.red && folder !== branches.get('main')
          ? { kind: 'failed', command: VERIFY, code: 1, tail: TEST_OUTPUT, durationMs: 11_200 }
          : { kind: 'passed', durationMs: 9_400 },
      ),
  };
}

/** Extends the stage's machine with an agent's name, counted lines, and rules for publishing. */
function makeLifelike({ agent, checkout }: Machine, { trees }: Origin): void {
  Object.assign(agent, { prepare: () => Promise.resolve({ name: 'Claude Code', version: '2.1.40' }) });
  const { compare, commit, snapshot } = checkout;
  let worthALook: readonly FilesToLookAt[] = [];
  const sizes: Record<string, TaskSize> = {};
  const texts = (tree: string, path: string): string | null => trees.get(tree)?.[path] ?? null;
  checkout.compare = async (before, after) => {
    const change = await compare(before, after);
    const lines = (tree: string, path: string): readonly string[] => texts(tree, path)?.split('\n') ?? [];
    const added = (from: string, to: string): number =>
      change.files.flatMap((path) => lines(to, path).filter((line) => !lines(from, path).includes(line))).length;
    return { ...change, insertions: added(before.tree, after.tree), deletions: added(after.tree, before.tree) };
  };
  // A withheld file stays in the work tree.
  const kept = new Set<string>();
  checkout.commit = async (iteration) => {
    const withheld = Object.keys(checkout.files).filter(isProtected);
    checkout.files = Object.fromEntries(Object.entries(checkout.files).filter(([path]) => !withheld.includes(path)));
    for (const path of withheld) kept.add(path);
    const after = await snapshot();
    const { files } = await compare(iteration.before, after);
    const found = listLookAtFirst(
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
    worthALook = combineLookAt(worthALook, found);
    const task = iteration.trailers['Ralph-Task'] ?? '';
    const { insertions, deletions } = await checkout.compare(iteration.before, after);
    const size = sizes[task] ?? { files: 0, insertions: 0, deletions: 0, since: iteration.before.head };
    sizes[task] = {
      files: size.files + files.length,
      insertions: size.insertions + insertions,
      deletions: size.deletions + deletions,
      since: size.since,
    };
    const why = 'it is a protected path; the setting allow-protected-paths can allow it';
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
