import { z } from 'zod';
import { joinNames } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';

/** The kinds of changes that a reviewer looks at first, most serious first. */
export const lookAtKinds = [
  'conflict-markers',
  'manifest-not-read',
  'test-not-read',
  'void-test-script',
  'deleted-test',
  'skipped-test',
  'weaker-test',
  'changed-test-script',
  'test-settings',
  'task-runner',
  'unreadable-scripts',
  'script-by-itself',
  'action',
  'other-ci',
  'git-hook',
  'editor',
  'machine',
  'shell',
  'package-source',
  'lock-file',
  'embedded-repository',
  'wrapper',
  'large-file-source',
  'agent-instructions',
  'notes',
  'outside',
  'dependencies',
  'new-binary',
  'changed-binary',
  'large-file',
  'untested',
] as const;

export type LookAtKind = (typeof lookAtKinds)[number];

/** A finding in one file. */
export interface FileFinding {
  readonly kind: LookAtKind;
  /** A short description; null if the kind says everything. */
  readonly what: string | null;
}

const versions = z.record(z.string(), z.unknown()).catch({}).default({});

const dependenciesSchema = z.object({
  dependencies: versions,
  devDependencies: versions,
  optionalDependencies: versions,
  peerDependencies: versions,
  overrides: versions,
  resolutions: versions,
});

const manifestSchema = z.object({ scripts: z.record(z.string(), z.string()).default({}) });

/** Names of scripts that package managers run on their own. */
const LIFECYCLE =
  /^(?:(?:pre|post)?(?:install|uninstall|pack|publish|prepare|version|update|restart|start|stop)|prepublishOnly|pnpm:devPreinstall|dependencies)$/;

const TEST_SCRIPT = /^(?:pre|post)?test(?::|$)/;

const STARTED_SCRIPT = /\b(?:npm|pnpm|yarn|bun)\s+(?:run(?:-script)?\s+)?([\w:.-]+)/g;

const PASSES_ALWAYS =
  /^\s*(?:(?:true|:|exit\s+0|echo\b[^&|;]*)\s*(?:&&|;|$)\s*)+$|(?:\|\||;)\s*(?:true|:|exit\s+0)\s*$/;

/** Returns what a reviewer looks at first in a change of package.json. `after` is null if the file was deleted. */
export function reviewManifest(before: string | null, after: string | null): readonly FileFinding[] {
  if (after === null) return [];
  const dependencies = dependencyWords(before, after);
  return [
    ...scriptFindings(
      scriptsOf(before ?? '{}') ?? {},
      scriptsOf(after),
      changedSettings(before, after, INSTALL_SCRIPTS),
    ),
    ...finding('test-settings', wordsOfNames(changedSettings(before, after, TEST_SETTINGS))),
    ...finding('git-hook', wordsOfNames(changedSettings(before, after, GIT_HOOKS))),
    // These settings name the program that runs every package command, so a change of them changes its source.
    ...finding('package-source', wordsOfNames(changedSettings(before, after, ['packageManager', 'devEngines']))),
    ...(dependencies === '' ? [] : [{ kind: 'dependencies', what: dependencies } as const]),
  ];
}

function scriptFindings(old: Scripts, now: Scripts | null, installs: readonly string[]): readonly FileFinding[] {
  if (now === null) return [{ kind: 'unreadable-scripts', what: null }];
  const changed = Object.keys(now).filter((name) => now[name] !== old[name]);
  const tested = [...testScripts(old), ...testScripts(now)];
  const isTest = (name: string): boolean => tested.includes(name);
  const tests = changed.filter(isTest).sort(byLength);
  const isVoid = (name: string): boolean => passesAlways(now[name]);
  const gone = Object.keys(old)
    .filter((name) => isTest(name) && now[name] === undefined)
    .sort(byLength);
  return [
    ...finding('void-test-script', [
      ...(tests.some(isVoid) ? [`${joinNames(tests.filter(isVoid), 3)} always passes`] : []),
      ...(gone.length > 0 ? [`${joinNames(gone, 3)} was removed`] : []),
    ]),
    ...finding('changed-test-script', wordsOfNames(tests.filter((name) => old[name] !== undefined && !isVoid(name)))),
    // Changed test scripts are reported above, so only new ones are reported here.
    ...finding(
      'script-by-itself',
      wordsOfNames([
        ...changed.filter((name) => (!isTest(name) || old[name] === undefined) && runsByItself(name, now)),
        ...installs,
      ]),
    ),
  ];
}

/** Returns the names of test scripts and of the scripts that they start. */
function testScripts(scripts: Scripts): readonly string[] {
  const names = Object.keys(scripts).filter((name) => TEST_SCRIPT.test(name));
  // The list grows while it is iterated, so the scripts that started scripts start are included.
  for (const name of names)
    for (const [, started = ''] of (scripts[name] ?? '').matchAll(STARTED_SCRIPT))
      if (Object.hasOwn(scripts, started) && !names.includes(started)) names.push(started);
  return names;
}

/** Parts of a manifest that test runners read, including the workspaces that a full test run visits. */
const TEST_SETTINGS = ['jest', 'vitest', 'mocha', 'ava', 'nyc', 'c8', 'tap', 'workspaces'];

/** Parts of a manifest from which tools make git hooks. */
const GIT_HOOKS = ['husky', 'simple-git-hooks', 'gitHooks', 'lint-staged', 'pre-commit'];

/** Parts of a manifest that let packages run their scripts on installation. */
const INSTALL_SCRIPTS = ['pnpm', 'trustedDependencies', 'allowScripts', 'lavamoat', 'dependenciesMeta', 'gypfile'];

function changedSettings(before: string | null, after: string, names: readonly string[]): readonly string[] {
  const [old, now] = [before ?? '{}', after].map(
    (text) => z.record(z.string(), z.unknown()).safeParse(tryJson(text)).data ?? {},
  );
  return names.filter((name) => JSON.stringify(old?.[name]) !== JSON.stringify(now?.[name]));
}

function finding(kind: FileFinding['kind'], words: readonly string[]): readonly FileFinding[] {
  return words.length === 0 ? [] : [{ kind, what: words.join('; ') }];
}

function wordsOfNames(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [joinNames(names, 3)];
}

/** Sorts `test` itself before its variants. */
function byLength(a: string, b: string): number {
  return a.length - b.length;
}

/** Describes the dependencies that a change adds or replaces with other versions; empty if there are none. */
function dependencyWords(before: string | null, after: string): string {
  const old = dependenciesOf(before ?? '{}');
  const now = dependenciesOf(after);
  const names = (isKnown: boolean) =>
    Object.keys(now).filter((name) => now[name] !== old[name] && Object.hasOwn(old, name) === isKnown);
  const [added, changed] = [names(false), names(true)];
  return [
    ...(added.length > 0 ? [`adds ${joinNames(added, 3)}`] : []),
    ...(changed.length > 0 ? [`other versions of ${joinNames(changed, 3)}`] : []),
  ].join('; ');
}

function dependenciesOf(text: string): Readonly<Record<string, string>> {
  const groups = Object.values(dependenciesSchema.safeParse(tryJson(text)).data ?? {});
  return Object.fromEntries(
    groups.flatMap((group) => Object.entries(group).map(([name, version]) => [name, JSON.stringify(version)] as const)),
  );
}

type Scripts = Readonly<Record<string, string>>;

function scriptsOf(text: string): Scripts | null {
  return manifestSchema.safeParse(tryJson(text)).data?.scripts ?? null;
}

function passesAlways(script: string | undefined): boolean {
  return script !== undefined && (script.trim() === '' || PASSES_ALWAYS.test(script));
}

/** Commands of npm whose pre and post scripts run even if there is no script with the command's name. */
const OWN_COMMANDS = [
  'install',
  'ci',
  'shrinkwrap',
  'dedupe',
  'rebuild',
  'update',
  'pack',
  'publish',
  'version',
  'test',
];

/** Returns true if a script runs without being called, for example before or after another script of the file. */
function runsByItself(name: string, scripts: Scripts): boolean {
  const [, of = ''] = /^(?:pre|post)(.+)$/.exec(name) ?? [];
  // npm also runs pre and post scripts of its own commands, even without a script of that name.
  return LIFECYCLE.test(name) || Object.hasOwn(scripts, of) || OWN_COMMANDS.includes(of);
}
