import { firstOf, pathIn, uses, type Place, type Stack } from './project.ts';

const FRAMEWORKS: Readonly<Record<string, string>> = { django: 'Django', fastapi: 'FastAPI', flask: 'Flask' };
const REQUIREMENTS: readonly string[] = ['requirements.txt', 'requirements-dev.txt'];
const MANIFESTS: readonly string[] = [
  'pyproject.toml',
  'requirements.txt',
  'requirements-dev.txt',
  'setup.py',
  'setup.cfg',
];

/** Python, by pyproject.toml, requirements or setup.py. */
export function python(place: Place): Stack | null {
  if (firstOf(place, MANIFESTS) === null) return null;
  const text = MANIFESTS.map((name) => place.text(name))
    .join('\n')
    .toLowerCase();
  const manager = managerOf(place);
  const start = manager === 'pip' ? 'python -m' : `${manager} run`;
  const usesPytest = /\bpytest\b/.test(text) || place.has('pytest.ini') || place.has('conftest.py');
  const usesUnittest = place.has('tests') || place.has('test');
  const isLocked = place.has(`${manager}.lock`);
  return {
    language: 'Python',
    folder: place.folder,
    packageManager: manager,
    frameworks: Object.entries(FRAMEWORKS).flatMap(([name, shown]) =>
      new RegExp(`^\\s*["']?${name}\\b|["']${name}\\b`, 'm').test(text) ? [shown] : [],
    ),
    install: installOf(place, manager, usesPytest ? pytestIn(place) : { kind: 'installed' }),
    build: null,
    test: usesPytest
      ? `${start} pytest`
      : usesUnittest
        ? `${manager === 'pip' ? start : `${start} python -m`} unittest discover`
        : null,
    lint: /\bruff\b/.test(text) || place.has('ruff.toml') ? `${start} ruff check` : null,
    setup:
      manager === 'uv'
        ? uses('astral-sh/setup-uv@v7', { 'enable-cache': 'true' })
        : [
            ...(manager === 'poetry' ? ['- run: pipx install poetry'] : []),
            ...uses('actions/setup-python@v6', {
              ...pythonVersion(place),
              cache: manager === 'poetry' && !isLocked ? null : manager,
              'cache-dependency-path':
                manager === 'poetry'
                  ? isLocked
                    ? pathIn(place, 'poetry.lock')
                    : null
                  : pathIn(place, firstOf(place, MANIFESTS) ?? ''),
            }),
          ],
    programs: manager === 'pip' ? ['python', 'pip', 'pytest'] : [manager],
    leaves: [
      '__pycache__/',
      ...(manager === 'uv' ? ['.venv/'] : []),
      ...(manager === 'poetry' && !isLocked ? ['poetry.lock'] : []),
      ...(usesPytest ? ['.pytest_cache/'] : []),
    ],
  };
}

type Manager = 'uv' | 'poetry' | 'pip';

function managerOf(place: Place): Manager {
  if (place.has('uv.lock')) return 'uv';
  const isPoetry = /^\[tool\.poetry\]/m.test(place.text('pyproject.toml')) && !place.has('requirements.txt');
  return place.has('poetry.lock') || isPoetry ? 'poetry' : 'pip';
}

function pythonVersion(place: Place): Readonly<Record<string, string>> {
  if (place.has('.python-version')) return { 'python-version-file': pathIn(place, '.python-version') };
  const inWorkflows = place.versionInWorkflows('python-version');
  const isNamed = /^(?:requires-python|python)\s*=\s*["']/m.test(place.text('pyproject.toml'));
  return inWorkflows === null && isNamed
    ? { 'python-version-file': pathIn(place, 'pyproject.toml') }
    : { 'python-version': `'${inWorkflows ?? '3.x'}'` };
}

/** What brings pytest; `installed`: what is installed anyway. */
type Source =
  | { readonly kind: 'extra' | 'group'; readonly name: string }
  | { readonly kind: 'installed' }
  | { readonly kind: 'nothing' };

function pytestIn(place: Place): Source {
  if (REQUIREMENTS.some((name) => /^\s*pytest\b/im.test(place.text(name)))) return { kind: 'installed' };
  const text = place.text('pyproject.toml');
  const [group] = listsWithPytest(sectionOf(text, 'dependency-groups'));
  if (group !== undefined) return { kind: 'group', name: group };
  const [extra] = listsWithPytest(sectionOf(text, 'project.optional-dependencies'));
  if (extra !== undefined) return { kind: 'extra', name: extra };
  const always = ['project', 'tool.uv'].flatMap((name) => listsWithPytest(sectionOf(text, name)));
  return { kind: always.length > 0 ? 'installed' : 'nothing' };
}

/** The lines of a table of TOML; `''`: it is not there. */
function sectionOf(text: string, name: string): string {
  const [, after = ''] = `\n${text}`.split(`\n[${name}]`);
  return after.split(/\n\[(?=[\w."-]+\])/)[0] ?? '';
}

function listsWithPytest(section: string): readonly string[] {
  return [...section.matchAll(/^\s*["']?([\w.-]+)["']?\s*=\s*\[((?:[^\]"']|"[^"\n]*"|'[^'\n]*')*)\]/gm)].flatMap(
    ([, name = '', list = '']) => (/["']pytest\b/i.test(list) ? [name] : []),
  );
}

function installOf(place: Place, manager: Manager, pytest: Source): string {
  if (manager === 'pip') return pipInstall(place, pytest);
  if (manager === 'poetry')
    return pytest.kind === 'extra' ? `poetry install --extras ${pytest.name}` : 'poetry install';
  const isWorkspace = /^\[tool\.uv\.workspace\]/m.test(place.text('pyproject.toml'));
  // uv installs the group `dev` by default.
  const isDefault = pytest.kind === 'group' && pytest.name === 'dev';
  return [
    'uv sync --locked',
    ...(isWorkspace ? ['--all-packages'] : []),
    ...('name' in pytest && !isDefault ? [`--${pytest.kind} ${pytest.name}`] : []),
  ].join(' ');
}

function pipInstall(place: Place, pytest: Source): string {
  const lists = REQUIREMENTS.filter((name) => place.has(name)).map((name) => `-r ${name}`);
  const isPackage = lists.length === 0;
  const extra = pytest.kind === 'extra' && isPackage ? `'.[${pytest.name}]'` : '.';
  const group = pytest.kind === 'group' ? [`--group ${pytest.name}`] : [];
  const isMissing = pytest.kind === 'nothing' || (pytest.kind === 'extra' && !isPackage);
  return ['pip install', ...(isPackage ? [extra] : lists), ...group, ...(isMissing ? ['pytest'] : [])].join(' ');
}
