import { firstOf, pathIn, uses, type Place, type Stack } from './project.ts';

const FRAMEWORKS: Readonly<Record<string, string>> = { django: 'Django', fastapi: 'FastAPI', flask: 'Flask' };
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
  const manager = place.has('uv.lock') ? 'uv' : place.has('poetry.lock') ? 'poetry' : 'pip';
  const start = manager === 'pip' ? 'python -m' : `${manager} run`;
  const version = firstOf(place, ['.python-version']);
  const usesPytest = /\bpytest\b/.test(text) || place.has('pytest.ini') || place.has('conftest.py');
  const usesUnittest = place.has('tests') || place.has('test');
  return {
    language: 'Python',
    folder: place.folder,
    packageManager: manager,
    frameworks: Object.entries(FRAMEWORKS).flatMap(([name, shown]) =>
      new RegExp(`^\\s*["']?${name}\\b|["']${name}\\b`, 'm').test(text) ? [shown] : [],
    ),
    install: manager === 'uv' ? 'uv sync --locked' : manager === 'poetry' ? 'poetry install' : pipInstall(place),
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
              'python-version-file': version === null ? null : pathIn(place, version),
              'python-version': version === null ? `'${place.versionInWorkflows('python-version') ?? '3.x'}'` : null,
              cache: manager,
              'cache-dependency-path':
                manager === 'poetry' ? pathIn(place, 'poetry.lock') : pathIn(place, firstOf(place, MANIFESTS) ?? ''),
            }),
          ],
    programs: manager === 'pip' ? ['python', 'pip', 'pytest'] : [manager],
    leaves: ['__pycache__/', ...(manager === 'uv' ? ['.venv/'] : []), ...(usesPytest ? ['.pytest_cache/'] : [])],
  };
}

function pipInstall(place: Place): string {
  const lists = ['requirements.txt', 'requirements-dev.txt'].filter((name) => place.has(name));
  return `pip install ${lists.length === 0 ? '.' : lists.map((name) => `-r ${name}`).join(' ')}`;
}
