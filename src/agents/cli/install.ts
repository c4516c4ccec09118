import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cutText, completeSentence } from '../../core/text/phrase.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import { UserError } from '../../errors.ts';
import type { AgentSandbox } from '../../ports/agent-sandbox.ts';
import {
  type CollectedEnd,
  describeCollected,
  type LaunchCommand,
  createLaunchCommand,
  runWithoutInput,
  readProgramVersion,
} from '../../processes/collect-output.ts';
import { withNamedWait } from '../../ports/waits.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import type { AgentCli } from './cli.ts';

/**
 * Runs `work` while this program's user owns the session folder. The agent's user has no processes during that time,
 * and gets the folder back afterwards.
 */
type RunAsOwner = <T>(work: (lendFolder: LendFolder) => Promise<T>) => Promise<T>;

/** Gives the session folder to the agent's user during `work`, which runs a program of the agent. */
export type LendFolder = <T>(work: () => Promise<T>) => Promise<T>;

interface Installation extends Pick<AgentCli, 'title' | 'source'> {
  /** An exact version, for example `2.1.330`. */
  readonly version: string;
  /** The installation folder, which the caller keeps between runs. */
  readonly folder: string;
  /** The agent's environment; npm gets the part that it needs, without keys. */
  readonly environment: Readonly<Record<string, string>>;
  readonly runTag: string;
}

const INSTALL_MS = 5 * MINUTE_MS;

const NPM_NEEDS =
  /^(PATH|HOME|USER|LANG|TMPDIR|(https?|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_(registry|cache|userconfig|globalconfig|cafile))$/i;

/** npm's own waits between attempts, 10 s and 60 s, make a runner without a network seem to hang. */
const NPM_RETRIES = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'];

/**
 * Installs an exact version of a CLI into `folder` unless it is there, and returns the command that starts it; throws
 * UserError.
 */
export async function installCli({
  title,
  source,
  version,
  folder,
  environment,
  runTag,
}: Installation): Promise<LaunchCommand> {
  if (source === null)
    throw new UserError('configuration', `${title} is your own program: name it in the input agent-path.`);
  if (!/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
    throw new UserError(
      'configuration',
      `agent-version is "${version}", which is not an exact version. Give one such as 2.1.330.`,
    );
  }
  const wanted = {
    ...{ title, source, version },
    // npm runs outside the agent's sandbox, because it installs the CLI for another user.
    agentSandbox: null,
    runTag,
    environment: Object.fromEntries(Object.entries(environment).filter(([name]) => NPM_NEEDS.test(name))),
  };
  const present = await installedIn(folder, wanted);
  if (present !== null) return present;

  // npm installs into a sibling folder, which is then moved, so that a second run on this machine sees all of it or
  // nothing.
  const staging = `${folder}.${runTag}`;
  await mkdir(staging, { recursive: true });
  try {
    await npmInstall(staging, wanted);
    await openToAll(staging);
    return (await moveInto(folder, staging, wanted)) ?? notUsable(folder, wanted);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Makes the installation readable for the other user who starts it, regardless of this process's umask. */
async function openToAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of [folder, ...paths]) {
    const { mode } = await stat(path);
    await chmod(path, mode | 0o444 | (mode & 0o100 ? 0o111 : 0));
  }
}

interface Wanted {
  readonly title: string;
  readonly source: NonNullable<AgentCli['source']>;
  readonly version: string;
  readonly agentSandbox: null;
  readonly runTag: string;
  readonly environment: Readonly<Record<string, string>>;
}

async function npmInstall(folder: string, { title, source, version, ...surroundings }: Wanted): Promise<void> {
  // Do not run package scripts: the platform's package contains the binary, and nothing has to be linked.
  const args = [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--save-exact',
    '--include=optional',
    ...NPM_RETRIES,
    `${source.name}@${version}`,
  ];
  const npm = { file: findTrustedProgram('npm', surroundings.environment) ?? 'npm', args };
  const { end, stderr } = await withNamedWait(`npm to install ${title} ${version}`, () =>
    runWithoutInput(npm, { ...surroundings, cwd: folder, timeoutMs: INSTALL_MS }),
  );
  if (end.kind !== 'exited' || end.code !== 0) throw installError({ title, source, version }, end, stderr.toString());
}

/**
 * Moves npm's installation to its place. If another run was faster, its installation is used, since it may be running
 * already.
 */
async function moveInto(folder: string, staging: string, wanted: Wanted): Promise<LaunchCommand | null> {
  if (!(await tryMove(staging, folder))) {
    const other = await installedIn(folder, wanted);
    if (other !== null) return other;
    const broken = `${staging}.broken`;
    await rename(folder, broken);
    await rm(broken, { recursive: true, force: true });
    // Ignore a failure: another run that also found the installation broken may have been faster.
    await tryMove(staging, folder);
  }
  return installedIn(folder, wanted);
}

/** Moves the staged installation to `folder`; returns false if the folder exists already. */
async function tryMove(staging: string, folder: string): Promise<boolean> {
  try {
    await rename(staging, folder);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Finds the program in `folder`. Returns null if it is missing or does not report the wanted version. */
async function installedIn(
  folder: string,
  { source, version, ...surroundings }: Wanted,
): Promise<LaunchCommand | null> {
  const program = findProgram(folder, source);
  if (program === null) return null;
  // Examples: `2.1.330 (Claude Code)`, `codex-cli 0.169.0`.
  const answer = await readProgramVersion(program, { ...surroundings, cwd: folder }).catch(() => '');
  return answer.split(/[\s,]+/).some((word) => word.replace(/^v|\.$/g, '') === version) ? program : null;
}

function notUsable(folder: string, { title, source, version }: Pick<Wanted, 'title' | 'source' | 'version'>): never {
  throw new UserError(
    'infrastructure',
    `npm installed ${source.name}@${version} into ${folder}, but it contains no program for ${process.platform}-${process.arch} that starts. Set agent-path to a ${title} of your own.`,
  );
}

/** Returns the platform's binary, or a script. */
function findProgram(folder: string, { programs }: Wanted['source']): LaunchCommand | null {
  const candidates = programs({ os: process.platform, cpu: process.arch }).map((path) =>
    join(folder, 'node_modules', ...path.split('/')),
  );
  const found = candidates.find((path) => existsSync(path));
  return found === undefined ? null : createLaunchCommand(found);
}

function installError(
  { title, source, version }: Pick<Wanted, 'title' | 'source' | 'version'>,
  end: CollectedEnd,
  stderr: string,
): UserError {
  const what = `${title} ${version} cannot be installed`;
  if (end.kind === 'not-started')
    return new UserError(
      'infrastructure',
      `${what}: npm cannot be started (${end.why}). Add actions/setup-node before this action, or set agent-path.`,
    );
  if (end.kind === 'timeout')
    return new UserError(
      'infrastructure',
      `${what}: npm did not finish within ${INSTALL_MS / MINUTE_MS} minutes. Run again, or set agent-path.`,
    );
  if (/\b(ETARGET|E404)\b/.test(stderr)) {
    return new UserError(
      'configuration',
      `${what}: this version does not exist. Set agent-version to one that "npm view ${source.name} versions" lists.`,
    );
  }
  if (/\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/.test(stderr)) {
    return new UserError(
      'infrastructure',
      `${what}: npm cannot reach the registry. Check the runner's network and proxy, or set agent-path. ${reasonIn(stderr)}`.trim(),
    );
  }
  return new UserError(
    'infrastructure',
    `${what}: npm ${completeSentence(describeCollected(end))} ${reasonIn(stderr)}`.trim(),
  );
}

/** Returns the first line of npm's error that is not a code. */
function reasonIn(stderr: string): string {
  const lines = stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !/complete log of this run|npm (warn|notice)/i.test(line));
  return cutText(lines.find((line) => /^npm error (?!code |errno |syscall )/.test(line)) ?? lines.at(-1) ?? '', 300);
}

/**
 * Returns a function that runs work on the agent's files as their owner: the sandbox's user gives them to this user for
 * the time of the work, and gets them back for each part that the work lends. Without a sandbox, they always belong to
 * this user.
 */
export function withOwnership(agentSandbox: Pick<AgentSandbox, 'folders' | 'give' | 'takeBack'> | null): RunAsOwner {
  if (agentSandbox === null) return (work) => work((lent) => lent());
  const { session } = agentSandbox.folders;
  return async (work) => {
    if (!(await agentSandbox.takeBack(session))) return work((lent) => lent());
    try {
      return await work(async (lent) => {
        await agentSandbox.give(session);
        try {
          return await lent();
        } finally {
          await agentSandbox.takeBack(session);
        }
      });
    } finally {
      await agentSandbox.give(session);
    }
  };
}
