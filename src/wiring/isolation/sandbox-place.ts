import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { ConfiguredAgent } from '../../config/config.ts';
import { listLocalPorts } from '../../core/isolation/hosts.ts';
import {
  forbidsPrograms,
  HIDDEN_FOLDERS,
  isWithin,
  findRunnerFolders,
  findTopFolder,
} from '../../core/isolation/view.ts';
import { readText, listToolFolders } from '../../isolation/namespaces/namespaces.ts';
import type { AgentSandboxOptions } from '../../isolation/namespaces/sandbox-of.ts';
import { RUNTIME_VERSION } from '../../isolation/rootless/install.ts';
import { RESERVATIONS, listSandboxFolders } from './isolation.ts';
import type { World } from '../world.ts';
import { resolveLinks } from '../../files/plain-file.ts';

/** Returns the places for this run's agent sandbox in which programs may be started. */
export function buildSandboxPlaces(environment: World['environment']): AgentSandboxOptions['places'] {
  const mounts = readText('/proc/self/mountinfo');
  const [usual, ...others] = listSandboxFolders(environment);
  const agentSandboxes = [usual, ...others].find((place) => !forbidsPrograms(resolveLinks(place), mounts)) ?? usual;
  if (agentSandboxes !== usual && !existsSync(agentSandboxes)) {
    mkdirSync(agentSandboxes);
    // Open the folder to the sandbox's user, regardless of the umask of this process.
    chmodSync(agentSandboxes, 0o711);
  }
  return { agentSandboxes, reservations: RESERVATIONS };
}

/** Returns the folder of the agent's CLI if the action installs it. */
export function locateInstallFolder(
  world: World,
  { name, version }: Pick<ConfiguredAgent, 'name' | 'version'>,
): string {
  return join(toolFolder(world), `${name}-${version}`);
}

/** Returns the folder in which the action installs its tools on this machine. */
function toolFolder({ context, environment }: World): string {
  return join(environment.RUNNER_TOOL_CACHE ?? context.temp, 'ralph-action');
}

/** Returns the folder of the library that creates a sandbox without root. */
export function locateRuntimeFolder(world: World): string {
  return join(toolFolder(world), `sandbox-runtime-${RUNTIME_VERSION}`);
}

/** Returns our worker in the agent's sandbox, which is entries/sandbox-worker.ts. */
export function createWorkerProgram(actionFolder: string): AgentSandboxOptions['worker'] {
  return { file: process.execPath, args: [join(actionFolder, 'dist', 'sandbox-worker.js')] };
}

/** Returns the options of this run's agent sandbox. */
export function buildSandboxOptions(world: World): AgentSandboxOptions {
  const { environment, context, runFolder, actionFolder, config } = world;
  const install = toolFolder(world);
  const { order } = config.agent;
  const isInstalled = order.some(({ path }) => path === null);
  if (isInstalled && !existsSync(install)) {
    mkdirSync(install, { recursive: true });
    chmodSync(install, 0o755);
  }
  const runnerWork = dirname(context.temp);
  const works = [
    runnerWork,
    ...(environment['RUNNER_WORKSPACE'] === undefined ? [] : [dirname(environment['RUNNER_WORKSPACE'])]),
  ];
  return {
    environment,
    runFolder,
    checkout: context.workspace,
    hidden: [
      homedir(),
      environment.HOME ?? '',
      context.temp,
      ...world.hidden,
      context.workspace,
      ...works.flatMap((work) => (isFilled(work) ? runnerFolders(work) : checkoutsIn(work))),
      ...works.flatMap((work) => findTopFolder(resolveLinks(work))),
      ...otherRunners(runnerWork),
      ...findRunnerFolders(topOfMachine(), process.getuid?.() ?? 0),
    ],
    visible: [
      join(actionFolder, 'dist'),
      dirname(process.execPath),
      ...(isInstalled ? [install] : []),
      ...order.flatMap(({ path }) => (path === null ? [] : programFolders(path))),
    ],
    localPorts: listLocalPorts(config.isolation.hosts),
    worker: createWorkerProgram(actionFolder),
    places: buildSandboxPlaces(environment),
  };
}

function topOfMachine(): Parameters<typeof findRunnerFolders>[0] {
  return readdirSync('/', { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    kind: entry.isDirectory() ? 'folder' : 'other',
    uid: lstatSync(`/${entry.name}`, { throwIfNoEntry: false })?.uid ?? 0,
  }));
}

/** Returns the folders of the runner, including its own, which contains its credentials. */
function runnerFolders(work: string): readonly string[] {
  const above = dirname(work);
  return existsSync(join(above, '.runner')) ? [work, above] : [work];
}

/**
 * Returns the folders that runners create in a folder shared with the system: `REPOSITORY/REPOSITORY`, and their own.
 */
function checkoutsIn(work: string): readonly string[] {
  return foldersIn(work).filter((path) => {
    const name = basename(path);
    return existsSync(join(path, name, '.git')) || ['_temp', '_actions', '_PipelineMapping'].includes(name);
  });
}

/**
 * Returns other runners of this machine, with their credentials and checkouts: at the usual places, and next to this
 * one.
 */
function otherRunners(work: string): readonly string[] {
  const places = new Set([
    '/',
    '/opt',
    '/usr/local',
    '/var/lib',
    ...[dirname(work), dirname(dirname(work))].map(resolveLinks),
  ]);
  return [...places].flatMap(foldersIn).filter((path) => existsSync(join(path, '.runner')));
}

function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

/**
 * Returns true if a folder is the `_work` of the runner, with every checkout of the machine, and not a folder of the
 * system.
 */
function isFilled(folder: string): boolean {
  return !['/', '/tmp', '/var', '/usr', '/opt', '/etc', '/var/tmp', '/dev/shm', '/home'].includes(folder);
}

/** Returns the folder of a program, and of its package if npm installed it. */
function programFolders(path: string): readonly string[] {
  const real = resolveLinks(path);
  const packages = /^(.*\/node_modules)\//.exec(real)?.[1];
  return [dirname(path), packages ?? dirname(real)];
}

/** Returns true if a sandbox with these options hides a folder. */
export function isHiddenFolder(path: string, { hidden, visible, checkout, environment }: AgentSandboxOptions): boolean {
  const shown = [...visible, checkout, ...listToolFolders(environment)];
  const isIn = (folders: readonly string[]): boolean =>
    folders.some((folder) => folder !== '' && isWithin(path, folder));
  return isIn([...HIDDEN_FOLDERS, ...hidden]) && !isIn(shown);
}
