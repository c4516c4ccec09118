import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, inject, test } from 'vitest';
import { ACTION_FOLDER } from '../../../testbed/testbed.ts';
import type { RunningMain } from '../../../testbed/runner.ts';
import type { Behaviour } from '../../../testbed/scripted-agent.ts';
import type { LaneState } from '../../../src/core/lane/state/state.ts';
import { deriveRunIdentities } from '../../../src/runner/run-context.ts';
import { noOwnMachine } from '../../own-machine.ts';
import { IS_DEEP } from '../../runs.ts';
import { openDoors } from './open-doors.ts';
import { createScene, LEVEL, type Run, type Scene, type SceneJob } from '../e2e-fixture.ts';
import { runSplitAsOne } from '../split-fixture.ts';

/** The attackers, each with exactly the access that it has in a real job. */
type Attacker =
  | 'the agent'
  | "the agent's leftover process"
  | 'what verify runs'
  | 'the author of an issue'
  | 'a commenter'
  | 'a bot that may edit issues'
  | 'a reviewer'
  | 'what CI runs'
  | 'a stranger with a label'
  | 'a pull request of a fork'
  | "who writes the default branch's cache";

/** One attack. `holds` throws if it succeeded. */
export interface Attack<Aftermath> {
  readonly who: Attacker;
  readonly does: string;
  /** The consequence that must never happen. */
  readonly never: string;
  readonly holds: (after: Aftermath) => unknown;
}

interface Staged<Aftermath> {
  readonly stage: (scene: Scene) => Promise<Aftermath>;
  readonly attacks: readonly Attack<Aftermath>[];
  /**
   * The path in `test/` of the test in which every run checks the same defence; this scene then runs in `npm run
   * test:deep` only.
   */
  readonly heldBy?: string;
}

/** Runs attacks that share one scene: `stage` plays it for the first row, and every row checks the result. */
export function repel<Aftermath>(title: string, { stage, attacks, heldBy }: Staged<Aftermath>): void {
  if (heldBy !== undefined && !existsSync(join(ACTION_FOLDER, 'test', heldBy)))
    throw new Error(`"${title}" is held by ${heldBy}, which is not there.`);
  describe.skipIf((LEVEL !== '' && noOwnMachine !== null) || (heldBy !== undefined && !IS_DEEP))(title, () => {
    let scene: Scene | null = null;
    let staged: Promise<Aftermath> | null = null;
    const play = async (): Promise<Aftermath> => {
      scene = await createScene();
      return stage(aimed(scene));
    };
    afterAll(() => scene?.[Symbol.asyncDispose]());

    for (const { who, does, never, holds } of attacks)
      test(`${who}: ${does}. Never: ${never}`, async () => {
        staged ??= play();
        const held = await staged.then(holds).then(
          () => null,
          (error: unknown) => ({ error }),
        );
        const open = scene === null || !isIsolated(scene) ? openDoors[does] : undefined;
        if (open === undefined && held !== null) throw held.error;
        if (open !== undefined && held === null)
          throw new Error(`This door is closed now, so its line in open-doors.ts can go: ${open}`);
      });
  });
}

/**
 * True if the agent is isolated. It then gets less far, but the forbidden consequences of an attack are equal.
 */
export function isIsolated({ own }: Scene): boolean {
  return own !== null;
}

/** True if every run is one of three jobs. */
export const IS_SPLIT = process.env['RALPH_TEST_JOBS'] === 'three';

/**
 * Returns the scene with an agent that knows where the action keeps its files; an isolated one could not find that out.
 */
function aimed(scene: Scene): Scene {
  const run = IS_SPLIT ? (job: SceneJob) => runSplitAsOne(scene, job) : scene.run;
  return {
    ...scene,
    run: async (job = {}) => {
      const aims = join(inject('programs'), `aims-${randomUUID()}.sh`);
      await using scratch = openScratch(scene);
      return scratch.of(
        await run({
          ...job,
          inputs: { 'agent-env': 'RALPH_SCRIPT\nRALPH_PAUSE_MS\nRALPH_AIMS', ...job.inputs },
          env: { RALPH_AIMS: aims, ...job.env },
          onStart: (main) => {
            writeFileSync(aims, `${aimsAt(main)}${scratch.aim}`);
            job.onStart?.(main);
          },
        }),
      );
    },
  };
}

/** Folders that outlive the trees of a run, by the run's workspace. */
const scratchOf = new Map<string, string>();

/**
 * Opens the folder in which scripts of a run leave files. `aim` is a variable for them, if they can reach the folder;
 * an agent's sandbox leaves the files in its tree, from which they are copied while it exists.
 */
export function openScratch({
  own,
}: Pick<Scene, 'own'>): AsyncDisposable & { readonly aim: string; readonly of: (run: Run) => Run } {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-scratch-'));
  const of = (run: Run): Run => {
    scratchOf.set(run.workspace, folder);
    return run;
  };
  if (own === null) return { aim: `scratch='${folder}'\n`, of, [Symbol.asyncDispose]: () => Promise.resolve() };
  // The copies belong to the test's user, because the end of a run removes everything that belongs to the agent's user.
  const [first, ...around] = own.around;
  const copying = `while :; do for left in /var/tmp/ralph-sandbox-*/trees/work/*/${SCRATCH}; do cp -dR "$left/." "$0/" 2>/dev/null; done; sleep 0.1; done`;
  const copier = spawn(first ?? 'sh', [...around, 'sh', '-c', copying, folder], { stdio: 'ignore' });
  return {
    aim: '',
    of,
    [Symbol.asyncDispose]: async () => {
      const ended = once(copier, 'exit');
      copier.kill('SIGKILL');
      await ended;
    },
  };
}

function aimsAt({ pid }: RunningMain): string {
  const variables = readFileSync(`/proc/${String(pid)}/environ`, 'utf8').split('\0');
  const environment = Object.fromEntries(variables.map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  const [{ runFolder }] = deriveRunIdentities(environment);
  const aims = {
    run_folder: runFolder,
    runner_files: dirname(environment['GITHUB_ENV'] ?? ''),
    temp: environment['RUNNER_TEMP'] ?? '',
    home: environment['HOME'] ?? '',
    main: String(pid),
  };
  return Object.entries(aims)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('');
}

/** The place in the tree where scripts in an agent's sandbox leave files for the test; it does not count as content. */
const SCRATCH = '.ralph/logs/.attack';

/** Returns the folder with the files that scripts of a run left. */
export function scratchFolder({ workspace }: Pick<Run, 'workspace'>): string {
  return scratchOf.get(workspace) ?? '';
}

/** Returns the file that scripts left under a name, or null if none. */
export function leftBy({ workspace }: Pick<Run, 'workspace'>, name: string): string | null {
  const path = join(scratchOf.get(workspace) ?? '', name);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** The variables that the agent's scripts may use. */
const FINDINGS = [
  `. "$RALPH_AIMS"; export scratch="\${scratch:-$PWD/${SCRATCH}}"; mkdir -p "$scratch"`,
  // Excludes the folder from anything that the script adds to git.
  `[ ! -f .git/info/exclude ] || echo /${SCRATCH}/ >> .git/info/exclude`,
].join('\n');

/**
 * Returns a call of the agent that runs `script` and claims that its task is finished. The script gets the variables
 * run_folder, runner_files, temp, home and main (the files of the action and the runner, and the action's process) and
 * scratch (its own folder).
 */
export function attackBy(
  script: string,
  said: Omit<Extract<Behaviour, { kind: 'shell' }>, 'kind' | 'script'> = {},
): Behaviour {
  return { kind: 'shell', script: `${FINDINGS}\n${script}`, ...said };
}

/**
 * Returns everything on the branches and refs that the action pushed: commits with messages and names, and contents.
 */
export function everythingPushed({ testbed }: Scene): Promise<string> {
  return testbed.git('log', '--all', '--not', 'main', '--not', '--format=raw', '--patch', '--text', '--root');
}

/** Returns the paths of the files of `branch` on the remote. */
export async function filesOf({ testbed }: Scene, branch = 'ralph/queue'): Promise<string[]> {
  const listed = await testbed.git('ls-tree', '-r', '-z', '--name-only', branch);
  return listed.split('\0').filter(Boolean);
}

/** Returns the paths that any commit of `branch` touches, including those that a later one removes. */
export async function everTouched({ testbed }: Scene, branch = 'ralph/queue'): Promise<string[]> {
  const listed = await testbed.git('log', '-z', '-m', '--format=', '--name-only', `main..${branch}`);
  return [...new Set(listed.split('\0').filter(Boolean))];
}

/** Returns everything that people can read of a run. */
export function shownBy({ main, post, summary, outputs }: Run): string {
  return [main.log, post.log, summary, JSON.stringify(outputs)].join('\n');
}

/** Returns the state of the lane in its ref, or null if none. */
export async function storedState({ testbed }: Scene, lane = 'queue'): Promise<LaneState | null> {
  const record = await testbed.git('show', `refs/ralph/v2/state:lanes/${lane}.json`).catch(() => null);
  return record === null ? null : (JSON.parse(record) as { readonly state: LaneState | null }).state;
}
