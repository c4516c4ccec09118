import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The runner's own timing on cancel: SIGINT, then SIGTERM, then SIGKILL, to the node process alone (ProcessInvoker of actions/runner). */
const TERM_AFTER_MS = 7_500;
const KILL_AFTER_MS = 10_000;

/** One job on a fresh machine, as the runner would start its step. */
export interface JobRequest {
  /** Folder of the action: action.yml and dist/. */
  readonly action: string;
  /** A Node 24 executable. */
  readonly node: string;
  /** Machine folder: gets `temp/`, `home/` and the files of the runner. */
  readonly machine: string;
  readonly workspace: string;
  readonly event: { readonly name: string; readonly payload: unknown };
  /** `with:` of the step. */
  readonly inputs: Readonly<Record<string, string>>;
  /** `env:` of the step, and what the services need. */
  readonly env: Readonly<Record<string, string>>;
  readonly repository: string;
  /** What `${{ github.token }}` evaluates to. */
  readonly githubToken: string;
  readonly runId: string;
  readonly onOutput?: (text: string) => void;
  /** Called once main runs, to cancel it or kill it. */
  readonly onStart?: (main: RunningMain) => void;
  /** Environment variables that every step of a runner inherits from the machine. */
  readonly path?: string;
}

export interface RunningMain {
  readonly pid: number;
  /** What a person's "Cancel workflow" does, with the runner's timing. */
  cancel(): void;
  kill(signal: NodeJS.Signals): void;
}

interface StepResult {
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

/** Runs main and then post of the action with the files, variables and signals of the real runner. */
export async function runJob(job: JobRequest): Promise<JobResult> {
  const temp = join(job.machine, 'temp');
  const home = join(job.machine, 'home');
  const files = join(temp, '_runner_file_commands');
  await mkdir(files, { recursive: true });
  await mkdir(home, { recursive: true });
  const eventPath = join(temp, '_github_workflow_event.json');
  await writeFile(eventPath, JSON.stringify(job.event.payload));
  const file = async (name: string): Promise<string> => {
    const path = join(files, name);
    await writeFile(path, '');
    return path;
  };
  const [outputFile, stateFile, summaryFile, envFile, pathFile] = (await Promise.all(
    ['output', 'state', 'summary', 'env', 'path'].map(file),
  )) as [string, string, string, string, string];

  const defaults = readInputDefaults(await readFile(join(job.action, 'action.yml'), 'utf8'), job.githubToken);
  const inputs = Object.fromEntries(
    Object.entries({ ...defaults, ...job.inputs }).map(([name, value]) => [
      `INPUT_${name.replaceAll(' ', '_').toUpperCase()}`,
      value,
    ]),
  );
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
    GITHUB_JOB: 'ralph',
    GITHUB_OUTPUT: outputFile,
    GITHUB_STATE: stateFile,
    GITHUB_STEP_SUMMARY: summaryFile,
    GITHUB_ENV: envFile,
    GITHUB_PATH: pathFile,
    RUNNER_TEMP: temp,
    RUNNER_OS: 'Linux',
    RUNNER_ARCH: 'X64',
    RUNNER_TRACKING_ID: `github_${job.runId}`,
    ...job.env,
    ...inputs,
  };

  const step = { node: job.node, cwd: job.workspace, onOutput: job.onOutput };
  const main = await runStep({
    ...step,
    script: join(job.action, 'dist', 'main.js'),
    environment,
    onStart: job.onStart,
  });
  const saved = parseFileCommands(await readFile(stateFile, 'utf8'));
  const outputs = parseFileCommands(await readFile(outputFile, 'utf8'));
  const states = Object.fromEntries(Object.entries(saved).map(([name, value]) => [`STATE_${name}`, value]));
  const post = await runStep({
    ...step,
    script: join(job.action, 'dist', 'post.js'),
    environment: { ...environment, ...(await laterEnvironment(envFile, pathFile, environment)), ...inputs, ...states },
    onStart: undefined,
  });
  return { main, post, outputs, summary: await readFile(summaryFile, 'utf8') };
}

/** What the files of a step make of the environment of later ones; the runner keeps its own variables, and lets none load code into Node. */
async function laterEnvironment(
  envFile: string,
  pathFile: string,
  { PATH = '' }: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
  const set = Object.entries(parseFileCommands(await read(envFile))).filter(
    ([name]) => !/^(GITHUB_|RUNNER_|ACTIONS_|INPUT_)|^(CI|NODE_OPTIONS)$/.test(name),
  );
  const folders = (await read(pathFile)).split('\n').filter(Boolean).reverse();
  return { PATH: [...folders, PATH].join(':'), ...Object.fromEntries(set) };
}

interface Step {
  readonly node: string;
  readonly script: string;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly onOutput: ((text: string) => void) | undefined;
  readonly onStart: ((main: RunningMain) => void) | undefined;
}

async function runStep(step: Step): Promise<StepResult> {
  const startedAt = Date.now();
  const child = spawn(step.node, [step.script], {
    cwd: step.cwd,
    env: step.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
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
    // `close` may wait for orphans that hold the pipes; the runner, too, goes on five seconds after `exit`.
    child.once('exit', (code, by) => {
      setTimeout(() => {
        resolve([code, by]);
      }, 50);
    });
  });
  timers.forEach(clearTimeout);
  child.stdout.destroy();
  child.stderr.destroy();
  return { exitCode, signal, log, durationMs: Date.now() - startedAt };
}

/** Defaults of the inputs in action.yml, with `${{ github.token }}` as the runner evaluates it. */
export function readInputDefaults(yaml: string, githubToken: string): Record<string, string> {
  const inputs = yaml.slice(yaml.indexOf('\ninputs:'), yaml.indexOf('\noutputs:'));
  const defaults: Record<string, string> = {};
  let name = '';
  for (const line of inputs.split('\n')) {
    name = /^ {2}([\w-]+):$/.exec(line)?.[1] ?? name;
    const value = /^ {4}default: (.*)$/.exec(line)?.[1];
    if (value !== undefined)
      defaults[name] = value.replace(/^'(.*)'$/, '$1').replace('${{ github.token }}', githubToken);
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
