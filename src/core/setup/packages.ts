import { parseJsonManifest } from './manifests.ts';
import type { Stack, WorkspacePackage } from './project.ts';

const MAX_PACKAGES = 30;
const PLAIN_NAME = /^@?[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/;
const PLAIN_PATH = /^[A-Za-z0-9_][\w.-]*(?:\/[A-Za-z0-9_][\w.-]*)*$/;
const SCRIPTS: readonly (readonly [string, string])[] = [
  ['Build', 'build'],
  ['Test', 'test'],
  ['Lint', 'lint'],
];

/** The commands that start a script of one package, by the tool of the workspace. */
const SCRIPT_COMMANDS: Readonly<Record<string, (name: string, script: string) => string>> = {
  npm: (name, script) => `npm run ${script} -w ${name}`,
  pnpm: (name, script) => `pnpm --filter ${name} run ${script}`,
  yarn: (name, script) => `yarn workspace ${name} run ${script}`,
  bun: (name, script) => `bun run --filter ${name} ${script}`,
};

/** Returns the packages below the root that the root's workspace can build and test one by one. */
export function listWorkspacePackages(
  stacks: readonly Stack[],
  texts: ReadonlyMap<string, string>,
): readonly WorkspacePackage[] {
  const tools = new Set(stacks.filter(({ folder }) => folder === '').map(({ packageManager }) => packageManager));
  const found = [...texts].flatMap(([path, text]): readonly WorkspacePackage[] => {
    const [, folder = '', manifest = ''] = /^(.+)\/([^/]+)$/.exec(path) ?? [];
    if (!PLAIN_PATH.test(folder)) return [];
    if (manifest === 'package.json')
      return nodePackage(folder, text, SCRIPT_COMMANDS[[...tools].find((tool) => tool in SCRIPT_COMMANDS) ?? '']);
    if (manifest === 'Cargo.toml' && tools.has('cargo'))
      return namedPackage(folder, /^\[package\][^[]*?^name\s*=\s*"([^"]+)"/m.exec(text)?.[1], (name) => [
        ['Build', `cargo build -p ${name}`],
        ['Test', `cargo test -p ${name}`],
      ]);
    if (manifest === 'pyproject.toml' && tools.has('uv'))
      return namedPackage(folder, /^\[project\][^[]*?^name\s*=\s*"([^"]+)"/m.exec(text)?.[1], (name) => [
        ['Test', `uv run --package ${name} pytest ${folder}`],
      ]);
    return [];
  });
  return found.toSorted((a, b) => (a.folder < b.folder ? -1 : 1)).slice(0, MAX_PACKAGES);
}

function nodePackage(
  folder: string,
  text: string,
  start: ((name: string, script: string) => string) | undefined,
): readonly WorkspacePackage[] {
  const manifest = parseJsonManifest('package.json', text) ?? {};
  const name = 'name' in manifest ? manifest.name : null;
  const scripts = 'scripts' in manifest ? manifest.scripts : null;
  if (start === undefined || typeof name !== 'string') return [];
  return namedPackage(folder, name, (plain) =>
    SCRIPTS.flatMap(([use, script]) =>
      Object.hasOwn(isObject(scripts) ? scripts : {}, script) ? [[use, start(plain, script)] as const] : [],
    ),
  );
}

function namedPackage(
  folder: string,
  name: string | undefined,
  commandsOf: (name: string) => WorkspacePackage['commands'],
): readonly WorkspacePackage[] {
  if (name === undefined || !PLAIN_NAME.test(name)) return [];
  return [{ folder, name, commands: commandsOf(name) }];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
