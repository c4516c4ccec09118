import { z } from 'zod';
import { firstNames } from '../text/lists.ts';
import { tryJson } from '../text/try-json.ts';

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

/** Scripts that package managers run by themselves. */
const LIFECYCLE =
  /^(?:(?:pre|post)?(?:install|uninstall|pack|publish|prepare|version|update|restart|start|stop)|prepublishOnly|dependencies)$/;
const TEST_SCRIPT = /^(?:pre|post)?test(?::|$)/;
const PASSES_ALWAYS =
  /^\s*(?:(?:true|:|exit\s+0|echo\b[^&|;]*)\s*(?:&&|;|$)\s*)+$|(?:\|\||;)\s*(?:true|:|exit\s+0)\s*$/;

/** What a change of a package.json does beyond its dependencies, as reasons to look at it. null: the file is not there. */
export function manifestReasons(before: string | null, after: string | null): readonly string[] {
  if (after === null) return [];
  const old = scriptsOf(before ?? '{}') ?? {};
  const now = scriptsOf(after);
  if (now === null) return ['its scripts cannot be read'];
  const changed = Object.keys(now).filter((name) => now[name] !== old[name]);
  const gone = Object.keys(old).filter((name) => now[name] === undefined);
  return [
    ...changed.filter((name) => isTest(name) && passesAlways(now[name])).map((name) => `script ${name} always passes`),
    ...gone.filter(isTest).map((name) => `script ${name} was removed`),
    ...changed
      .filter((name) => isTest(name) && old[name] !== undefined && !passesAlways(now[name]))
      .map((name) => `script ${name} was changed`),
    ...changed
      .filter((name) => !isTest(name) && runsByItself(name, now))
      .map((name) => `script ${name} runs by itself`),
  ];
}

/** Which dependencies a change of a package.json adds, or takes from elsewhere, as a reason to look at it. */
export function dependencyReasons(before: string | null, after: string | null): readonly string[] {
  if (after === null) return [];
  const old = dependenciesOf(before ?? '{}');
  const now = dependenciesOf(after);
  const names = (isKnown: boolean) =>
    Object.keys(now).filter((name) => now[name] !== old[name] && Object.hasOwn(old, name) === isKnown);
  const [added, changed] = [names(false), names(true)];
  return [
    ...(added.length > 0
      ? [`it adds ${added.length === 1 ? 'a dependency' : 'dependencies'}: ${firstNames(added, 3)}`]
      : []),
    ...(changed.length > 0 ? [`other versions of ${firstNames(changed, 3)}`] : []),
  ];
}

function dependenciesOf(text: string): Readonly<Record<string, string>> {
  const found = Object.values(dependenciesSchema.safeParse(tryJson(text)).data ?? {});
  return Object.fromEntries(
    found.flatMap((group) => Object.entries(group).map(([name, version]) => [name, JSON.stringify(version)] as const)),
  );
}

function scriptsOf(text: string): Readonly<Record<string, string>> | null {
  return manifestSchema.safeParse(tryJson(text)).data?.scripts ?? null;
}

function isTest(name: string): boolean {
  return TEST_SCRIPT.test(name);
}

function passesAlways(script: string | undefined): boolean {
  return script !== undefined && (script.trim() === '' || PASSES_ALWAYS.test(script));
}

/** Also what runs before or behind another script of the file. */
function runsByItself(name: string, scripts: Readonly<Record<string, string>>): boolean {
  const [, of = ''] = /^(?:pre|post)(.+)$/.exec(name) ?? [];
  return LIFECYCLE.test(name) || Object.hasOwn(scripts, of);
}
