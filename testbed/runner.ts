import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The runner's own timing of a cancellation: SIGINT, then SIGTERM, then SIGKILL, to the node process alone
 * (ProcessInvoker of actions/runner).
 */
const TERM_AFTER_MS = 7_500;
const KILL_AFTER_MS = 10_000;

/** A job on a fresh machine, in the state in which a runner begins its first step. */
export interface MachineRequest {
  /** The machine's folder; it gets `temp/`, `home/` and the runner's files. */
  readonly machine: string;
  readonly workspace: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  /** The environment of every step of the job, including what the services need. */
  readonly env: Readonly<Record<string, string>>;
  readonly repository: string;
  readonly runId: string;
  readonly onOutput?: (text: string) => void;
  /** The PATH that every step inherits from the machine. */
  readonly path?: string;
}

/** A step that uses the action. */
export interface ActionStep {
  /** Folder of the action's action.yml, which names its programs. */
  readonly action: string;
  /** The path of a Node 24 executable. */
  readonly node: string;
  /** The step's `with:`. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The step's `env:`. */
  readonly env?: Readonly<Record<string, string>>;
  /** The value of `${{ github.token }}`. */
  readonly githubToken: string;
  /**
   * The isolation of the agent. Without it the agent is never isolated, whatever the step's inputs say: this machine
   * belongs to a developer.
   */
  readonly isolation?: TestbedIsolation;
  /** Called once main runs, so that a test can cancel or kill it. */
  readonly onStart?: (main: RunningMain) => void;
}

/**
 * The isolation of the agent on this machine. `around` is a command before Node's, which gives it its own folders to
 * work in.
 */
export interface TestbedIsolation {
  readonly level: string;
  readonly around: readonly string[];
}

/** A step that runs a bash script. */
interface ScriptStep {
  readonly script: string;
  /** Bash options: only `-e`, unless the step sets `shell: bash`, as in the runner. */
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working folder, relative to the workspace. */
  readonly folder: string;
}

/** A machine with the files, variables and signals of the real runner. */
export interface Machine {
  /** The environment of every step before its own `env:`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a script. Its changes to GITHUB_ENV and GITHUB_PATH apply to the later steps. */
  runScript(step: ScriptStep): Promise<StepResult & { readonly outputs: Readonly<Record<string, string>> }>;
  /** Runs main; the result's `post` runs post after the other steps. */
  runAction(step: ActionStep): Promise<RunningAction>;
}

export interface RunningAction {
  readonly main: StepResult;
  readonly outputs: Readonly<Record<string, string>>;
  post(): Promise<JobResult>;
}

export interface RunningMain {
  readonly pid: number;
  /** Cancels as a person's "Cancel workflow" does, with the runner's timing. */
  cancel(): void;
  kill(signal: NodeJS.Signals): void;
}

export interface StepResult {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly log: string;
  readonly durationMs: number;
}

export interface JobResult {
  readonly main: StepResult;
  readonly post: StepResult;
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
}

/** Prepares a machine for the steps of one job. */
export async function startMachine(job: MachineRequest): Promise<Machine> {
  const temp = join(job.machine, 'temp');
  const home = join(job.machine, 'home');
  const folder = join(temp, '_runner_file_commands');
  await mkdir(folder, { recursive: true });
  await mkdir(home, { recursive: true });
  const eventPath = join(temp, '_github_workflow_event.json');
  await writeFile(eventPath, JSON.stringify(job.event.payload));
  const environment: Record<string, string> = {
    PATH: job.path ?? process.env.PATH ?? '',
    HOME: home,
    LANG: 'C.UTF-8',
    CI: 'true',
    GITHUB_ACTIONS: 'true',
    GITHUB_REPOSITORY: job.repository,
    GITHUB_WORKSPACE: job.workspace,
    GITHUB_RUN_ID: job.runId,
    GITHUB_RUN_NUMBER: '1',
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_EVENT_NAME: job.event.name,
    GITHUB_EVENT_PATH: eventPath,
    GITHUB_REF: 'refs/heads/main',
    GITHUB_REF_NAME: 'main',
    GITHUB_ACTOR: 'octocat',
    GITHUB_WORKFLOW: 'ralph',
    GITHUB_WORKFLOW_REF: `${job.repository}/.github/workflows/ralph.yml@refs/heads/main`,
    GITHUB_JOB: 'ralph',
    RUNNER_TEMP: temp,
    RUNNER_OS: 'Linux',
    RUNNER_ARCH: 'X64',
    RUNNER_TRACKING_ID: `github_${job.runId}`,
    ...job.env,
  };
  const { onOutput } = job;
  let scripts = 0;

  return {
    environment,

    async runScript({ script, options, env, folder: within }) {
      const files = await commandFiles(folder, `_${String((scripts += 1))}`);
      const path = join(temp, `script_${String(scripts)}.sh`);
      await writeFile(path, script);
      const result = await runProgram({
        command: ['bash', ...options, path],
        cwd: join(job.workspace, within),
        environment: { ...environment, ...env, ...variablesOf(files) },
        onOutput,
        onStart: undefined,
      });
      Object.assign(environment, await laterEnvironment(files, environment));
      return { ...result, outputs: parseFileCommands(await readFile(files.output, 'utf8')) };
    },

    async runAction(step) {
      const files = await commandFiles(folder, '');
      const actionYml = await readFile(join(step.action, 'action.yml'), 'utf8');
      const defaults = readInputDefaults(actionYml, step.githubToken, temp);
      const inputs = Object.fromEntries(
        Object.entries({ ...defaults, ...step.inputs, isolation: step.isolation?.level ?? 'none' }).map(
          ([name, value]) => [`INPUT_${name.replaceAll(' ', '_').toUpperCase()}`, value],
        ),
      );
      const given = { ...environment, ...variablesOf(files), ...step.env, ...inputs };
      const script = (name: 'main' | 'post'): [string, ...string[]] => {
        const [first, ...rest] = step.isolation?.around ?? [];
        const path = new RegExp(`^ {2}${name}: (.+)$`, 'm').exec(actionYml)?.[1] ?? '';
        const own: [string, string] = [step.node, join(step.action, path)];
        return first === undefined ? own : [first, ...rest, ...own];
      };
      const main = await runProgram({
        command: script('main'),
        cwd: job.workspace,
        environment: given,
        onOutput,
        onStart: step.onStart,
      });
      const saved = parseFileCommands(await readFile(files.state, 'utf8'));
      const outputs = parseFileCommands(await readFile(files.output, 'utf8'));
      Object.assign(environment, await laterEnvironment(files, environment));
      return {
        main,
        outputs,
        async post() {
          const states = Object.fromEntries(Object.entries(saved).map(([name, value]) => [`STATE_${name}`, value]));
          const post = await runProgram({
            command: script('post'),
            cwd: job.workspace,
            environment: { ...given, ...(await laterEnvironment(files, given)), ...inputs, ...states },
            onOutput,
            onStart: undefined,
          });
          return { main, post, outputs, summary: await readFile(files.summary, 'utf8') };
        },
      };
    },
  };
}

/** The files through which a step passes data to the runner. */
type CommandFiles = Readonly<Record<'output' | 'state' | 'summary' | 'env' | 'path', string>>;

async function commandFiles(folder: string, suffix: string): Promise<CommandFiles> {
  const file = async (name: string): Promise<string> => {
    const path = join(folder, `${name}${suffix}`);
    await writeFile(path, '');
    return path;
  };
  return {
    output: await file('output'),
    state: await file('state'),
    summary: await file('summary'),
    env: await file('env'),
    path: await file('path'),
  };
}

/**
 * Applies the files of a step to the environment of later steps. As in the runner, a step cannot change the runner's
 * own variables or set one that loads code into Node.
 */
async function laterEnvironment(
  files: CommandFiles,
  { PATH = '' }: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
  const set = Object.entries(parseFileCommands(await read(files.env))).filter(
    ([name]) => !/^(GITHUB_|RUNNER_|ACTIONS_|INPUT_)|^(CI|NODE_OPTIONS)$/.test(name),
  );
  const folders = (await read(files.path)).split('\n').filter(Boolean).reverse();
  return { PATH: [...folders, PATH].join(':'), ...Object.fromEntries(set) };
}

function variablesOf(files: CommandFiles): Record<string, string> {
  return {
    GITHUB_OUTPUT: files.output,
    GITHUB_STATE: files.state,
    GITHUB_STEP_SUMMARY: files.summary,
    GITHUB_ENV: files.env,
    GITHUB_PATH: files.path,
  };
}

interface Program {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly onOutput: ((text: string) => void) | undefined;
  readonly onStart: ((main: RunningMain) => void) | undefined;
}

async function runProgram(step: Program): Promise<StepResult> {
  const startedAt = Date.now();
  const [file = '', ...args] = step.command;
  const child = spawn(file, args, { cwd: step.cwd, env: step.environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const timers: NodeJS.Timeout[] = [];
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      log += text;
      step.onOutput?.(text);
    });
  }
  const { pid } = child;
  if (pid !== undefined) {
    step.onStart?.({
      pid,
      cancel: () => {
        child.kill('SIGINT');
        timers.push(
          setTimeout(() => child.kill('SIGTERM'), TERM_AFTER_MS),
          setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS),
        );
      },
      kill: (signal) => {
        child.kill(signal);
      },
    });
  }
  const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    // `close` may wait for orphans that hold the pipes open; the real runner also continues five seconds after `exit`.
    child.once('exit', (code, by) => {
      // A timer lets the event loop read the pipes once more, so that the program's whole output is there even if this
      // process is slow.
      setTimeout(() => {
        setImmediate(() => {
          resolve([code, by]);
        });
      }, 50);
    });
  });
  timers.forEach(clearTimeout);
  child.stdout.destroy();
  child.stderr.destroy();
  return { exitCode, signal, log, durationMs: Date.now() - startedAt };
}

/** Returns the default inputs of action.yml, with `${{ github.token }}` evaluated as the runner does. */
export function readInputDefaults(
  yaml: string,
  githubToken: string,
  runnerTemp = '/runner/temp',
): Record<string, string> {
  const inputs = yaml.slice(yaml.indexOf('\ninputs:'), yaml.indexOf('\noutputs:'));
  const defaults: Record<string, string> = {};
  let name = '';
  for (const line of inputs.split('\n')) {
    name = /^ {2}([\w-]+):$/.exec(line)?.[1] ?? name;
    const value = /^ {4}default: (.*)$/.exec(line)?.[1];
    if (value !== undefined)
      defaults[name] = value
        .replace(/^'(.*)'$/, '$1')
        .replace('${{ github.token }}', githubToken)
        .replace('${{ runner.temp }}', runnerTemp);
  }
  return defaults;
}

/** Parses `NAME=value` lines and `NAME<<DELIMITER` blocks of the runner's command files. */
function parseFileCommands(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const block = /^([^=<]+)<<(.+)$/.exec(line);
    if (block) {
      const [, name = '', delimiter = ''] = block;
      const end = lines.indexOf(delimiter, at + 1);
      values[name] = lines.slice(at + 1, end).join('\n');
      at = end;
    } else if (line.includes('=')) {
      values[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
    }
  }
  return values;
}
