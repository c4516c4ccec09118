import { once } from 'node:events';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { SandboxManager } from '@anthropic-ai/sandbox-runtime';
import { toOneLine } from '../../core/text/phrase.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { getErrorMessage } from '../../errors.ts';
import type { AgentSandboxFolders } from '../../ports/agent-sandbox.ts';
import { describeEnd, runProgram } from '../../processes/run-program.ts';
import type { AgentSandboxOptions } from '../namespaces/sandbox-of.ts';
import { SYSTEM_PATH, IsolationUnavailable } from '../namespaces/root.ts';
import { sealOfPrograms } from '../namespaces/seal.ts';
import { quoteForShell } from '../namespaces/launch.ts';
import { WORKER_TAG } from './remove.ts';

/** The folders of a sandbox made without root. */
export interface RootlessFolders extends AgentSandboxFolders {
  /** The folder for temporary files; each program also has a /tmp of its own in memory. */
  readonly temporary: string;
  /** The folder of the library's sockets. */
  readonly bridges: string;
}

/** A request to the worker; all paths are absolute and real. */
export interface WorkerRequest {
  /** `dist/index.js` of the installed library, which nothing in the sandbox can write. */
  readonly library: string;
  /** The ports on 127.0.0.1 at which the action listens. */
  readonly ports: { readonly proxy: number; readonly broker: number };
  readonly folders: RootlessFolders;
  /** Paths outside the sandbox that can be read. */
  readonly visible: readonly string[];
  /** Paths that are hidden although they are in visible folders, except for paths that the other options name. */
  readonly hidden: readonly string[];
  readonly programs: { readonly bwrap: string; readonly socat: string; readonly bash: string };
  /** True if a filter of system calls keeps programs from making Unix sockets. */
  readonly filter: boolean;
}

/** The worker's answer. `argv` starts, in the sandbox, the script that the variable RALPH_LAUNCH names. */
type WorkerAnswer =
  | { readonly kind: 'ready'; readonly argv: readonly string[] }
  | { readonly kind: 'failed'; readonly why: string };

/** The filter program of the library; after a failure that names it, the sandbox is opened without the filter. */
export const FILTER_PROGRAM = 'apply-seccomp';

interface Library {
  readonly SandboxManager: Pick<typeof SandboxManager, 'initialize' | 'wrapWithSandboxArgv' | 'reset'>;
}

/**
 * Reads a request from the first line of standard input, makes the bridges and the command line, prints the answer as
 * one line, and keeps the bridges until the input ends.
 */
export async function runRuntimeWorker(load: (url: string) => Promise<unknown>): Promise<void> {
  const input = createInterface({ input: process.stdin });
  const over = once(input, 'close');
  const [line] = (await once(input, 'line')) as [string];
  // Trust the request's shape, because only the action sends requests.
  const request = JSON.parse(line) as WorkerRequest;
  const { SandboxManager: manager } = (await load(pathToFileURL(request.library).href)) as Library;
  const answer = await prepare(manager, request).catch((error: unknown): WorkerAnswer => ({
    kind: 'failed',
    why: getErrorMessage(error),
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
  if (answer.kind === 'ready') await Promise.race([over, once(process, 'SIGTERM')]);
  await manager.reset();
  process.exit();
}

async function prepare(
  manager: Library['SandboxManager'],
  { library, ports, folders, visible, hidden, programs, filter }: WorkerRequest,
): Promise<WorkerAnswer> {
  const { home, session, trees, inbox, temporary, bridges } = folders;
  const writable = [home, session, trees, temporary].map(literal);
  await manager.initialize({
    network: {
      allowedDomains: [],
      deniedDomains: [],
      // The library connects its bridges directly to these ports, so that the action's own servers decide about every
      // connection.
      httpProxyPort: ports.proxy,
      socksProxyPort: ports.broker,
      allowAllUnixSockets: !filter,
    },
    filesystem: {
      denyRead: ['/', ...hidden.map(literal)],
      allowRead: [...[...visible, dirname(dirname(library)), inbox, bridges].map(literal), ...writable],
      allowWrite: writable,
      denyWrite: [],
    },
    bwrapPath: programs.bwrap,
    socatPath: programs.socat,
    // The library searches its start folder for names to protect. That folder is empty, so the search does nothing.
    ripgrep: { command: 'true' },
  });
  const { argv } = await manager.wrapWithSandboxArgv(
    `exec ${[...sealOfPrograms(), '/usr/bin/env', '-i', '/bin/sh'].map(quoteForShell).join(' ')} "$RALPH_LAUNCH"`,
    programs.bash,
  );
  const words = argv.join(' ');
  // Fail without the filter, because the library would continue without it and not report that.
  if (filter && !words.includes(`${FILTER_PROGRAM} `))
    return { kind: 'failed', why: `${FILTER_PROGRAM} does not exist for this processor` };
  return words.includes(' --unshare-net ') && (filter || words.includes(' --disable-userns '))
    ? { kind: 'ready', argv }
    : { kind: 'failed', why: 'programs in the sandbox could make namespaces of their own' };
}

/** Marks a path as literal, so that none of its characters is a pattern. */
function literal(path: string): { readonly path: string; readonly literal: true } {
  return { path, literal: true };
}

/** The process that keeps a sandbox's bridges. */
export interface RuntimeWorker {
  /** The command that starts, in the sandbox, the script that the variable RALPH_LAUNCH names. */
  readonly argv: readonly [string, ...string[]];
  readonly isLost: () => boolean;
  /** Asks the worker to end, and waits briefly for its end. */
  readonly close: () => Promise<void>;
}

const START_MS = 20_000;

const STOP_MS = 1_000;

/**
 * Starts the library in a process of its own: without keys; in an empty folder, because it protects the folder that it
 * starts in; and without the run's tag, because it stays when a program ends. The process ends with this one. Throws
 * IsolationUnavailable.
 */
export async function startWorker(
  request: WorkerRequest,
  { worker, id }: Pick<AgentSandboxOptions, 'worker'> & { readonly id: string },
): Promise<RuntimeWorker> {
  const answered = Promise.withResolvers<WorkerAnswer>();
  const input = new PassThrough();
  const { bridges, temporary, home } = request.folders;
  let isOver = false;
  let output = '';
  let complaint = '';
  const over = runProgram({
    file: worker.file,
    args: [...worker.args, 'sandbox'],
    cwd: bridges,
    environment: {
      ...{ LC_ALL: 'C', PATH: SYSTEM_PATH, HOME: home, [WORKER_TAG]: id },
      // The first folder is for the sockets of the bridges; the library passes the second one to programs.
      ...{ TMPDIR: bridges, CLAUDE_CODE_TMPDIR: temporary },
    },
    input,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: STOP_MS, leftover: 'end' },
    outputs: [
      (chunk) => {
        output += chunk.toString();
        const answer = output.endsWith('\n') ? tryJson(output) : undefined;
        if (answer !== undefined) answered.resolve(answer as WorkerAnswer);
      },
      (chunk) => {
        complaint = (complaint + chunk.toString()).slice(-2_000);
      },
    ],
  }).then((end) => {
    isOver = true;
    const words = toOneLine(complaint.trim().split('\n').at(-1) ?? '', 200);
    answered.resolve({ kind: 'failed', why: words === '' ? `its program ${describeEnd(end)}` : words });
  });
  const late = setTimeout(() => {
    answered.resolve({ kind: 'failed', why: `the sandbox did not start within ${String(START_MS / 1_000)} s` });
  }, START_MS);
  input.write(`${JSON.stringify(request)}\n`);
  const answer = await answered.promise;
  clearTimeout(late);
  const close = async (): Promise<void> => {
    input.end();
    await Promise.race([over, sleep(STOP_MS, undefined, { ref: false })]);
  };
  const [file, ...args] = answer.kind === 'ready' ? answer.argv : [];
  if (answer.kind === 'ready' && file !== undefined) return { argv: [file, ...args], isLost: () => isOver, close };
  input.end();
  throw new IsolationUnavailable(answer.kind === 'failed' ? toOneLine(answer.why, 300) : 'the sandbox gave no command');
}
