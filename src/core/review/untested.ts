import { isGenerated } from './generated.ts';
import { isTestFile } from './test-files.ts';

/** What the rule reads of a changed file. `after`: its text, known of test files. */
interface ChangedFile {
  readonly path: string;
  readonly insertions: number;
  readonly after: string | null;
}

/** Fewer new lines are covered by the tests that there are, or are no code that runs. */
const MIN_LINES = 10;

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|php|java|kt|cs|swift|c|cc|cpp|scala|ex|exs|dart|vue|svelte|sh)$/i;
const NO_NAME_OF_ITS_OWN = /^(?:index|main|mod|lib|__init__|__main__)$/;
/** Of a test file; what it tests is imported far above its end. */
const READ_CHARS = 32_768;

/** Paths of code with ten new lines or more that no changed test names. */
export function untestedFiles(changes: readonly ChangedFile[]): ReadonlySet<string> {
  const code = changes.filter(({ path, insertions }) => insertions >= MIN_LINES && isCode(path));
  const names = new Set(code.map(({ path }) => nameOf(path)));
  const named = new Set<string>();
  for (const { path, after } of code.length === 0 ? [] : changes.filter((change) => isTestFile(change.path)))
    for (const [word] of `${path}\n${after?.slice(0, READ_CHARS) ?? ''}`.matchAll(/[\w-]+/g)) {
      const name = plainName(word);
      if (names.has(name)) named.add(name);
    }
  return new Set(code.map(({ path }) => path).filter((path) => !named.has(nameOf(path))));
}

function isCode(path: string): boolean {
  return CODE.test(path) && !isTestFile(path) && !isGenerated(path) && !/\.(?:config|d)\.[^/]+$/.test(path);
}

/** The file's name as tests know it; of `greet/index.ts` its folder's. */
function nameOf(path: string): string {
  const [file = '', folder = ''] = path.split('/').reverse();
  const name = file.split('.', 1)[0] ?? '';
  return plainName(NO_NAME_OF_ITS_OWN.test(name) && folder !== '' ? folder : name);
}

/** `test_greet.py`, `greet_test.go` and `GreetTest.java` name `greet`. */
function plainName(word: string): string {
  return word
    .slice(0, 200)
    .replace(/^test_|_(?:test|spec)$|Tests?$/, '')
    .toLowerCase();
}
