import { SETUP_PATHS } from './files.ts';
import { detectedLanguages } from './languages.ts';
import { parseJsonManifest } from './manifests.ts';
import { hasServices, parsePresentWorkflow } from './by-hand.ts';
import { listPullRequestWorkflows } from './ci/events.ts';
import { parseCheckingJobs, PLAIN_FOLDER } from './ci/jobs.ts';
import { proposeFromCi, listUnreadTests, toolPattern } from './ci/propose.ts';
import { hasInitMark } from './ownership.ts';
import type { RepositoryListing, OtherRalph, ProjectFolder, Project, Stack, WorkspacePackage } from './project.ts';
import { makeLanguage, rootBuilds } from './root-builds.ts';
import { detectStack } from './stack.ts';
import { isRootPlan, ROOT_PLAN, taskFilePaths } from '../tasks/files/form/root-plan.ts';
import { getFileName } from '../text/glob.ts';

/** Files that are read because their content is needed. */
const READ_NAMES: readonly string[] = [
  ...[...detectedLanguages, makeLanguage].flatMap(({ by, reads = [] }) => [...by, ...reads]),
  '.tool-versions',
];
const MAX_READ = 100;
const MAX_WATCHED = 10;
const MAX_FOLDERS = 8;
const MAX_DEPTH = 3;
const NOT_OURS =
  /(?:^|\/)(?:node_modules|vendor|third_party|\.[^/]+|fixtures?|testdata|examples?|samples?|templates?|dist)(?:\/|$)/i;

const OWN_WORKFLOW = SETUP_PATHS.workflow;

const packageMarks: readonly string[] = ['pnpm-workspace.yaml', 'nx.json', 'turbo.json', 'lerna.json', 'go.work'];

const otherRalphs: readonly OtherRalph[] = [
  { name: 'snarktank/ralph', path: 'scripts/ralph/prd.json', advice: 'Runs read it as it is.' },
  { name: 'snarktank/ralph', path: 'prd.json', advice: 'Runs read it as it is.' },
  { name: 'ralph-claude-code', path: '.ralphrc', advice: 'Runs read its settings.' },
  { name: 'ralph-claude-code', path: '@fix_plan.md', advice: 'Runs read it as the plan.' },
  { name: 'ralph-claude-code', path: '@AGENT.md', advice: 'Runs point the agent to it.' },
  { name: 'bmalph', path: '.ralph/.ralphrc', advice: 'Runs read its settings.' },
  { name: 'bmalph', path: '.ralph/@fix_plan.md', advice: 'Runs read it as the plan.' },
  { name: 'bmalph', path: '.ralph/@AGENT.md', advice: 'Runs point the agent to it.' },
  { name: 'wiggum', path: '.ralph/config.json', advice: 'Runs use its steps.' },
  {
    name: 'wiggum',
    path: '.ralph/prompts/LOOP_PROMPT.md',
    advice: 'Runs use it as the prompt, unless there is a PROMPT.md.',
  },
];

/** The first Ralph's plan, which is recognized only next to other files of that Ralph. */
const EARLIEST: OtherRalph = { name: 'the first Ralph in bash', path: ROOT_PLAN, advice: 'Runs read it as the plan.' };

/** Paths of the loop of snarktank/ralph; other projects have scripts of this name, too. */
const LOOP_SCRIPTS: readonly string[] = ['scripts/ralph/ralph.sh', 'ralph.sh'];
const IS_LOOP = /\bprd\.json\b[^]*(?:<promise>COMPLETE<\/promise>|\s--dangerously-)/;

/** Paths at which a run looks for the repository's own prompt; the first one is used. */
const PROMPTS: readonly string[] = ['.ralph/PROMPT.md', 'PROMPT.md'];

/** Files that are read only at these paths, because their names may be common elsewhere. */
const READ_PATHS: readonly string[] = [
  OWN_WORKFLOW,
  ...PROMPTS,
  ...LOOP_SCRIPTS,
  ...rootBuilds.flatMap(({ by }) => by),
];

/**
 * Returns the files of a repository to read before `detectProject`, the most important first, up to a maximum number.
 */
export function selectFilesToRead(paths: readonly string[]): readonly string[] {
  const wanted = paths.filter(
    (path) =>
      isOfCi(path) || READ_PATHS.includes(path) || (isOurs(path) && matchesFileName(getFileName(path), READ_NAMES)),
  );
  const rank = (path: string): number => (isOfCi(path) ? 0 : depthOf(path));
  return wanted.sort((a, b) => rank(a) - rank(b) || compare(a, b)).slice(0, MAX_READ);
}

/** Detects the project in a repository from its paths and the texts that were read. */
export function detectProject(listing: RepositoryListing): Project {
  const known = new Set(listing.paths.flatMap((path) => withFolders(path).slice(0, MAX_DEPTH + 2)));
  const found = detectedLanguages.flatMap((language) => {
    const places = shallowestFolders(listing.paths, language.by).map((folder) => placeAt(folder, listing, known));
    return places.flatMap((place) => detectStack(language, place, places) ?? []);
  });
  const root = placeAt('', listing, known);
  const builds = found.some(({ folder }) => folder === '')
    ? []
    : [...rootBuilds, ...(found.length > 0 ? [] : [makeLanguage])];
  const [build] = builds.flatMap((one) => detectStack(one, root, [root]) ?? []);
  const guessed = build === undefined ? found : [build, ...found];
  const others = [...listing.texts].filter(
    ([path, text]) => isWorkflow(path) && parsePresentWorkflow(text).kind === 'another',
  );
  const jobs = parseCheckingJobs(
    others.map(([path]) => path),
    listing.texts,
  );
  const learned = proposeFromCi(
    jobs.filter(({ system }) => system === 'Linux'),
    guessed,
  );
  const stacks = guessed.map((stack) => {
    const byFolder = learned?.byFolder.get(stack.folder);
    const { lint = null, ...commands } = byFolder ?? {};
    const others = guessed.filter(({ folder }) => folder === stack.folder);
    const tested = others.find(({ packageManager }) => toolPattern(packageManager).test(byFolder?.test ?? ''));
    return (tested ?? others[0]) === stack ? { ...stack, ...commands, lint: lint ?? stack.lint } : stack;
  });
  const by = packageMarks.filter((name) => known.has(name));
  const text = (path: string): string => listing.texts.get(path) ?? '';
  if (/"workspaces"\s*:/.test(text('package.json'))) by.push('package.json');
  if (/^\[workspace\]/m.test(text('Cargo.toml'))) by.push('Cargo.toml');
  const isSpread = new Set(stacks.map(({ folder }) => folder)).size > 1;
  return {
    stacks,
    layout: by.length > 0 ? { kind: 'packages', by } : { kind: isSpread ? 'services' : 'single' },
    otherRalphs: ralphsIn(known, text),
    taskFiles: [...taskFilePaths.plan, ...taskFilePaths.prd].filter(
      (path) => known.has(path) && (path !== ROOT_PLAN || isRootPlan([...known])),
    ),
    unreadable: [...listing.texts].flatMap(([path, text]) =>
      isPackageManifest(path) && parseJsonManifest(getFileName(path), text) === null ? [path] : [],
    ),
    ralphWorkflow: ralphWorkflowIn(listing),
    workflows: listing.paths.filter(isWorkflow).slice(0, 20),
    ci: others.flatMap(([path, text]) => listPullRequestWorkflows(path, text)).slice(0, MAX_WATCHED),
    learned,
    unread: learned === null ? listUnreadTests(jobs) : learned.unread,
    submodules: known.has('.gitmodules') ? (learned === null ? 'recursive' : learned.submodules) : null,
    packages: by.length > 0 ? listWorkspacePackages(stacks, listing.texts) : [],
    withServices: [...listing.texts].flatMap(([path, text]) => (isWorkflow(path) && hasServices(text) ? [path] : [])),
  };
}

function ralphWorkflowIn({ texts }: RepositoryListing): string {
  const found = [...texts].flatMap(([path, text]) =>
    (path === OWN_WORKFLOW || isWorkflow(path)) && parsePresentWorkflow(text).kind === 'ralph' ? [path] : [],
  );
  return found.includes(OWN_WORKFLOW) ? OWN_WORKFLOW : (found[0] ?? OWN_WORKFLOW);
}

function isPackageManifest(path: string): boolean {
  return ['package.json', 'composer.json'].includes(getFileName(path));
}

/**
 * Returns the files of other Ralphs. If one is found, the prompt counts as its prompt, unless init wrote the prompt.
 */
function ralphsIn(known: ReadonlySet<string>, text: (path: string) => string): readonly OtherRalph[] {
  const loops = LOOP_SCRIPTS.filter((path) => IS_LOOP.test(text(path))).map((path) => ({
    name: 'snarktank/ralph',
    path,
    advice: 'The workflow replaces it: delete it when you no longer use it.',
  }));
  const earliest = known.has(ROOT_PLAN) && isRootPlan([...known]) ? [EARLIEST] : [];
  const found = [...otherRalphs.filter(({ path }) => known.has(path)), ...earliest, ...loops];
  const prompt = PROMPTS.find((path) => known.has(path)) ?? '';
  const name = found[0]?.name ?? '';
  if (prompt === '' || name === '' || hasInitMark(text(prompt))) return found;
  const advice = 'Runs use it instead of the built-in prompt: keep only what is about your project, or delete it.';
  return [...found, { name, path: prompt, advice }];
}

/** Returns the folders with a file of these names: only the root if it has one, otherwise the shallowest. */
function shallowestFolders(paths: readonly string[], names: readonly string[]): readonly string[] {
  const folders = new Set(
    paths.filter((path) => isOurs(path) && matchesFileName(getFileName(path), names)).map(folderOf),
  );
  if (folders.has('')) return [''];
  return [...folders]
    .filter((folder) => PLAIN_FOLDER.test(folder))
    .filter((folder) => ![...folders].some((other) => folder.startsWith(`${other}/`)))
    .sort((a, b) => depthOf(a) - depthOf(b) || compare(a, b))
    .slice(0, MAX_FOLDERS);
}

/** Returns true if `names` contains the file's name, or its ending in the form `*.x`. */
function matchesFileName(name: string, names: readonly string[]): boolean {
  return names.includes(name) || names.includes(`*${name.slice(name.lastIndexOf('.'))}`);
}

function placeAt(folder: string, { texts, executable }: RepositoryListing, known: ReadonlySet<string>): ProjectFolder {
  const at = (name: string): string => (folder === '' ? name : `${folder}/${name}`);
  return {
    folder,
    has: (name) => known.has(at(name)),
    isExecutable: (name) => executable.includes(at(name)),
    ending: (end) => {
      for (const path of known) if (path.endsWith(end) && folderOf(path) === folder) return getFileName(path);
      return null;
    },
    text: (name) => texts.get(at(name)) ?? '',
    versionInWorkflows: (key) => {
      const pattern = new RegExp(`^[\\s-]*${key}:\\s*['"]?(\\d[\\w.]{0,10}|lts/\\*)['"]?\\s*$`, 'm');
      for (const [path, text] of texts) {
        const version = isWorkflow(path) ? pattern.exec(text)?.[1] : undefined;
        if (version !== undefined) return version;
      }
      return null;
    },
  };
}

function isWorkflow(path: string): boolean {
  return path !== OWN_WORKFLOW && /^\.github\/workflows\/[^/]+\.ya?ml$/.test(path);
}

/** Returns true if a path is a workflow, or an action of the repository that a workflow may use. */
function isOfCi(path: string): boolean {
  return isWorkflow(path) || /^\.github\/(?:[^/]+\/){0,4}action\.ya?ml$/.test(path);
}

function isOurs(path: string): boolean {
  return depthOf(path) <= MAX_DEPTH && !NOT_OURS.test(folderOf(path));
}

/** Returns a path and all folders above it. */
function withFolders(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

function depthOf(path: string): number {
  return path.split('/').length - 1;
}

function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

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
function listWorkspacePackages(
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
