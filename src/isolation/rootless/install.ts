import { readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MINUTE_MS } from '../../core/countdown.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { tryJson } from '../../core/text/try-json.ts';
import { withNamedWait } from '../../ports/waits.ts';
import { type CollectedEnd, describeCollected, runWithoutInput } from '../../processes/collect-output.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import { IsolationUnavailable } from '../namespaces/root.ts';

/**
 * The library that makes a sandbox without root. One of its programs runs as this user, so every byte of it is pinned.
 */
export const RUNTIME = '@anthropic-ai/sandbox-runtime';

export const RUNTIME_VERSION = '0.0.83';

/** The library and its dependencies, as in package-lock.json of this repository; a unit test compares the two. */
export const RUNTIME_PACKAGES = {
  [RUNTIME]: {
    version: RUNTIME_VERSION,
    integrity: 'sha512-yEusORnVJrNseF/9fvjVYyk6tr79/aFbIB3T/X8p2puLZdaaiGNeYN50v0CE+1DT70v7XuzKOAnTivh1f5cksA==',
    dependencies: {
      '@pondwader/socks5-server': '^1.0.10',
      commander: '^12.1.0',
      'node-forge': '^1.4.0',
      zod: '^3.25.0',
    },
  },
  '@pondwader/socks5-server': {
    version: '1.0.10',
    integrity: 'sha512-bQY06wzzR8D2+vVCUoBsr5QS2U6UgPUQRmErNwtsuI6vLcyRKkafjkr3KxbtGFf9aBBIV2mcvlsKD1UYaIV+sg==',
  },
  commander: {
    version: '12.1.0',
    integrity: 'sha512-Vw8qHK3bZM9y/P10u3Vib8o/DdkvA2OtPtZvD871QKjy74Wj1WSKFILMPRPSdUSx5RFK1arlJzEtA4PkFgnbuA==',
  },
  'node-forge': {
    version: '1.4.3',
    integrity: 'sha512-P6wzfh6t70avmV8FrVEAd/36sOPJQ+hkaJVX1Laap9J/77m7M0eyozDvc8SwnDf4P7MP94gwbAAo0rg3YVXT+g==',
  },
  zod: {
    version: '3.25.76',
    integrity: 'sha512-gzUt/qt81nXsFGKIFcC3YnfEAx5NkunCfnDlvuBSSFS02bcXu4Lmea0AFIUwbLWxWPx3d9p8S5QoaujKcNQxcQ==',
  },
} as const;

interface Installation {
  /** The folder of the library, which the caller keeps between runs. */
  readonly folder: string;
  /** The environment of this process, from which npm gets only the variables that it needs. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runTag: string;
}

const INSTALL_MS = 2 * MINUTE_MS;

const NPM_NEEDS =
  /^(PATH|HOME|USER|LANG|TMPDIR|(https?|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|npm_config_(registry|cache|userconfig|globalconfig|cafile))$/i;

/**
 * Arguments of npm, with short waits between attempts: with npm's own waits of 10 s and 60 s, a runner without a
 * network seems to hang.
 */
const NPM_ARGS = [
  ...['ci', '--ignore-scripts', '--no-audit', '--no-fund'],
  ...['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000'],
];

/**
 * Installs the pinned library in `folder` unless it is there, and returns its `dist/index.js`. Throws
 * IsolationUnavailable.
 */
export async function installSandboxRuntime({ folder, environment, runTag }: Installation): Promise<string> {
  const library = join(folder, 'node_modules', RUNTIME, 'dist', 'index.js');
  if (isInstalledIn(folder)) return library;
  // Install the library in a sibling folder and then move it, so that another run on this machine sees all of it or
  // nothing.
  const staging = `${folder}.${runTag}`;
  await mkdir(staging, { recursive: true });
  try {
    for (const [name, text] of Object.entries(buildRuntimeManifests())) await writeFile(join(staging, name), text);
    await npmInstall(staging, { environment: npmEnvironment(environment), runTag });
    // Use the installation of another run that was faster.
    if (!isInstalledIn(folder)) {
      await rm(folder, { recursive: true, force: true });
      await rename(staging, folder).catch((error: unknown) => {
        if (!isInstalledIn(folder)) throw error;
      });
    }
    if (!isInstalledIn(folder)) throw new IsolationUnavailable(`npm installed another version than ${RUNTIME_VERSION}`);
    return library;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function npmInstall(
  folder: string,
  surroundings: Pick<Installation, 'runTag'> & { readonly environment: Readonly<Record<string, string>> },
): Promise<void> {
  const npm = findTrustedProgram('npm', surroundings.environment);
  if (npm === null) throw cannotInstall('npm is not installed, see actions/setup-node');
  const { end, stderr } = await withNamedWait("npm to install the agent's sandbox", () =>
    runWithoutInput(
      { file: npm, args: NPM_ARGS },
      { ...surroundings, agentSandbox: null, cwd: folder, timeoutMs: INSTALL_MS },
    ),
  );
  if (end.kind !== 'exited' || end.code !== 0) throw cannotInstall(installFailureOf(end, stderr.toString()));
}

function npmEnvironment(environment: Installation['environment']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && NPM_NEEDS.test(entry[0]),
    ),
  );
}

/** Returns true if all pinned packages are there in the pinned versions. */
function isInstalledIn(folder: string): boolean {
  return Object.entries(RUNTIME_PACKAGES).every(([name, { version }]) => {
    const manifest = tryJson(readTextOrEmpty(join(folder, 'node_modules', name, 'package.json')));
    return typeof manifest === 'object' && manifest !== null && 'version' in manifest && manifest.version === version;
  });
}

function readTextOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function cannotInstall(why: string): IsolationUnavailable {
  return new IsolationUnavailable(`${RUNTIME} ${RUNTIME_VERSION} cannot be installed (${why})`);
}

/** Returns npm's first error line that is not a code, or how npm ended. */
function installFailureOf(end: CollectedEnd, stderr: string): string {
  const errorLine = stderr.split('\n').find((line) => /^npm error (?!code |errno |syscall )\S/.test(line));
  return errorLine === undefined
    ? `npm ${describeCollected(end)}`
    : toOneLine(errorLine.replace(/^npm error /, ''), 200);
}

/** Returns the two files from which `npm ci` installs exactly these packages, by name. */
export function buildRuntimeManifests(): Readonly<Record<string, string>> {
  const root = { name: 'ralph-sandbox-runtime', version: '0.0.0', dependencies: { [RUNTIME]: RUNTIME_VERSION } };
  const packages = Object.fromEntries(
    Object.entries(RUNTIME_PACKAGES).map(([name, entry]) => [`node_modules/${name}`, entry]),
  );
  const lock = { ...root, lockfileVersion: 3, requires: true, packages: { '': root, ...packages } };
  return {
    'package.json': `${JSON.stringify({ ...root, private: true })}\n`,
    'package-lock.json': `${JSON.stringify(lock)}\n`,
  };
}
