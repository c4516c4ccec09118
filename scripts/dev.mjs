// This file is plain JavaScript on purpose, because it must run on any Node (18 or newer) that a person has.
// It installs Node 24 and npm from the npm registry, then the dependencies, and runs everything else with those.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const toolchain = join(root, 'scripts', 'toolchain');
const binary = (name) => join(root, 'node_modules', '.bin', name);
/** The compiler of TypeScript 7; version 6, which tests and scripts parse with, has a program of the same name. */
const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');

/** The projects of `npm test`: four minutes on two cores, including the installation. */
const QUICK = ['unit', 'loop', 'integration'];
const projects = (names) => names.flatMap((name) => ['--project', name]);

const commands = {
  sandbox: (args) => [['node', 'testbed/story.ts', ...args]],
  vitest: (args) => [['node', binary('vitest'), 'run', ...args]],
  test: (args) => commands.vitest([...projects(QUICK), ...args]),
  // Everything that `npm test` leaves out, except tests that need other installations.
  'test:rest': (args) => commands.vitest([...projects([...QUICK, 'agents'].map((name) => `!${name}`)), ...args]),
  'test:e2e': (args) => commands.vitest(['--project', 'e2e', ...args]),
  'test:attacks': (args) => commands.vitest(['--project', 'attacks*', ...args]),
  'test:agents': (args) => commands.vitest(['--project', 'agents', ...args]),
  'test:deep': (args) => {
    process.env.RALPH_TEST_DEEP = '1';
    return commands.vitest(args);
  },
  bench: (args) => [['node', 'bench/bench.ts', ...args]],
  simulate: (args) => [['node', 'bench/simulator/simulate.ts', ...args]],
  docs: () => [['node', 'scripts/docs.ts']],
  pictures: (args) => [['node', 'scripts/pictures.ts', ...args]],
  faults: (args) => [['node', 'scripts/faults.ts', ...args]],
  mutation: (args) =>
    args[0] === '--guards'
      ? [['node', 'scripts/guards.ts', ...args.slice(1)]]
      : [['node', binary('stryker'), 'run', ...args]],
  build: () => [
    ['node', tsc, '-p', 'tsconfig.build.json'],
    ['node', 'scripts/build.ts'],
  ],
  // `types` is a separate command, so this one does not check types.
  'check-dist': () => [
    ['node', tsc, '-p', 'tsconfig.build.json', '--noCheck'],
    ['node', 'scripts/build.ts', '--check'],
  ],
  format: () => [['node', binary('oxfmt')]],
  lint: (args) => [
    ['node', binary('oxfmt'), '--check'],
    ['node', binary('oxlint'), '--type-aware', ...args],
    ['node', binary('depcruise'), '--config', '.dependency-cruiser.cjs', 'src', 'testbed', 'scripts'],
    ['node', binary('knip')],
  ],
  types: () => [['node', tsc, '-p', 'tsconfig.json']],
  node: (args) => [['node', ...args]],
};

// npm's default timeout for a hanging request is five minutes.
const npmOptions = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
  '--fetch-timeout=60000',
  '--fetch-retries=4',
];

const [name = '', ...args] = process.argv.slice(2);
if (!Object.hasOwn(commands, name)) {
  console.error(`unknown command "${name}"; one of: ${Object.keys(commands).join(', ')}`);
  process.exit(2);
}

const node = installNode();
installDependencies(node);
const programs = commands[name](args).map(([, ...argv]) => argv);
// Each of these programs uses one core.
if (name === 'lint') await runSideBySide(node, programs);
else for (const argv of programs) run(node, argv);

/** Returns the path of a Node 24 executable; installs one from npm into scripts/toolchain if necessary. */
function installNode() {
  const packaged = join(toolchain, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  installOnce(toolchain, packaged, () => {
    console.error('Installing Node 24 (once) …');
    run('npm', ['ci', ...npmOptions, '--prefix', toolchain]);
  });
  if (existsSync(packaged)) return packaged;
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  console.error(
    `No Node 24 on npm for ${process.platform}-${process.arch} and this is ${process.version}: install Node 24 or newer, then run this again.`,
  );
  process.exit(1);
}

function installDependencies(nodePath) {
  const npm = join(toolchain, 'node_modules', 'npm', 'bin', 'npm-cli.js');
  installOnce(root, tsc, () => {
    console.error('Installing the development dependencies (once, about a minute) …');
    run(nodePath, [npm, 'ci', ...npmOptions]);
  });
}

/** Runs `install` unless the stamp in node_modules matches the lockfile. */
function installOnce(folder, product, install) {
  const stamp = join(folder, 'node_modules', '.installed-lockfile');
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest && (existsSync(product) || folder === toolchain))
    return;
  install();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
}

function run(command, argv) {
  const { status, signal, error } = spawnSync(command, argv, {
    cwd: root,
    stdio: 'inherit',
    env: environmentOf(command),
    shell: process.platform === 'win32' && command === 'npm',
  });
  if (error) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}

/** Runs all programs at once, and fails if one does. The output of each is printed in one piece, in their order. */
async function runSideBySide(command, programs) {
  const ends = programs.map(
    (argv) =>
      new Promise((resolve) => {
        const printed = [];
        const child = spawn(command, argv, {
          cwd: root,
          env: environmentOf(command),
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        child.stdout.on('data', (chunk) => printed.push(chunk));
        child.stderr.on('data', (chunk) => printed.push(chunk));
        child.on('error', (error) => printed.push(Buffer.from(`${command}: ${error.message}\n`)));
        child.on('close', (status) => resolve({ printed, status }));
      }),
  );
  for (const end of ends) {
    const { printed, status } = await end;
    process.stdout.write(Buffer.concat(printed));
    if (status !== 0) process.exitCode = 1;
  }
}

function environmentOf(command) {
  // npm exports variables to its scripts that would affect every npm and git started by the tests; only the registry's
  // address is kept.
  const kept = ([name]) =>
    !/^npm_/i.test(name) || /^npm_config_(registry|cafile|cache|https?_proxy|noproxy)$/i.test(name);
  const env = Object.fromEntries(Object.entries(process.env).filter(kept));
  // The compiler and oxlint's rules on types are programs in Go, which end before they need to collect garbage.
  if (name === 'lint' || name === 'types') Object.assign(env, { GOGC: 'off', GOMEMLIMIT: '4GiB' });
  if (command !== 'npm') env.PATH = `${dirname(command)}${delimiter}${env.PATH}`;
  return env;
}
