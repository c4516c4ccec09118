import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestbedIsolation } from '../testbed/runner.ts';

/**
 * Mounts separate folders over /etc, /run, /tmp and /var/tmp, so that nothing created there affects this machine; the
 * tests' own temporary folder stays visible.
 */
const SETUP = `
set -eu
keep=$1 user=$2 sudo=$3 programs=$4
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/own/etc /run/own/keep /run/own/programs
cp -a /etc/. /run/own/etc
mount --bind /run/own/etc /etc
mount --bind "$keep" /run/own/keep
mount --bind "$programs" /run/own/programs
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
case $keep in
  /tmp) ;;
  /tmp/*) mount -t tmpfs -o mode=1777 tmpfs /tmp; mkdir -p "$keep"; mount --bind /run/own/keep "$keep" ;;
  *) mount -t tmpfs -o mode=1777 tmpfs /tmp ;;
esac
# A checkout of this repository may itself be there.
case $programs in
  /tmp/*) mkdir -p "$programs"; mount --bind /run/own/programs "$programs" ;;
esac
if [ -n "$user" ]; then
  # With an x, sudo would look for the user among the shadow passwords.
  echo "runner:*:$user:$user::/nonexistent:/bin/sh" >> /etc/passwd
  echo "runner:x:$user:" >> /etc/group
  if [ -n "$sudo" ]; then
    mkdir -p /run/own/bin /run/own/work
    install -m 4755 "$sudo" /run/own/bin/sudo
    mount -t overlay -o lowerdir=/usr/bin,upperdir=/run/own/bin,workdir=/run/own/work overlay /usr/bin
  else
    mkdir -p /etc/sudoers.d
    echo "#$user ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/ralph-test
    chmod 440 /etc/sudoers.d/ralph-test
  fi
fi
echo ready
exec cat
`;

/** A machine for tests of users and namespaces; disposing of it removes everything on it. */
export interface OwnMachine extends AsyncDisposable {
  /** The command that runs a program on that machine. */
  readonly around: TestbedIsolation['around'];
  /** Runs a program there and returns its output. */
  run(file: string, ...args: readonly string[]): string;
}

/** The reason why no such machine is available here, as the name of a skipped test; null if one is. */
export const noOwnMachine: string | null = whyNot();

function whyNot(): string | null {
  if (process.platform !== 'linux') return 'not Linux';
  if (process.getuid?.() !== 0) return 'not root';
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--net', '--fork', 'true']);
  return status === 0 ? null : 'no namespaces';
}

/** A user who may become root without a password, as on GitHub's runners; `sudo` is a substitute program. */
export interface SudoUser {
  readonly uid: number;
  readonly sudo: string | null;
}

/**
 * A substitute for sudo on machines without it, for every user: it takes sudo's `-n --` and, like sudo, passes on
 * almost no environment.
 */
const SUDO = `
#define _GNU_SOURCE
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  int at = 1;
  while (at < count && words[at][0] == '-') if (!strcmp(words[at++], "--")) break;
  if (at >= count || setgid(0) || setgroups(0, 0) || setuid(0)) return 1;
  clearenv();
  setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
  execvp(words[at], words + at);
  return 127;
}`;

/**
 * Returns a user with sudo on their own machine, or null if there is neither sudo nor a compiler, or if the user cannot
 * reach `needed`.
 */
export function sudoUser(folder: string, needed: string): SudoUser | null {
  const uid = 1001;
  const reaches = spawnSync('setpriv', [`--reuid=${String(uid)}`, '--clear-groups', 'test', '-r', needed]);
  if (noOwnMachine !== null || reaches.status !== 0) return null;
  if (existsSync('/usr/bin/sudo')) return { uid, sudo: null };
  const sudo = join(folder, 'sudo');
  const made = spawnSync('cc', ['-x', 'c', '-o', sudo, '-'], { input: SUDO });
  return made.status === 0 ? { uid, sudo } : null;
}

export async function startOwnMachine(user: SudoUser | null = null): Promise<OwnMachine> {
  const checkout = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
  const words = [tmpdir(), String(user?.uid ?? ''), user?.sudo ?? '', checkout];
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', SETUP, 'sh', ...words], {
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
