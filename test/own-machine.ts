import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { SandboxIsolation } from '../sandbox/runner.ts';

/**
 * Folders of its own where a machine has /etc, /run, /tmp and /var/tmp, so that nothing which is made there is made on
 * this machine; what tests put into their own temporary folder is there all the same.
 */
const SETUP = `
set -eu
keep=$1
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/own/etc /run/own/keep
cp -a /etc/. /run/own/etc
mount --bind /run/own/etc /etc
mount --bind "$keep" /run/own/keep
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
case $keep in
  /tmp) ;;
  /tmp/*) mount -t tmpfs -o mode=1777 tmpfs /tmp; mkdir -p "$keep"; mount --bind /run/own/keep "$keep" ;;
  *) mount -t tmpfs -o mode=1777 tmpfs /tmp ;;
esac
echo ready
exec cat
`;

/** A machine for tests of users and namespaces; gone with everything on it when it is disposed of. */
export interface OwnMachine extends AsyncDisposable {
  /** Put before a program, it runs on that machine. */
  readonly around: SandboxIsolation['around'];
  /** What a program there prints. */
  run(file: string, ...args: readonly string[]): string;
}

/** Why no such machine can be had here, as words for a skipped test; null: it can. */
export const noOwnMachine: string | null = whyNot();

function whyNot(): string | null {
  if (process.platform !== 'linux') return 'not Linux';
  if (process.getuid?.() !== 0) return 'not root';
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--net', '--fork', 'true']);
  return status === 0 ? null : 'no namespaces';
}

export async function startOwnMachine(): Promise<OwnMachine> {
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', SETUP, 'sh', tmpdir()], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const around = ['nsenter', '--target', String(holder.pid), '--mount', '--'];
  return {
    around,
    run(file, ...args) {
      const [first = '', ...rest] = [...around, file, ...args];
      const { stdout, stderr, status } = spawnSync(first, rest, { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${String(status)} ${stderr}`);
      return stdout;
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    },
  };
}
