import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, readFile, realpath, writeFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import type { StoredComment, StoredIssue } from '../../testbed/github/state.ts';
import type { JobResult, RunningMain } from '../../testbed/runner.ts';
import { events, TESTBED_KEY, startTestbed, TOKEN, type Testbed, type TestbedJob } from '../../testbed/testbed.ts';
import type { Behaviour } from '../../testbed/scripted-agent.ts';
import type { Performance } from '../../testbed/workflow/performance.ts';
import { playWorkflow, type Played } from '../../testbed/workflow/play.ts';
import { parseHiddenStatus } from '../../src/report/pages/pull-request-body.ts';
import type { RalphStatus } from '../../src/report/pages/status-schema.ts';
import { startOwnMachine, type OwnMachine, type SudoUser } from '../own-machine.ts';
import { processesWith } from '../integration/processes/process-fixture.ts';
import { eventually } from '../eventually.ts';

export const KEY = TESTBED_KEY;

/** A job of a scene; by default a scheduled one with the scripted agent. */
export interface SceneJob extends Partial<TestbedJob> {
  /** The agent's behaviours in its first calls; honest work follows. */
  readonly agent?: readonly Behaviour[];
  /** Calls `act` as soon as main's log contains `text`. */
  readonly when?: { readonly text: string; readonly act: (main: RunningMain) => unknown };
}

/** A workflow file in a scene, and the event; by default with the secret that the template names. */
export interface ScenePerformance
  extends
    Pick<Performance, 'workflow' | 'event'>,
    Partial<Pick<Performance, 'secrets'>>,
    Pick<SceneJob, 'agent' | 'when'> {
  /** The file that gets the agent's prompts, line by line. */
  readonly heardIn?: string;
}

export interface Run extends JobResult {
  readonly workspace: string;
  readonly machine: string;
  /** Number of agent calls. */
  readonly calls: number;
}

/** A repository with its GitHub, for several jobs. */
export interface Scene extends AsyncDisposable {
  readonly testbed: Testbed;
  /** The machine of the jobs, or null for this machine. */
  readonly own: OwnMachine | null;
  /** Runs main and post; also checks the conditions that hold after every run. */
  run(job?: SceneJob): Promise<Run>;
  /** Like `run`, for a workflow file, starting from its triggers. */
  play(performance: ScenePerformance): Promise<Played & { readonly calls: number }>;
  openIssue(title: string, labels?: readonly string[]): StoredIssue;
  /** Returns the comments that do not notify people. */
  commentsOn(number: number): readonly StoredComment[];
  /** Returns the comments that notify people, or did until they were settled. */
  notificationsOn(number: number): readonly StoredComment[];
  /** Returns the only pull request of `branch`, with its text; fails if there are several. */
  pullOf(branch: string): {
    readonly number: number;
    readonly draft: boolean;
    readonly body: string;
    readonly title: string;
    readonly status: RalphStatus;
  };
  /** Returns the subjects of the commits on the remote's `branch` that are not in main, oldest first. */
  commitsOf(branch: string): Promise<string[]>;
}

/** Longer than the number of calls in any run; the remaining entries show how many were made. */
const SCRIPT_LENGTH = 40;

/** The isolation level of the agents in all scenes, for whole suites at another level; empty for none. */
export const LEVEL = process.env['RALPH_TEST_ISOLATION'] ?? '';

/**
 * Creates a scene. `fill` puts other files than the sample project on main; `level` isolates agents, on a machine with
 * its own folders; `through` is a program that starts the action with fewer rights; `user` starts it instead of root.
 */
export async function createScene({
  fill,
  level = LEVEL,
  through = [],
  user = null,
}: {
  readonly fill?: Parameters<typeof startTestbed>[1];
  readonly level?: string;
  readonly through?: readonly string[];
  readonly user?: SudoUser | null;
} = {}): Promise<Scene> {
  const agentPath = join(inject('programs'), 'scripted-agent.mjs');
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ralph-e2e-')));
  await chmod(folder, 0o755);
  const own = level === '' ? null : await startOwnMachine(user);
  const asUser = user === null ? [] : ['bash', '-c', HAND_OVER, String(user.uid)];
  const isolation = own === null ? null : { level, around: [...own.around, ...asUser, ...through] };
  const testbed = await startTestbed(join(folder, 'sandbox'), fill, isolation);
  const { github } = testbed;

  /** Returns the step's scripted agent and a function that counts its calls. */
  async function cast(agent: readonly Behaviour[]) {
    // The script is beside the agent, in a folder that the agent's sandbox shows.
    const script = join(inject('programs'), `script-${randomUUID()}.json`);
    const rest = Array.from({ length: SCRIPT_LENGTH - agent.length }, () => ({ kind: 'work' }));
    await writeFile(script, JSON.stringify([...agent, ...rest]));
    return {
      inputs: { 'agent-path': agentPath, 'agent-env': 'RALPH_SCRIPT\nRALPH_PAUSE_MS' },
      // The programs are compiled once and not by each of a thousand processes.
      env: { RALPH_SCRIPT: script, RALPH_PAUSE_MS: '0', NODE_COMPILE_CACHE: join(inject('programs'), 'compiled') },
      calls: async () => SCRIPT_LENGTH - (JSON.parse(await readFile(script, 'utf8')) as unknown[]).length,
    };
  }

  return {
    testbed,
    own,
    async run({ agent = [], when, event = events.schedule(), inputs, env, ...job } = {}) {
      const { calls, ...standIn } = await cast(agent);
      const watch = when === undefined ? null : watchFor(when);
      const result = await testbed.run({
        event,
        inputs: { ...standIn.inputs, ...inputs },
        env: { ...standIn.env, ...env },
        ...job,
        ...watch?.hooks,
      });
      await expectCleanEnd(result, JSON.stringify(github.state));
      expect(github.violations).toEqual([]);
      watch?.expectFired();
      return { ...result, calls: own === null ? await calls() : callsIn(result.main.log) };
    },
    async play({ agent = [], when, heardIn, secrets = { ANTHROPIC_API_KEY: KEY }, ...performance }) {
      const { calls, inputs, env } = await cast(agent);
      const hooks = when === undefined ? {} : watchFor(when).hooks;
      const standIn =
        heardIn === undefined
          ? { inputs, env }
          : {
              inputs: { ...inputs, 'agent-env': `${inputs['agent-env']}\nRALPH_HEARD` },
              env: { ...env, RALPH_HEARD: heardIn },
            };
      const played = await playWorkflow(testbed, { ...performance, secrets, standIn, ...hooks });
      if (played.kind === 'called')
        for (const job of Object.values(played.jobs))
          if (job !== 'skipped' && job.end.kind === 'ran')
            await expectCleanEnd({ ...job.end.result, machine: job.end.machine }, JSON.stringify(github.state));
      if (played.kind === 'ran')
        await expectCleanEnd({ ...played.result, machine: played.machine }, JSON.stringify(github.state));
      expect(github.violations).toEqual([]);
      return { ...played, calls: await calls() };
    },
    openIssue: (title, labels = ['ralph']) => testbed.openIssue({ title, body: `Please: ${title}.`, labels }),
    commentsOn: (number) =>
      github.state.comments.filter((comment) => comment.issue === number && !isNotification(comment)),
    notificationsOn: (number) =>
      github.state.comments.filter((comment) => comment.issue === number && isNotification(comment)),
    pullOf(branch) {
      const pulls = github.state.pulls.filter(({ head }) => head === branch);
      expect(pulls).toHaveLength(1);
      const number = pulls[0]?.number ?? 0;
      const { body = '', title = '' } = github.state.issues.find((issue) => issue.number === number) ?? {};
      const hidden = parseHiddenStatus(body);
      if (hidden.kind !== 'found')
        throw new Error(`The pull request of ${branch} has no readable status: ${JSON.stringify(hidden)}`);
      return { number, draft: pulls[0]?.draft ?? false, body, title, status: hidden.status };
    },
    commitsOf: async (branch) =>
      (await testbed.git('log', '--reverse', '--format=%s', `main..${branch}`)).split('\n').filter(Boolean),
    async [Symbol.asyncDispose]() {
      await testbed[Symbol.asyncDispose]();
      await own?.[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** In its sandbox the agent cannot shorten its script, so the log is counted. */
function callsIn(log: string): number {
  return log.match(/^::group::Iteration /gm)?.length ?? 0;
}

/**
 * Gives a step's machine to the user who runs it, and starts it as that user. It needs bash: other shells drop
 * variables with dashes in their names.
 */
const HAND_OVER = `
chown -R "$0:$0" "$(dirname "$RUNNER_TEMP")"
exec setpriv --reuid="$0" --regid="$0" --init-groups "$@"`;

/** True if one of the action's comments notifies people, or did until it was settled. */
/** Returns the texts that notify people, or did until they were settled, by issue and pull request. */
export function allNotifications({ testbed: { github }, notificationsOn }: Scene): readonly string[] {
  const threads = new Set(github.state.comments.map(({ issue }) => issue));
  return [...threads].flatMap((issue) => notificationsOn(issue).map(({ body }) => body));
}

export function isNotification({ body }: StoredComment): boolean {
  return /^<!-- ralph-action:(notification |settled)/.test(body);
}

/** Expects that nothing shows a secret and that no process of the run is left. */
async function expectCleanEnd(
  { main, post, outputs, summary, machine }: JobResult & { readonly machine: string },
  written: string,
): Promise<void> {
  const shown = [main.log, post.log]
    .join('\n')
    .split('\n')
    .filter((line) => !line.startsWith('::add-mask::'));
  const everything = [...shown, summary, JSON.stringify(outputs), written].join('\n');
  for (const secret of [TOKEN, KEY, Buffer.from(`x-access-token:${TOKEN}`).toString('base64')])
    expect(everything).not.toContain(secret);
  expect(post.exitCode).toBe(0);
  await eventually(() => {
    expect(processesWith(machine)).toEqual([]);
  });
}

function watchFor({ text, act }: NonNullable<SceneJob['when']>): {
  readonly hooks: Pick<TestbedJob, 'onOutput' | 'onStart'>;
  readonly expectFired: () => void;
} {
  let log = '';
  let main: RunningMain | null = null;
  let hasFired = false;
  return {
    hooks: {
      onStart: (running) => {
        main = running;
      },
      onOutput: (chunk) => {
        log += chunk;
        if (hasFired || main === null || !log.includes(text)) return;
        hasFired = true;
        act(main);
      },
    },
    expectFired: () => {
      if (!hasFired) throw new Error(`The log never held "${text}":\n${log}`);
    },
  };
}
