import { z } from 'zod';
import { extractCode } from '../../analysis/markdown-code.ts';
import type { Immutable } from '../../policy.ts';
import { isLockFile } from '../../review/test-files.ts';
import { getFileName } from '../../text/glob.ts';

/** The programs that can regenerate a lock file. */
export const LOCK_TOOLS = [
  ...(['npm', 'yarn', 'pnpm', 'bun', 'deno', 'cargo', 'poetry', 'uv', 'pdm', 'pipenv', 'bundle'] as const),
  ...(['composer', 'go', 'mix', 'dart', 'pod', 'swift', 'dotnet', 'nix'] as const),
] as const;

export type LockTool = (typeof LOCK_TOOLS)[number];

/** The command that regenerates a lock file. */
interface LockCommand {
  readonly tool: LockTool;
  /** The command for bash, run in the file's folder. */
  readonly words: string;
}

/** A lock file with the command that regenerates it; `path` and `folder` are relative to the repository root. */
export interface LockFileToRegenerate extends LockCommand {
  readonly path: string;
  readonly folder: string;
}

/** Maximum number of lock files that are regenerated in one merge; the agent resolves the others. */
const MAX_LOCK_FILES = 20;

/** Maximum length of a lock file's path; the agent resolves a lock file with a longer one. */
const MAX_LOCK_PATH_CHARS = 200;

/**
 * The command for Yarn, which depends on its version: Yarn 1 and newer versions disable scripts with different options.
 */
const YARN =
  'case "$(yarn --version)" in 1.*) yarn install --ignore-scripts --non-interactive ;; *) yarn install --mode=update-lockfile ;; esac';

/**
 * The command for each lock file name. A command is a fixed text that no file influences; it keeps locked versions and,
 * as far as the tool allows, runs no scripts.
 */
const COMMANDS: ReadonlyMap<string, LockCommand> = new Map(
  (
    [
      ['package-lock.json', 'npm', 'npm install --package-lock-only --ignore-scripts --no-audit --no-fund'],
      ['npm-shrinkwrap.json', 'npm', 'npm install --package-lock-only --ignore-scripts --no-audit --no-fund'],
      ['yarn.lock', 'yarn', YARN],
      ['pnpm-lock.yaml', 'pnpm', 'pnpm install --lockfile-only --ignore-scripts --no-frozen-lockfile'],
      ['bun.lock', 'bun', 'bun install --lockfile-only --ignore-scripts'],
      ['bun.lockb', 'bun', 'bun install --lockfile-only --ignore-scripts'],
      ['deno.lock', 'deno', 'deno install'],
      ['Cargo.lock', 'cargo', 'cargo update --workspace'],
      ['poetry.lock', 'poetry', 'poetry lock --no-interaction'],
      ['uv.lock', 'uv', 'uv lock'],
      ['pdm.lock', 'pdm', 'pdm lock --update-reuse'],
      ['Pipfile.lock', 'pipenv', 'pipenv lock'],
      ['Gemfile.lock', 'bundle', 'bundle lock'],
      [
        'composer.lock',
        'composer',
        'composer update --minimal-changes --no-install --no-scripts --no-plugins --no-interaction',
      ],
      ['go.sum', 'go', 'go mod tidy'],
      ['mix.lock', 'mix', 'mix deps.get'],
      ['pubspec.lock', 'dart', 'dart pub get'],
      ['Podfile.lock', 'pod', 'pod install'],
      ['Package.resolved', 'swift', 'swift package resolve'],
      ['packages.lock.json', 'dotnet', 'dotnet restore --force-evaluate'],
      ['flake.lock', 'nix', 'nix flake lock'],
    ] as const
  ).map(([name, tool, words]) => [name, { tool, words }]),
);

/** Returns each lock file name among the paths once, with the command that regenerates the file. */
export function listLockCommands(paths: readonly string[]): readonly (readonly [name: string, words: string])[] {
  return [...new Set(paths.map(getFileName))].flatMap((name) => {
    const command = COMMANDS.get(name);
    return command === undefined ? [] : [[name, command.words] as const];
  });
}

/** Returns the lock files whose tool is among `named`, with the commands that regenerate them. */
export function selectLockFiles(paths: readonly string[], named: readonly LockTool[]): readonly LockFileToRegenerate[] {
  return paths
    .flatMap((path) => {
      const command = path.length > MAX_LOCK_PATH_CHARS ? undefined : COMMANDS.get(getFileName(path));
      if (command === undefined || !named.includes(command.tool)) return [];
      return [{ ...command, path, folder: path.slice(0, Math.max(0, path.lastIndexOf('/'))) }];
    })
    .slice(0, MAX_LOCK_FILES);
}

/** Maximum number of characters searched for the names of tools. */
const MAX_NAMING_CHARS = 64 * 1024;

/** Returns the tools that shell commands call. */
export function findCalledTools(commands: string): readonly LockTool[] {
  const called = new Set<string>(commands.slice(0, MAX_NAMING_CHARS).split(COMMAND_END).map(programOf));
  return LOCK_TOOLS.filter((tool) => called.has(tool));
}

/** Returns the tools that a Markdown text calls in its code. */
export function findNamedTools(markdown: string): readonly LockTool[] {
  return findCalledTools(extractCode(markdown.slice(0, MAX_NAMING_CHARS)));
}

const COMMAND_END = /\r\n?|\n|&&|\|\||[;|&(){}`]/;

/** Matches text that may precede a program: a prompt, keywords, variables, and programs that run another program. */
const BEFORE_PROGRAM =
  /^(?:\s*(?:[$>%!-](?=\s)|(?:if|then|else|elif|do|while|until|time|exec|command|env|sudo|corepack)(?=\s)|[A-Za-z_]\w*=[^\s"']*(?=\s)))*\s*/;

function programOf(command: string): string {
  return /^[\w.+-]+(?=\s|$)/.exec(command.replace(BEFORE_PROGRAM, ''))?.[0] ?? '';
}

/** The results of regenerating a lock file. All but `made` leave the file unchanged. */
const lockResults = ['made', 'missing', 'failed', 'timeout', 'cancelled', 'marked', 'elsewhere', 'withheld'] as const;

const lockFileSchema = z.object({
  path: z.string().max(MAX_LOCK_PATH_CHARS).refine(isLockFile),
  tool: z.enum(LOCK_TOOLS),
  result: z.enum(lockResults),
});

export const lockFilesSchema = z.array(lockFileSchema).max(MAX_LOCK_FILES);

/** A lock file that conflicted, with the result of regenerating it. */
export type LockFile = Immutable<z.infer<typeof lockFileSchema>>;

export type LockResult = LockFile['result'];

/** Returns the result for one lock file as a sentence part in which `backticks` mark code. */
export function describeLockFile({ path, tool, result }: LockFile): string {
  const file = `\`${path.replaceAll('`', "'")}\``;
  return result === 'made'
    ? `\`${tool}\` regenerated ${file}`
    : `\`${tool}\` ${WHY[result]}, so it did not regenerate ${file}`;
}

const WHY: Readonly<Record<Exclude<LockResult, 'made'>, string>> = {
  missing: 'is not installed here',
  failed: 'failed',
  timeout: 'did not end in time',
  cancelled: 'was cancelled with the run',
  marked: 'left conflict markers',
  elsewhere: 'changed more than the lock file',
  withheld: 'wrote content that must not be published',
};
