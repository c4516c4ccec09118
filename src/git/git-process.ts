export interface ProcessOptions {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Buffer | null;
  readonly timeoutMs: number;
  /** `group`: after its time every process that it started is ended with it. */
  readonly ends: 'alone' | 'group';
  /** Of each of its outputs. */
  readonly maxBytes: number;
}

/** `exitCode` is null when the program did not end by itself; `why` says what kept it from that. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly why: string;
}

/** What a program gets to clean up after it was told to end, in ms. */
const graceMs = 200;

/** Ended with this process: nobody would wait for their answers any more, and some hold the token. */
const endings = new Set<(signal: NodeJS.Signals) => void>();
process.on('exit', () => {
  for (const end of endings) end('SIGKILL');
});

/** Runs a program to its end; never throws. */
export async function runToEnd(program: string, args: readonly string[], options: ProcessOptions): Promise<ProcessEnd> {
  // Loaded at the first command: a run that ends before one need not wait for it.
  const { execa } = await import('execa');
  const running = execa(program, args, {
    cwd: options.folder,
    env: options.env,
    extendEnv: false,
    ...(options.input === null ? { stdin: 'ignore' as const } : { input: options.input }),
    encoding: 'buffer',
    stripFinalNewline: false,
    maxBuffer: options.maxBytes,
    detached: options.ends === 'group',
    reject: false,
  });
  // Not execa's own limit: git leaves the program that speaks HTTP or ssh behind when it is ended, which would wait for a silent server for ever and hold our pipes open.
  const end = (signal: NodeJS.Signals): void => {
    endProcess(running.pid, { signal, ends: options.ends });
  };
  let tookTooLong = false;
  const timers = [
    setTimeout(() => {
      tookTooLong = true;
      end('SIGTERM');
      timers.push(
        setTimeout(() => {
          end('SIGKILL');
        }, graceMs),
      );
    }, options.timeoutMs),
  ];
  endings.add(end);
  const result = await running;
  endings.delete(end);
  timers.forEach(clearTimeout);
  const exitCode = tookTooLong || result.isMaxBuffer ? null : (result.exitCode ?? null);
  // A program that could not even be started has no outputs, whatever execa's types say.
  const { stdout, stderr }: { stdout?: Uint8Array; stderr?: Uint8Array } = result;
  return {
    exitCode,
    stdout: Buffer.from(stdout ?? []),
    stderr: Buffer.from(stderr ?? []),
    why: exitCode === null ? whyEnded() : '',
  };

  function whyEnded(): string {
    if (tookTooLong) return 'it took too long';
    if (result.isMaxBuffer) return `it printed more than ${options.maxBytes / 1024 / 1024} MiB`;
    return result.isTerminated ? 'it was ended' : (result.originalMessage ?? 'it did not start');
  }
}

function endProcess(
  pid: number | undefined,
  { signal, ends }: { readonly signal: NodeJS.Signals; readonly ends: ProcessOptions['ends'] },
): void {
  if (pid === undefined) return;
  try {
    process.kill(ends === 'group' ? -pid : pid, signal);
  } catch {
    // It is gone.
  }
}
