import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The runner's own timing on cancel: SIGINT, then SIGTERM, then SIGKILL, to the node process alone (ProcessInvoker of actions/runner). */
const TERM_AFTER_MS = 7_500;
const KILL_AFTER_MS = 10_000;

/** A job on a fresh machine, as a runner has it before its first step. */
export interface MachineRequest {
  /** Machine folder: gets `temp/`, `home/` and the files of the runner. */
  readonly machine: string;
  readonly workspace: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  /** What every step of the job gets, and what the services need. */
  readonly env: Readonly<Record<string, string>>;
  readonly repository: string;
  readonly runId: string;
  readonly onOutput?: (text: string) => void;
  /** Environment variables that every step of a runner inherits from the machine. */
  readonly path?: string;
}

/** A step that uses the action. */
export interface ActionStep {
  /** Folder of the action's action.yml, which names its programs. */
  readonly action: string;
  /** A Node 24 executable. */
  readonly node: string;
  /** `with:` of the step. */
  readonly inputs: Readonly<Record<string, string>>;
  /** `env:` of the step. */
  readonly env?: Readonly<Record<string, string>>;
  /** What `${{ github.token }}` evaluates to. */
  readonly githubToken: string;
  /** Without it the agent is not isolated, whatever the step asks for: this machine is somebody's own. */
  readonly isolation?: SandboxIsolation;
  /** Called once main runs, to cancel it or kill it. */
  readonly onStart?: (main: RunningMain) => void;
}

/** How the action isolates its agent here; `around`: a program before Node's, which gives it folders of its own to work in. */
export interface SandboxIsolation {
  readonly level: string;
  readonly around: readonly string[];
}

/** A step with a script of bash. */
interface ScriptStep {
  readonly script: string;
  /** `-e` alone unless the step names `shell: bash`, as the runner does. */
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the workspace. */
  readonly folder: string;
}

/** A machine with the files, variables and signals of the real runner. */
export interface Machine {
  /** What every step sees before its own `env:`. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the script leaves in GITHUB_ENV and GITHUB_PATH holds for the steps after it. */
  runScript(step: ScriptStep): Promise<StepResult & { readonly outputs: Readonly<Record<string, string>> }>;
  /** Runs main; once the other steps are over, `post` runs post. */
  runAction(step: ActionStep): Promise<RunningAction>;
}

export interface RunningAction {
  readonly main: StepResult;
  readonly outputs: Readonly<Record<string, string>>;
  post(): Promise<JobResult>;
}

export interface RunningMain {
  readonly pid: number;
  /** What a person's "Cancel workflow" does, with the runner's timing. */
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

/** The files by which a step speaks to the runner. */
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

/** What the files of a step make of the environment of later ones; the runner keeps its own variables, and lets none load code into Node. */
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
    // `close` may wait for orphans that hold the pipes; the runner, too, continues five seconds after `exit`.
    child.once('exit', (code, by) => {
      // Behind a timer the pipes are read once more: what the program wrote is there, however late this process is.
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

/** Defaults of the inputs in action.yml, with `${{ github.token }}` as the runner evaluates it. */
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

/** `NAME=value` lines and `NAME<<DELIMITER` blocks of the runner's command files. */
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
