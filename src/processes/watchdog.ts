import { trustedEnvironment, trustedProgram } from './trusted-programs.ts';
import { runProgram } from './run-program.ts';

/** From the cancel signal to the end of a process that does not obey it; main gives up by itself before. */
const OBEY_SECONDS = 15;

/**
 * Its input is a lifeline: it ends with the process that holds the other end, and while it does not, that process lives and
 * its id is nobody else's. A stopped process is woken before it is cancelled.
 */
const SCRIPT = `
read -r -t "$1" line
[ $? -gt 128 ] || exit 0
kill -CONT "$2"
kill -INT "$2"
read -r -t "$3" line
[ $? -gt 128 ] || exit 0
kill -KILL "$2"
`;

/**
 * Starts a process that cancels this one after `afterMs` as the runner would, and ends it when that does not help:
 * nothing in a process that was stopped, or waits in a system call, can do so. Ends with this process, also when it is killed.
 */
export function startWatchdog(
  environment: Readonly<Record<string, string | undefined>>,
  { afterMs, obeySeconds = OBEY_SECONDS }: { readonly afterMs: number; readonly obeySeconds?: number },
): void {
  const seconds = String(Math.max(1, Math.ceil(afterMs / 1000)));
  void runProgram({
    // The plain shell of small images knows `read -t` as well.
    file: trustedProgram('bash', environment) ?? 'sh',
    args: ['-c', SCRIPT, 'watchdog', seconds, String(process.pid), String(obeySeconds)],
    cwd: '/',
    environment: trustedEnvironment(environment),
    input: null,
    timeoutMs: Number.MAX_SAFE_INTEGER,
    signal: null,
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [() => undefined, () => undefined],
  });
}
