import { findFirstName, joinPlacePath, type ProjectFolder } from './project.ts';

/** Parses a manifest in JSON, for Deno also with comments and trailing commas; returns null if it is not an object. */
export function parseJsonManifest(name: string, text: string): object | null {
  const bare = text
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/^\s*\/\*[^]*?\*\/\s*$/gm, '')
    .replaceAll(/,(?=\s*[}\]])/g, '');
  return parsedObject(text) ?? (name.startsWith('deno.') ? parsedObject(bare) : null);
}

function parsedObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns the packages that `go` builds and tests: the modules of a workspace, or everything below. */
export function nameGoPackages({ place }: { readonly place: ProjectFolder }): string {
  const named = [...place.text('go.work').matchAll(/^\s*(?:use\s+)?(\.\/[\w./-]+|\.)\s*(?:\/\/.*)?$/gm)];
  // Folders with characters that are special in a shell are left out, because the names become part of a command.
  const folders = [...new Set(named.map(([, folder]) => folder ?? '.'))].filter((folder) => !folder.includes('..'));
  return folders.length === 0
    ? './...'
    : folders
        .slice(0, 20)
        .map((folder) => `${folder}/...`)
        .join(' ');
}

/**
 * Returns the file that names the newest Go of all modules. One set-up serves all of them, because a second one would
 * replace the first. Empty if that version does not download newer toolchains.
 */
export function findGoVersionFile({ all }: { readonly all: readonly ProjectFolder[] }): string {
  const newest = newestGo(all);
  return newest === undefined || goVersion(newest) < FIRST_WITH_TOOLCHAINS
    ? ''
    : joinPlacePath(newest, goManifest(newest));
}

/**
 * Returns the Go version to set up: another workflow's if it is newer; empty if a version file is used; otherwise
 * `stable`.
 */
export function formatGoVersion({
  place,
  all,
}: {
  readonly place: ProjectFolder;
  readonly all: readonly ProjectFolder[];
}): string {
  const written = place.versionInWorkflows('go-version');
  const newest = newestGo(all);
  const isNewer = written !== null && goNumber(`go ${written}`) > (newest === undefined ? 0 : goVersion(newest));
  if (isNewer) return `'${written}'`;
  return findGoVersionFile({ all }) === '' ? 'stable' : '';
}

/** Go 1.21, the first version that downloads the toolchain that the `go` line of a module names. */
const FIRST_WITH_TOOLCHAINS = 1_021_000;

function newestGo(all: readonly ProjectFolder[]): ProjectFolder | undefined {
  return all.toSorted((a, b) => goVersion(b) - goVersion(a))[0];
}

/**
 * Returns the paths of the `go.sum` files by which Go's downloads are cached; empty if there is only one at the root,
 * which the action finds on its own.
 */
export function listGoSums({ all }: { readonly all: readonly ProjectFolder[] }): string {
  const sums = all.filter((place) => place.has('go.sum') && place.folder !== '');
  const [only] = sums;
  return only === undefined ? '' : sums.length > 1 ? "'**/go.sum'" : joinPlacePath(only, 'go.sum');
}

function goManifest(place: ProjectFolder): string {
  return findFirstName(place, ['go.work', 'go.mod']) ?? '';
}

/** Returns the version that the manifest names as a number that sorts like it, or 0 if it names none. */
function goVersion(place: ProjectFolder): number {
  return goNumber(place.text(goManifest(place)));
}

function goNumber(text: string): number {
  const [, major = '0', minor = '0', patch = '0'] = /^go\s+(\d+)\.(\d+)(?:\.(\d+))?/m.exec(text) ?? [];
  return (Number(major) * 1000 + Number(minor)) * 1000 + Number(patch);
}

/** Files with requirements for pip. */
const REQUIREMENTS: readonly string[] = ['requirements.txt', 'requirements-dev.txt'];

/** The part of the project that installs pytest; `installed` means that pytest is installed in any case. */
type PytestSource =
  | { readonly kind: 'extra' | 'group'; readonly name: string }
  | { readonly kind: 'installed' | 'nothing' };

/** Returns the commands that install Python's packages, with pytest if the tests use it. */
export function renderPythonInstall(place: ProjectFolder, tool: string, usesPytest: boolean): string {
  const pytest = usesPytest ? pytestIn(place) : ({ kind: 'installed' } as const);
  if (tool === 'pip') return pipInstall(place, pytest);
  if (tool === 'poetry') return pytest.kind === 'extra' ? `poetry install --extras ${pytest.name}` : 'poetry install';
  const isWorkspace = /^\[tool\.uv\.workspace\]/m.test(place.text('pyproject.toml'));
  // uv installs the group `dev` by default, so it needs no option.
  const isDefault = pytest.kind === 'group' && pytest.name === 'dev';
  const named = 'name' in pytest && !isDefault ? ` --${pytest.kind} ${pytest.name}` : '';
  return `uv sync --locked${isWorkspace ? ' --all-packages' : ''}${named}`;
}

function pipInstall(place: ProjectFolder, pytest: PytestSource): string {
  const lists = REQUIREMENTS.filter((name) => place.has(name)).map((name) => `-r ${name}`);
  const isPackage = lists.length === 0;
  const extra = pytest.kind === 'extra' && isPackage ? `'.[${pytest.name}]'` : '.';
  const group = pytest.kind === 'group' ? [`--group ${pytest.name}`] : [];
  const isMissing = pytest.kind === 'nothing' || (pytest.kind === 'extra' && !isPackage);
  return ['pip install', ...(isPackage ? [extra] : lists), ...group, ...(isMissing ? ['pytest'] : [])].join(' ');
}

function pytestIn(place: ProjectFolder): PytestSource {
  if (REQUIREMENTS.some((name) => /^\s*pytest\b/im.test(place.text(name)))) return { kind: 'installed' };
  const group = listWithPytest(place, 'dependency-groups');
  if (group !== null) return { kind: 'group', name: group };
  const extra = listWithPytest(place, 'project.optional-dependencies');
  if (extra !== null) return { kind: 'extra', name: extra };
  const always = ['project', 'tool.uv'].some((table) => listWithPytest(place, table) !== null);
  return { kind: always ? 'installed' : 'nothing' };
}

/** Returns the name of the first list with pytest in a table of pyproject.toml, or null if no list has it. */
function listWithPytest(place: ProjectFolder, table: string): string | null {
  const [, after = ''] = `\n${place.text('pyproject.toml')}`.split(`\n[${table}]`);
  const section = after.split(/\n\[(?=[\w."-]+\])/)[0] ?? '';
  const lists = section.matchAll(/^\s*["']?([\w.-]+)["']?\s*=\s*\[((?:[^\]"']|"[^"\n]*"|'[^'\n]*')*)\]/gm);
  return [...lists].find(([, , list = '']) => /["']pytest\b/i.test(list))?.[1] ?? null;
}
