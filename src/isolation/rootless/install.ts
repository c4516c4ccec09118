import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneLine } from '../../core/text/one-line.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { MINUTE_MS } from '../../core/time.ts';
import { describeCollected, type CollectedEnd } from '../../processes/collect-output.ts';
import { runAlone } from '../../processes/program.ts';
import { trustedProgram } from '../../processes/trusted-programs.ts';
import { Unavailable } from '../room/root.ts';
import { RUNTIME, RUNTIME_PACKAGES, RUNTIME_VERSION, runtimeManifests } from './runtime-lock.ts';

interface Installation {
  /** Kept between runs by whoever names it. */
  readonly folder: string;
  /** Of this process; npm gets what it needs of it and no key. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runTag: string;
}

const INSTALL_MS = 2 * MINUTE_MS;
const NPM_NEEDS =
  /^(PATH|HOME|USER|LANG|TMPDIR|(https?|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_(registry|cache|userconfig|globalconfig|cafile))$/i;
/** npm's own waits between tries, 10 s and 60 s, make a runner without a network look hung. */
const NPM_ARGS = [
  ...['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
  ...['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'],
];

/** Brings the pinned library into `folder` unless it is there, and returns its `dist/index.js`; throws Unavailable. */
export async function installSandboxRuntime({ folder, environment, runTag }: Installation): Promise<string> {
  const library = join(folder, 'node_modules', RUNTIME, 'dist', 'index.js');
  if (isInstalledIn(folder)) return library;
  // Made beside and then moved, so that a second run on this machine sees all of it or nothing.
  const staging = `${folder}.${runTag}`;
  await mkdir(staging, { recursive: true });
  try {
    for (const [name, text] of Object.entries(runtimeManifests())) await writeFile(join(staging, name), text);
    await npmInstall(staging, { environment: npmEnvironment(environment), runTag });
    // Another run may have been faster.
    if (!isInstalledIn(folder)) {
      await rm(folder, { recursive: true, force: true });
      await rename(staging, folder).catch((error: unknown) => {
        if (!isInstalledIn(folder)) throw error;
      });
    }
    if (!isInstalledIn(folder)) throw new Unavailable(`npm installed another version than ${RUNTIME_VERSION}`);
    return library;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function npmInstall(
  folder: string,
  surroundings: Pick<Installation, 'runTag'> & { readonly environment: Readonly<Record<string, string>> },
): Promise<void> {
  const npm = trustedProgram('npm', surroundings.environment);
  if (npm === null) throw cannotInstall('npm is not installed, see actions/setup-node');
  const { end, stderr } = await runAlone(
    { file: npm, args: NPM_ARGS },
    { ...surroundings, room: null, cwd: folder, timeoutMs: INSTALL_MS },
  );
  if (end.kind !== 'exited' || end.code !== 0) throw cannotInstall(reasonOf(end, stderr.toString()));
}

function npmEnvironment(environment: Installation['environment']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && NPM_NEEDS.test(entry[0]),
    ),
  );
}

/** Whether all that is pinned is there, in these versions. */
function isInstalledIn(folder: string): boolean {
  return Object.entries(RUNTIME_PACKAGES).every(([name, { version }]) => {
    const manifest = tryJson(readText(join(folder, 'node_modules', name, 'package.json')));
    return typeof manifest === 'object' && manifest !== null && 'version' in manifest && manifest.version === version;
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function cannotInstall(why: string): Unavailable {
  return new Unavailable(`${RUNTIME} ${RUNTIME_VERSION} cannot be installed (${why})`);
}

/** npm's first line that is not a code, or how it ended. */
function reasonOf(end: CollectedEnd, stderr: string): string {
  const said = stderr.split('\n').find((line) => /^npm error (?!code |errno |syscall )\S/.test(line));
  return said === undefined ? `npm ${describeCollected(end)}` : oneLine(said.replace(/^npm error /, ''), 200);
}
