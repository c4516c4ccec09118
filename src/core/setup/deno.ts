import { lockOf, objectOf, parsedObject } from './javascript.ts';
import { firstOf, pathIn, uses, type Place, type Stack } from './project.ts';

/** Deno, by deno.json; beside a package.json only where its lock file is the only one. */
export function deno(place: Place): Stack | null {
  const manifest = firstOf(place, ['deno.json', 'deno.jsonc']);
  const isOfNode = place.has('package.json') && (lockOf(place) !== null || !place.has('deno.lock'));
  if (manifest === null || isOfNode) return null;
  const given = withoutComments(place.text(manifest));
  const tasks = 'tasks' in given && typeof given.tasks === 'object' ? (given.tasks ?? {}) : {};
  const versionFile = firstOf(place, ['.dvmrc']);
  const task = (name: string): string | null => (Object.hasOwn(tasks, name) ? `deno task ${name}` : null);
  return {
    language: 'TypeScript',
    folder: place.folder,
    packageManager: 'deno',
    frameworks: [],
    install: place.has('deno.lock') ? 'deno install --frozen' : null,
    build: task('build'),
    // There is nobody to answer when it asks for a permission.
    test: task('test') ?? 'deno test --allow-all',
    lint: task('lint') ?? 'deno lint',
    setup: uses('denoland/setup-deno@v2', {
      'deno-version-file': versionFile === null ? null : pathIn(place, versionFile),
    }),
    programs: ['deno'],
    leaves: place.has('deno.lock') ? [] : ['deno.lock'],
  };
}

/** The object that a JSON text with comments and commas at the ends is. */
function withoutComments(text: string): object {
  const bare = text
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/^\s*\/\*[^]*?\*\/\s*$/gm, '')
    .replaceAll(/,(?=\s*[}\]])/g, '');
  return parsedObject(text) ?? objectOf(bare);
}
