import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ACTION_FOLDER, TOOL_CACHE } from '../../testbed/testbed.ts';
import { createLaunchCommand, runWithoutInput, type LaunchCommand } from '../../src/processes/collect-output.ts';
import { adapters, type CliPackage, packages } from './clis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The reasons why CLIs are not available, by name; installed ones are not listed. */
    readonly missing: Readonly<Record<string, string>>;
  }
}

const INSTALL_MS = 300_000;
/** Time limit for all installations together; later ones are skipped. */
const ALL_MS = 600_000;
const MEGABYTE = 2 ** 20;
const NPM = join(ACTION_FOLDER, 'scripts', 'toolchain', 'node_modules', 'npm', 'bin', 'npm-cli.js');

/** Returns the program that starts an installed CLI. */
export function programOf(cli: CliPackage): LaunchCommand {
  return createLaunchCommand(join(folderOf(cli), 'node_modules', cli.program));
}

/** Returns the path of an installed program by its name in clis.ts. */
export function installed(name: string): string {
  const cli = packages.find((one) => one.name === name);
  if (cli === undefined) throw new Error(`clis.ts has no ${name}.`);
  return join(folderOf(cli), 'node_modules', cli.program);
}

/** Returns the folder in which the CLI is kept between test runs, beside Claude Code. */
export function folderOf({ name, version }: CliPackage): string {
  return join(TOOL_CACHE, 'ralph-action', `${name}-${version}`);
}

/**
 * Installs missing CLIs. RALPH_TEST_AGENTS=installed uses only installed ones; names such as `gemini,codex` restrict
 * the set.
 */
export async function setup({ provide }: TestProject): Promise<void> {
  const until = Date.now() + ALL_MS;
  const missing: Record<string, string> = {};
  for (const cli of packages) {
    const reason = await install(cli, until);
    if (reason === null) continue;
    missing[cli.name] = reason;
    console.warn(`Skipped ${cli.name}: ${reason}.`);
  }
  provide('missing', missing);
}

async function install(cli: CliPackage, until: number): Promise<string | null> {
  if (existsSync(programOf(cli).args[0] ?? programOf(cli).file)) return null;
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'its tests need Linux on x64';
  const wanted = process.env['RALPH_TEST_AGENTS'] ?? '';
  if (wanted === 'installed') return 'it is not installed';
  if (wanted !== '' && !wanted.split(',').includes(cli.name)) return 'it is not asked for';
  if (Date.now() > until) return 'the time to install is over';
  const folder = folderOf(cli);
  await mkdir(dirname(folder), { recursive: true });
  const { bavail, bsize } = await statfs(dirname(folder));
  if ((bavail * bsize) / MEGABYTE < 3 * cli.megabytes) return `no space for ${cli.megabytes} MB`;
  // The folder is created under another name and then moved, so that a second test run sees all of it or nothing.
  const staging = `${folder}.${randomUUID()}`;
  await mkdir(staging);
  try {
    const reason = await npmInstall(staging, cli);
    if (reason === null) await rename(staging, folder);
    return reason;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function npmInstall(folder: string, cli: CliPackage): Promise<string | null> {
  const { file, args } = existsSync(NPM) ? createLaunchCommand(NPM) : { file: 'npm', args: [] };
  const { end, stderr } = await runWithoutInput(
    {
      file,
      args: [
        ...[...args, 'install', '--prefix', folder, '--ignore-scripts', '--save-exact'],
        // The adapters' own copies of their CLIs are optional packages of hundreds of megabytes.
        adapters.includes(cli) ? '--omit=optional' : '--include=optional',
        ...['--no-audit', '--no-fund', '--loglevel=error'],
        ...['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'],
        `${cli.package}@${cli.version}`,
      ],
    },
    { cwd: folder, environment: ownEnvironment(), agentSandbox: null, runTag: randomUUID(), timeoutMs: INSTALL_MS },
  );
  if (end.kind === 'exited' && end.code === 0) return null;
  const said =
    stderr
      .toString()
      .trim()
      .split('\n')[0]
      ?.replace(/^npm error /, '')
      .slice(0, 200) ?? '';
  return `npm does not install it (${end.kind === 'timeout' ? 'it took too long' : said})`;
}

function ownEnvironment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
