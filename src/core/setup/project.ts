import type { YamlMap } from './ci/yaml-data.ts';

/** What runs in one folder of a repository: a language, and how it is installed, built and tested. */
export interface Stack {
  readonly language: string;
  /** `''`: the whole repository. */
  readonly folder: string;
  readonly packageManager: string;
  readonly frameworks: readonly string[];
  readonly install: string | null;
  readonly build: string | null;
  readonly test: string | null;
  readonly lint: string | null;
  /** Steps of a workflow that bring the tools, as lines of YAML. */
  readonly setup: readonly string[];
  /** Programs that the commands start. */
  readonly programs: readonly string[];
  /** What installing and building leave in the folder. */
  readonly leaves: readonly string[];
}

/** Another Ralph that a repository is set up for, and what to do with its files. */
export interface OtherRalph {
  readonly name: string;
  readonly path: string;
  readonly advice: string;
}

/** A line of CI that init does not propose, and the reason. */
export interface Unread {
  readonly what: string;
  readonly why: string;
}

/** What a repository's own CI says about building and testing it. */
export interface CiProposal {
  /** Jobs that the proposal comes from, as `.github/workflows/ci.yml (test)`. */
  readonly from: readonly string[];
  /** Steps of a workflow that bring the tools and the packages, as lines of YAML. */
  readonly setup: readonly string[];
  /** Commands that CI runs to test a change, with what must run before them. */
  readonly verify: readonly string[];
  /** Other checks of CI that could be added to `verify`. */
  readonly offered: readonly string[];
  /** Programs that these commands start. */
  readonly programs: readonly string[];
  readonly unread: readonly Unread[];
  readonly services: YamlMap;
  /** Null: CI checks out without submodules. */
  readonly submodules: 'true' | 'recursive' | null;
  /** Commands by folder, as stacks name them. */
  readonly byFolder: ReadonlyMap<string, Pick<Stack, 'install' | 'build' | 'test' | 'lint'>>;
}

/** A package of a monorepo, and the commands that build and test it alone, from the root. */
export interface WorkspacePackage {
  readonly folder: string;
  readonly name: string;
  readonly commands: readonly (readonly [string, string])[];
}

/** What init knows about a repository. */
export interface Project {
  readonly stacks: readonly Stack[];
  /** `packages`: one build covers several; `services`: each folder has its own. `by` is the file that says so. */
  readonly layout:
    | { readonly kind: 'single' | 'services' }
    | { readonly kind: 'packages'; readonly by: readonly string[] };
  readonly otherRalphs: readonly OtherRalph[];
  /** Task files that runs read as they are. */
  readonly taskFiles: readonly string[];
  /** Files that should say which commands there are, and cannot be read. */
  readonly unreadable: readonly string[];
  /** The workflow that uses the action: the one of init, unless another is there. */
  readonly ralphWorkflow: string;
  /** Other workflows. */
  readonly workflows: readonly string[];
  /** Names of those of them that check a pull request. */
  readonly ci: readonly string[];
  /** What they say about building and testing; null: none has a test that can be repeated. */
  readonly learned: CiProposal | null;
  /** Lines of theirs that could be tests and are not proposed. */
  readonly unread: readonly Unread[];
  /** What checking out needs; null: no submodules. */
  readonly submodules: 'true' | 'recursive' | null;
  readonly packages: readonly WorkspacePackage[];
  /** Those of them that start services, such as a database. */
  readonly withServices: readonly string[];
}

/** Paths of a repository, relative to it, and the texts of those that `filesToRead` names. */
export interface Listing {
  readonly paths: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
  /** Those of `wrappers` that can be started as they are. */
  readonly executable: readonly string[];
}

/** Names of programs that projects bring along, and whose permission to be executed is easily lost. */
export const wrappers: readonly string[] = ['gradlew', 'mvnw'];

/** A folder as the detection of one language sees it. */
export interface Place {
  readonly folder: string;
  has(name: string): boolean;
  /** Whether one of `wrappers` can be started as it is. */
  isExecutable(name: string): boolean;
  /** The first file whose name ends so; null: there is none. */
  ending(end: string): string | null;
  /** `''` when it is absent or was not read. */
  text(name: string): string;
  /** The first plain version that another workflow sets up, such as `20` for `node-version`; null: none. */
  versionInWorkflows(key: string): string | null;
}

/** The first of `names` that the folder holds. */
export function firstOf(place: Place, names: readonly string[]): string | null {
  return names.find((name) => place.has(name)) ?? null;
}

/** The file of this name in the folder, or the first one that ends with what stands behind `*`; null: there is none. */
export function fileIn(place: Place, name: string): string | null {
  if (name.startsWith('*')) return place.ending(name.slice(1));
  return place.has(name) ? name : null;
}

/** The path of a file of the place, from the root of the repository. */
export function pathIn({ folder }: Place, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** A step that uses an action, as lines of YAML; an empty input is left out. Values are ours, or of a narrow alphabet. */
export function uses(action: string, inputs: Readonly<Record<string, string>>): readonly string[] {
  const given = Object.entries(inputs).flatMap(([name, value]) => (value === '' ? [] : [`    ${name}: ${value}`]));
  return [`- uses: ${action}`, ...(given.length === 0 ? [] : ['  with:', ...given])];
}
