import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { events } from '../../testbed/testbed.ts';
import { KEY, type Run, type Scene, type SceneJob } from './e2e-fixture.ts';

/** A run of three jobs on three machines; null for a job that did not run. */
export interface SplitRun {
  readonly gate: Run;
  readonly loop: Run | null;
  readonly publish: Run | null;
}

/** The behaviour of a split run, and the changes between its jobs. */
export interface SplitJob extends Pick<SceneJob, 'event' | 'agent' | 'inputs'> {
  readonly loop?: Omit<SceneJob, 'event' | 'agent' | 'inputs'>;
  /** The options of the job that publishes. */
  readonly publish?: Pick<SceneJob, 'when' | 'env'>;
  /** Changes the files that the loop's job left, in its folder, before the next job gets them. */
  readonly beforePublish?: (folder: string) => Promise<void>;
}

const FOLDER = 'ralph-handoff';

/**
 * Runs gate, loop and publish as in the reusable workflow: each on its own machine, with artifacts passed from one to
 * the next.
 */
export async function runSplit(scene: Scene, { event = events.schedule(), ...job }: SplitJob = {}): Promise<SplitRun> {
  const runId = String(5000 + scene.testbed.github.requests.length);
  const common = (name: string) => ({ GITHUB_RUN_ID: runId, GITHUB_JOB: name });
  // Neither the gate nor the publish job has the agent's key.
  const gate = await scene.run({
    event,
    inputs: { ...job.inputs, phase: 'gate' },
    env: { ...common('gate'), ANTHROPIC_API_KEY: '' },
  });
  const digest = gate.outputs['handoff-digest'] ?? '';
  if (gate.outputs['handed-over'] !== 'true') return { gate, loop: null, publish: null };
  const carry = async (from: string, to: string, part: 'gate' | 'loop'): Promise<void> => {
    await mkdir(join(to, FOLDER), { recursive: true });
    await cp(join(from, 'temp', FOLDER, part), join(to, FOLDER, part), { recursive: true }).catch(() => undefined);
  };
  const artifacts = join(gate.machine, 'artifacts');
  await carry(gate.machine, artifacts, 'gate');
  const given = { 'handoff-digest': digest, 'handoff-path': join(artifacts, FOLDER) };
  const loop = await scene.run({
    event,
    ...(job.agent === undefined ? {} : { agent: job.agent }),
    ...job.loop,
    inputs: { ...job.inputs, ...given, phase: 'loop', 'github-token': '' },
    env: { ...common('loop'), ANTHROPIC_API_KEY: KEY, ...job.loop?.env },
    persistCredentials: false,
  });
  await job.beforePublish?.(join(artifacts, FOLDER, 'loop'));
  const publish = await scene.run({
    event,
    ...job.publish,
    inputs: { ...job.inputs, ...given, phase: 'publish' },
    env: { ...common('publish'), ANTHROPIC_API_KEY: '', ...job.publish?.env },
    checkout: 'none',
  });
  return { gate, loop, publish };
}

/**
 * Runs the three jobs as if they were one: the agent's machine is the loop's, and the visible texts are those of all
 * three.
 */
export async function runSplitAsOne(
  scene: Scene,
  { event = events.schedule(), agent = [], inputs = {}, ...loop }: SceneJob,
): Promise<Run> {
  const { gate, loop: worked, publish } = await runSplit(scene, { event, agent, inputs, loop });
  const jobs = [gate, worked, publish].filter((job) => job !== null);
  const where = worked ?? gate;
  const all = (text: (job: Run) => string): string => jobs.map(text).join('\n');
  return {
    ...where,
    main: { ...where.main, log: all(({ main }) => main.log) },
    post: { ...where.post, log: all(({ post }) => post.log) },
    summary: all(({ summary }) => summary).trim(),
    // The journal is in the loop's job.
    outputs: {
      ...(publish ?? gate).outputs,
      ...Object.fromEntries(Object.entries(where.outputs).filter(([name]) => name.startsWith('journal-'))),
    },
  };
}

/** The jobs of one branch; null for a job that did not run. */
type BranchJobs = Pick<SplitRun, 'loop' | 'publish'>;

/** A run of several branches, each with jobs on machines of its own; `finish` is null where one branch is left. */
export interface BranchesRun {
  readonly gate: Run;
  readonly branches: Readonly<Record<string, BranchJobs>>;
  readonly finish: Run | null;
}

/** The behaviour of such a run. A branch is called as in the input `handoff-branch`. */
export interface BranchesJob extends Pick<SceneJob, 'event' | 'inputs'> {
  /** The options of a branch's loop; `never` if its machine is gone. */
  readonly loop?: (branch: string) => Omit<SceneJob, 'event' | 'inputs'> | 'never';
  /** The options of a branch's publishing job; `never` if its machine is gone. */
  readonly publish?: (branch: string) => Pick<SceneJob, 'when'> | 'never';
}

const NO_JOBS: BranchJobs = { loop: null, publish: null };

/** Runs the gate of the reusable workflow. */
export function runGateOfBranches(
  scene: Scene,
  { event = events.schedule(), inputs }: BranchesJob,
  runId: string,
): Promise<Run> {
  return scene.run({
    event,
    inputs: { ...inputs, phase: 'gate', 'handoff-branch': 'each' },
    env: { GITHUB_RUN_ID: runId, GITHUB_JOB: 'gate', ANTHROPIC_API_KEY: '' },
  });
}

/** Runs the jobs of the reusable workflow, those of its branches side by side, with as many machines as it says. */
export async function runBranches(scene: Scene, job: BranchesJob = {}): Promise<BranchesRun> {
  const { event = events.schedule() } = job;
  const runId = String(5000 + scene.testbed.github.requests.length);
  const gate = await runGateOfBranches(scene, job, runId);
  const named =
    gate.outputs['handed-over'] === 'true' ? (JSON.parse(gate.outputs['handoff-branches'] ?? '') as string[]) : [];
  const digests = JSON.parse(gate.outputs['handoff-digests'] || '{}') as Record<string, string>;
  const handed = join(gate.machine, 'temp', FOLDER);
  const play = async (phase: string, branch: string, setting: Omit<SceneJob, 'event' | 'inputs'>): Promise<Run> =>
    scene.run({
      event,
      ...setting,
      inputs: {
        ...job.inputs,
        ...{ phase, 'handoff-branch': branch, 'handoff-digest': digests[branch] ?? '', 'handoff-path': handed },
        ...(phase === 'loop' ? { 'github-token': '' } : {}),
      },
      env: { ANTHROPIC_API_KEY: phase === 'loop' ? KEY : '', ...setting.env, GITHUB_RUN_ID: runId, GITHUB_JOB: phase },
    });
  const jobs = new Map<string, BranchJobs>();
  const waiting = named.values();
  const machines = Array.from({ length: Number(gate.outputs['handoff-parallel']) }, async () => {
    for (const branch of waiting) {
      const how = job.loop?.(branch) ?? {};
      const loop = how === 'never' ? null : await play('loop', branch, { persistCredentials: false, ...how });
      const end = job.publish?.(branch) ?? {};
      const publish = end === 'never' ? null : await play('publish', branch, { checkout: 'none', ...end });
      jobs.set(branch, { loop, publish });
    }
  });
  await Promise.all(machines);
  const finish = named.length < 2 ? null : await play('finish', named[0] ?? '', { checkout: 'none' });
  const branches = Object.fromEntries(named.map((branch) => [branch, jobs.get(branch) ?? NO_JOBS]));
  return { gate, branches, finish };
}
