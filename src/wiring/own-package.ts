import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { repositoryOfRemote } from '../git/names.ts';

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
