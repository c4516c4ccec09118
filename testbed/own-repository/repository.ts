import { rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseWorkflow } from '../../src/core/doctor/workflow.ts';
import { SETUP_PATHS } from '../../src/core/setup/files.ts';
import { parseYaml } from '../../src/yaml/parse.ts';
import { git, SAMPLE_ENVIRONMENT } from '../git.ts';

/** A person's repository to try the action on. It is only read. */
export interface OwnRepository {
  /** The top folder of the repository. */
  readonly folder: string;
  /** The checked-out branch, or an empty string if HEAD is detached. */
  readonly branch: string;
  readonly commit: string;
  /** Files of the set-up that differ from HEAD or are missing there. */
  readonly uncommitted: readonly string[];
}

/** A workflow file that uses the action. */
export interface OwnWorkflow {
  readonly path: string;
  readonly text: string;
}

/** The reason why a repository cannot be tried, as a sentence. */
export class NotPlayable extends Error {
  override readonly name = 'NotPlayable';
}

/** The files of `ralph init` and all workflows, which are tried in their uncommitted form. */
const SET_UP = [...Object.values(SETUP_PATHS), ':(glob).github/workflows/*.yml', ':(glob).github/workflows/*.yaml'];
const WORKFLOWS = '.github/workflows';
const USES_ACTION = /^\s*(?:-\s+)?uses:\s*['"]?[^/\s'"]+\/ralph-action@/m;

/** Opens the repository that contains `folder`; throws NotPlayable. */
export async function openRepository(folder: string): Promise<OwnRepository> {
  const shown = JSON.stringify(folder);
  if (!existsSync(folder)) throw new NotPlayable(`${shown} does not exist.`);
  const top = await own(folder, ['rev-parse', '--show-toplevel']).catch((error: unknown) => {
    throw new NotPlayable(`${shown} is not in a git checkout. (git says: ${lastWords(error)})`);
  });
  if (!(await own(top, ['rev-parse', '--quiet', '--verify', 'HEAD^{commit}']).catch(() => '')))
    throw new NotPlayable(`${shown} has no commit yet: commit something first.`);
  if ((await own(top, ['rev-parse', '--is-shallow-repository'])) === 'true')
    throw new NotPlayable(`${shown} is a shallow clone: run git fetch --unshallow in it first.`);
  const [branch, commit, changed, added] = await Promise.all([
    own(top, ['branch', '--show-current']),
    own(top, ['rev-parse', '--short', 'HEAD']),
    own(top, ['diff', '--name-only', '-z', 'HEAD', '--', ...SET_UP]),
    own(top, ['ls-files', '--others', '--exclude-standard', '-z', '--', ...SET_UP]),
  ]);
  return { folder: top, branch, commit, uncommitted: `${changed}${added}`.split('\0').filter(Boolean) };
}

/**
 * Copies the repository's HEAD to `main` of a bare repository, and to the person's branch, which a workflow may name.
 */
export async function copyRepository(repository: OwnRepository, bare: string): Promise<void> {
  await copyHead(repository, bare);
  if (repository.branch !== '') await git(bare, ['update-ref', `refs/heads/${repository.branch}`, 'main']);
}

/** Copies HEAD of a person's repository and adds one commit with the uncommitted files of the set-up. */
async function copyHead({ folder, uncommitted }: OwnRepository, bare: string): Promise<void> {
  await git(bare, ['fetch', '--quiet', '--no-tags', folder, '+HEAD:refs/heads/main'], { env: ownEnvironment() });
  if (uncommitted.length === 0) return;
  const index = join(bare, 'index-of-the-set-up');
  const env = { ...ownEnvironment(), GIT_DIR: bare, GIT_WORK_TREE: folder, GIT_INDEX_FILE: index };
  await git(folder, ['read-tree', 'main'], { env });
  await git(folder, ['--literal-pathspecs', 'add', '--all', '--force', '--', ...uncommitted], { env });
  const tree = await git(folder, ['write-tree'], { env });
  await rm(index);
  const commit = await git(bare, ['commit-tree', tree, '-p', 'main', '-m', 'Set up Ralph']);
  await git(bare, ['update-ref', 'refs/heads/main', commit]);
}

/** Returns the workflows of `main` that use the action, `ralph.yml` first; throws NotPlayable if none. */
export async function readWorkflows(bare: string): Promise<readonly [OwnWorkflow, ...OwnWorkflow[]]> {
  const listed = await git(bare, ['ls-tree', '-z', '--name-only', 'main', `${WORKFLOWS}/`]);
  const paths = listed.split('\0').filter((path) => /\.ya?ml$/.test(path));
  const all = await Promise.all(paths.map(async (path) => ({ path, text: await git(bare, ['show', `main:${path}`]) })));
  const isUsual = ({ path }: OwnWorkflow): boolean => path === SETUP_PATHS.workflow;
  const [first, ...others] = all
    .filter(({ path, text }) => USES_ACTION.test(text) || parsesAsOurs(path, text))
    .sort((one, other) => Number(isUsual(other)) - Number(isUsual(one)));
  if (first === undefined)
    throw new NotPlayable(`No workflow in ${WORKFLOWS}/ uses ralph-action: run ralph init in the repository first.`);
  return [first, ...others];
}

function parsesAsOurs(path: string, text: string): boolean {
  const parsed = parseYaml(text);
  return parsed.kind === 'data' && parseWorkflow(path, parsed.data) !== null;
}

function own(folder: string, args: readonly string[]): Promise<string> {
  return git(folder, ['--no-optional-locks', ...args], { env: ownEnvironment() });
}

/**
 * Returns the person's environment, which decides which repositories git may read, without the variables that point git
 * to another repository.
 */
function ownEnvironment(): Record<string, string> {
  const isKept = (name: string): boolean => !/^GIT_(?!CONFIG)/.test(name);
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || !isKept(name) ? [] : [[name, value] as const],
  );
  const sample = Object.entries(SAMPLE_ENVIRONMENT).filter(([name]) => !name.startsWith('GIT_CONFIG'));
  return Object.fromEntries([...kept, ...sample]);
}

/** Returns git's message without the command. */
function lastWords(error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  return said.replace(/^git .*? exited with code \d+: /, '').trim();
}
