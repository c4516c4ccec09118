import { createHash } from 'node:crypto';
import { access, constants, readFile, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join, dirname } from 'node:path';
import { SETUP_PATHS } from '../core/setup/files.ts';
import { wrapperNames } from '../core/setup/project.ts';
import type { SetupWorld } from '../cli/setup/setup-world.ts';
import { hasColours } from '../cli/terminal-text.ts';
import type { Git } from '../git/git.ts';
import { findCheckout, readFirstLine } from '../git/home/person-checkout.ts';
import { UserError } from '../errors.ts';
import { repositoryOfRemote } from '../git/names.ts';
import { z } from 'zod';

/** Opens the world of `ralph init`; `packageRoot` is the folder of action.yml and templates/. */
export async function openSetup(packageRoot: URL): Promise<SetupWorld> {
  const isAnswered = process.stdin.isTTY && process.stdout.isTTY;
  return {
    openCheckout: openSetupCheckout,
    packageFile: (path) => readFile(new URL(path, packageRoot), 'utf8'),
    digest: (text) => createHash('sha256').update(text).digest('hex'),
    home: async () => (await findInstallSource(packageRoot))?.repository ?? (await cloneHome(packageRoot)),
    tryVerify: async ({ folder, commands }, log) => {
      const trial = await (
        await import('./doctor/examine.ts')
      ).tryCommands(folder, { commands, within: '', variables: [] }, log);
      if (trial.kind === 'passed') return `verify passes on the untouched base (${String(trial.seconds)} s).`;
      if (trial.kind === 'failed')
        return 'verify fails on the untouched base. Change it or repair the base before the first run, unless only this machine lacks a tool that the set-up steps install.';
      return `verify could not be tried: ${trial.kind === 'impossible' ? trial.why : 'there is no command.'}`;
    },
    person: isAnswered
      ? (await import('../cli/setup/person.ts')).createPerson({ input: process.stdin, output: process.stdout })
      : null,
    colours: hasColours(process.env),
    columns: process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : null,
  };
}

const openSetupCheckout: SetupWorld['openCheckout'] = async ({ folder, remote }) => {
  try {
    const { top, git: whole } = await findCheckout(folder, process.env);
    const name = remote ?? 'origin';
    const [paths, executable, ignored, url, head, branch, branches] = await Promise.all([
      whole.records(['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
      executableWrappers(whole, top),
      whole.answer(['check-ignore', '--', ...Object.values(SETUP_PATHS)]),
      readFirstLine(whole, ['remote', 'get-url', name]),
      readFirstLine(whole, ['symbolic-ref', '--short', `refs/remotes/${name}/HEAD`]),
      readFirstLine(whole, ['symbolic-ref', '--short', 'HEAD']),
      whole.answer(['for-each-ref', '--format=%(refname)', 'refs/heads', `refs/remotes/${name}`]),
    ]);
    // If there are other branches, the current one may be only a feature branch, so do not treat it as the default.
    const others = branches.stdout
      .toString()
      .split('\n')
      .filter((ref) => ref !== '' && ref !== `refs/heads/${branch}` && ref !== `refs/remotes/${name}/${branch}`);
    const named = url === null ? null : repositoryOfRemote(url);
    return {
      kind: 'open',
      folder: top,
      paths: [...new Set(paths)],
      executable,
      ignored: ignored.stdout.toString().split('\n').filter(Boolean),
      home:
        named === null
          ? null
          : {
              server: `https://${named.host.replace(ON_GITHUB, 'github.com')}`,
              repository: `${named.repository.owner}/${named.repository.repo}`,
            },
      defaultBranch: head === null ? (others.length === 0 ? branch : null) : head.slice(name.length + 1),
    };
  } catch (error) {
    if (error instanceof UserError) return { kind: 'missing', why: error.message };
    throw error;
  }
};

/**
 * Returns the GitHub repository of which this package is a clone, or null if it is not a clone, or only part of
 * somebody's checkout.
 */
async function cloneHome(packageRoot: URL): Promise<string | null> {
  const folder = await realpath(fileURLToPath(packageRoot));
  try {
    const { top, git } = await findCheckout(folder, process.env);
    if (top !== folder) return null;
    const named = repositoryOfRemote((await readFirstLine(git, ['remote', 'get-url', 'origin'])) ?? '');
    return named !== null && ON_GITHUB.test(named.host) ? `${named.repository.owner}/${named.repository.repo}` : null;
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

const ON_GITHUB = /^(?:(?:www|ssh)\.)?github\.com$/i;

/**
 * Returns the executable wrappers of a clone, according to git for tracked ones and to the file itself for new ones.
 */
async function executableWrappers(git: Git, top: string): Promise<readonly string[]> {
  const everywhere = wrapperNames.map((name) => `:(glob)**/${name}`);
  const [tracked, others] = await Promise.all([
    git.records(['ls-files', '-z', '--stage', '--', ...everywhere]),
    git.records(['ls-files', '-z', '--others', '--exclude-standard', '--', ...everywhere]),
  ]);
  const isStartable = async (path: string): Promise<boolean> =>
    access(join(top, path), constants.X_OK).then(
      () => true,
      () => false,
    );
  const startable = await Promise.all(others.map(async (path) => ((await isStartable(path)) ? [path] : [])));
  return [...tracked.flatMap((line) => /^100755 [^\t]*\t(.*)$/s.exec(line)?.[1] ?? []), ...startable.flat()];
}

/** The git source from which npm fetched a package. */
interface Origin {
  readonly url: string;
  readonly commit: string;
  /** The name, such as `acme/ralph-action`, or null if the server does not name repositories in this way. */
  readonly repository: string | null;
}

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ resolved: z.string().optional() })) });

/** Returns the git source from which npm, or npx, fetched this package, or null if it was not installed from git. */
export async function findInstallSource(packageRoot: URL): Promise<Origin | null> {
  const root = fileURLToPath(packageRoot).replace(/[\\/]$/, '');
  const modules = dirname(root);
  const text = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => null);
  const lock = text === null ? null : lockSchema.safeParse(JSON.parse(text));
  const name = `node_modules/${root.slice(modules.length + 1)}`;
  const resolved = lock?.success === true ? (lock.data.packages[name]?.resolved ?? '') : '';
  const [, address = '', commit = ''] = /^git\+([^#]+)#([0-9a-f]{40,64})$/.exec(resolved) ?? [];
  if (commit === '') return null;
  const named = repositoryOfRemote(address);
  const repository = named === null ? null : `${named.repository.owner}/${named.repository.repo}`;
  // npm names GitHub with the protocol that needs an ssh key, so recognize GitHub and use another one.
  const isOnGitHub = named?.host.toLowerCase() === 'github.com';
  return { url: isOnGitHub ? `https://github.com/${repository ?? ''}.git` : address, commit, repository };
}
