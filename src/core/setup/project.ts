import type { YamlMap } from './ci/yaml-data.ts';

/** A language in a folder of a repository, with the commands that install, build and test it. */
export interface Stack {
  readonly language: string;
  /** The folder; `''` is the whole repository. */
  readonly folder: string;
  readonly packageManager: string;
  readonly frameworks: readonly string[];
  readonly install: string | null;
  readonly build: string | null;
  readonly test: string | null;
  readonly lint: string | null;
  /** The steps of a workflow that install the tools, as lines of YAML. */
  readonly setup: readonly string[];
  /** The programs that the commands start. */
  readonly programs: readonly string[];
  /** Hosts that the commands download from, besides the registries that runs allow. */
  readonly hosts: readonly string[];
  /** Files that installing and building leave in the folder. */
  readonly leaves: readonly string[];
}

/** Another Ralph that a repository is set up for, and what to do with its files. */
export interface OtherRalph {
  readonly name: string;
  readonly path: string;
  readonly advice: string;
}

/** A line of CI that init does not propose, and the reason. */
export interface UnreadLine {
  readonly what: string;
  readonly why: string;
}

/** The set-up and the commands of a repository's own CI. */
export interface CiProposal {
  /** The jobs that the proposal comes from, as `.github/workflows/ci.yml (test)`. */
  readonly from: readonly string[];
  /** The steps of a workflow that install the tools and the packages, as lines of YAML. */
  readonly setup: readonly string[];
  /** The commands that CI runs to test a change, with the commands that must run before them. */
  readonly verify: readonly string[];
  /** Other checks of CI that could be added to `verify`. */
  readonly offered: readonly string[];
  /** The programs that these commands start. */
  readonly programs: readonly string[];
  /** The variables that `verify` reads from the job. */
  readonly variables: readonly string[];
  readonly unread: readonly UnreadLine[];
  readonly services: YamlMap;
  /** The kind of submodules that CI checks out, or null if it checks out none. */
  readonly submodules: 'true' | 'recursive' | null;
  /** The commands by folder, as in a stack. */
  readonly byFolder: ReadonlyMap<string, Pick<Stack, 'install' | 'build' | 'test' | 'lint'>>;
}

/** A package of a monorepo, and the commands that build and test it alone, from the root. */
export interface WorkspacePackage {
  readonly folder: string;
  readonly name: string;
  readonly commands: readonly (readonly [string, string])[];
}

/** The facts that init knows about a repository. */
export interface Project {
  readonly stacks: readonly Stack[];
  /**
   * The relation of the stacks: with `packages`, one build covers several; with `services`, each folder has its own.
   * `by` lists the files that show it.
   */
  readonly layout:
    | { readonly kind: 'single' | 'services' }
    | { readonly kind: 'packages'; readonly by: readonly string[] };
  readonly otherRalphs: readonly OtherRalph[];
  /** Task files that runs read as they are. */
  readonly taskFiles: readonly string[];
  /** Files that should contain commands, but cannot be read. */
  readonly unreadable: readonly string[];
  /** Path of the workflow that uses the action; init's own path if no workflow uses it. */
  readonly ralphWorkflow: string;
  /** Paths of all other workflows. */
  readonly workflows: readonly string[];
  /** Names of the other workflows that check pull requests. */
  readonly ci: readonly string[];
  /** The proposal from the other workflows; null if they have no test that can be repeated. */
  readonly learned: CiProposal | null;
  /** Lines of the other workflows that could be tests and are not proposed. */
  readonly unread: readonly UnreadLine[];
  /** The submodules that a checkout needs, or null if none. */
  readonly submodules: 'true' | 'recursive' | null;
  readonly packages: readonly WorkspacePackage[];
  /** The workflows that start services, such as a database. */
  readonly withServices: readonly string[];
}

/** Paths of a repository, relative to it, and the texts of those that `selectFilesToRead` returns. */
export interface RepositoryListing {
  readonly paths: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
  /** The files among `wrapperNames` that are executable. */
  readonly executable: readonly string[];
}

/** Names of programs that projects contain and that often lose their permission to be executed. */
export const wrapperNames: readonly string[] = ['gradlew', 'mvnw'];

/** A folder as the detection of one language sees it. */
export interface ProjectFolder {
  readonly folder: string;
  has(name: string): boolean;
  /** True if one of `wrapperNames` is executable. */
  isExecutable(name: string): boolean;
  /** Returns the first file whose name ends in this way; null if none. */
  ending(end: string): string | null;
  /** Returns the text of a file; `''` if it does not exist or was not read. */
  text(name: string): string;
  /**
   * Returns the first plain version that another workflow sets up, such as `20` for `node-version`; null if
   * none.
   */
  versionInWorkflows(key: string): string | null;
}

/** Returns the first of `names` that the folder contains; null if it contains none. */
export function findFirstName(place: ProjectFolder, names: readonly string[]): string | null {
  return names.find((name) => place.has(name)) ?? null;
}

/**
 * Returns the file of this name in the folder, or the first that ends with the text after `*`; null if none.
 */
export function findProjectFile(place: ProjectFolder, name: string): string | null {
  if (name.startsWith('*')) return place.ending(name.slice(1));
  return place.has(name) ? name : null;
}

/** Returns the path of a file of the place, relative to the root of the repository. */
export function joinPlacePath({ folder }: ProjectFolder, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** Returns a step that uses an action, as lines of YAML without empty inputs. Values must be safe as plain YAML. */
export function buildUsesStep(action: string, inputs: Readonly<Record<string, string>>): readonly string[] {
  const given = Object.entries(inputs).flatMap(([name, value]) => (value === '' ? [] : [`    ${name}: ${value}`]));
  return [`- uses: ${action}`, ...(given.length === 0 ? [] : ['  with:', ...given])];
}
