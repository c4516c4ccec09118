import { afterAll, describe, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/scripted-agent.ts';
import type { LaneState } from '../../../src/core/lane/state.ts';
import { openDoors } from './open-doors.ts';
import { createScene, type Run, type Scene } from '../e2e-fixture.ts';

/** Who attacks: each has what it has in a real job, and no more. */
type Attacker =
  | 'the agent'
  | "the agent's leftover process"
  | 'what verify runs'
  | 'the author of an issue'
  | 'a commenter'
  | 'a stranger with a label'
  | 'a pull request of a fork'
  | "who writes the default branch's cache";

/** One attack. `holds` throws when it came through. */
export interface Attack<Aftermath> {
  readonly who: Attacker;
  readonly does: string;
  /** What must not come of it. */
  readonly never: string;
  readonly holds: (after: Aftermath) => unknown;
}

/** Attacks that come in one scene: `stage` plays it at the first row that looks, and every row looks at what came of it. */
export function repel<Aftermath>(
  title: string,
  {
    stage,
    attacks,
  }: { readonly stage: (scene: Scene) => Promise<Aftermath>; readonly attacks: readonly Attack<Aftermath>[] },
): void {
  describe(title, () => {
    let scene: Scene | null = null;
    let staged: Promise<Aftermath> | null = null;
    const play = async (): Promise<Aftermath> => {
      scene = await createScene();
      return stage(scene);
    };
    afterAll(() => scene?.[Symbol.asyncDispose]());

    for (const { who, does, never, holds } of attacks)
      test(`${who}: ${does}. Never: ${never}`, async () => {
        const open = openDoors[does];
        staged ??= play();
        const held = await staged.then(holds).then(
          () => null,
          (error: unknown) => ({ error }),
        );
        if (open === undefined && held !== null) throw held.error;
        if (open !== undefined && held === null)
          throw new Error(`This door is closed now, so its line in open-doors.ts can go: ${open}`);
      });
  });
}

/** What the agent's scripts may use: where the action keeps its things, as an agent can find out. */
const FINDINGS = [
  'run_folder=$(dirname "$CLAUDE_CONFIG_DIR")',
  'export scratch="$(dirname "$run_folder")/attack"; mkdir -p "$scratch"',
  'runner_files="$(dirname "$run_folder")/_runner_file_commands"',
  'agent=$PPID',
  `main=$(sed 's/.*) . //; s/ .*//' "/proc/$agent/stat")`,
].join('\n');

/** A call of the agent that runs `script` with the variables run_folder, scratch (a folder of its own), runner_files and main, and says that its task is finished. */
export function attackBy(
  script: string,
  said: Omit<Extract<Behaviour, { kind: 'shell' }>, 'kind' | 'script'> = {},
): Behaviour {
  return { kind: 'shell', script: `${FINDINGS}\n${script}`, ...said };
}

/** All that the remote has of the branches and refs that the action pushed: commits with their messages and names, and contents. */
export function everythingPushed({ sandbox }: Scene): Promise<string> {
  return sandbox.git('log', '--all', '--not', 'main', '--not', '--format=raw', '--patch', '--text', '--root');
}

/** Paths of the files of `branch` on the remote. */
export async function filesOf({ sandbox }: Scene, branch = 'ralph/queue'): Promise<string[]> {
  const listed = await sandbox.git('ls-tree', '-r', '-z', '--name-only', branch);
  return listed.split('\0').filter(Boolean);
}

/** Paths that any commit of `branch` touches, also those that a later one removes again. */
export async function everTouched({ sandbox }: Scene, branch = 'ralph/queue'): Promise<string[]> {
  const listed = await sandbox.git('log', '-z', '-m', '--format=', '--name-only', `main..${branch}`);
  return [...new Set(listed.split('\0').filter(Boolean))];
}

/** Everything that people get to read of a run. */
export function shownBy({ main, post, summary, outputs }: Run): string {
  return [main.log, post.log, summary, JSON.stringify(outputs)].join('\n');
}

/** The document that the lane's ref holds; null: there is none. */
export async function storedState({ sandbox }: Scene, lane = 'queue'): Promise<LaneState | null> {
  const record = await sandbox.git('show', `refs/ralph/state/${lane}:state.json`).catch(() => null);
  const { document } = (record === null ? { document: null } : JSON.parse(record)) as {
    document: string | LaneState | null;
  };
  return typeof document === 'string' ? (JSON.parse(document) as LaneState) : document;
}
