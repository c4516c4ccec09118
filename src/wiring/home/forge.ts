import type { Forge } from '../../ports/forge.ts';
import { getErrorMessage } from '../../errors.ts';
import { findOwnRepository } from '../own-github.ts';

/**
 * Returns GitHub for a local run, which reads issues and writes nothing; `none` with the reason if GitHub cannot be
 * used.
 */
export async function connectHomeForge(
  folder: string,
  environment: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<
  | {
      readonly kind: 'forge';
      readonly forge: Forge;
      readonly repository: { readonly owner: string; readonly repo: string };
    }
  | { readonly kind: 'none'; readonly why: string }
> {
  const token = (environment.GITHUB_TOKEN ?? environment.GH_TOKEN ?? '').trim();
  if (token === '') return { kind: 'none', why: 'neither GITHUB_TOKEN nor GH_TOKEN is set' };
  try {
    const [{ createForge }, { withWishes }, options] = await Promise.all([
      import('../../github/forge.ts'),
      import('../../github/wishes/with-wishes.ts'),
      findOwnRepository({ folder, remote: null, log }, token),
    ]);
    const forge = readOnly(withWishes(createForge(options)));
    return { kind: 'forge', forge, repository: options.repository };
  } catch (error) {
    return { kind: 'none', why: getErrorMessage(error) };
  }
}

/** The requests that a local run may make; any other request is a defect of this program. */
const READS: ReadonlySet<string | symbol> = new Set([
  'issue',
  'openIssuesWithLabel',
  'searchIssues',
  'permissionOf',
  'account',
  'issueHistories',
  'commentsOf',
  'dependenciesOf',
  'statesOf',
  'requests',
]);

function readOnly(forge: Forge): Forge {
  return new Proxy(forge, {
    get: (target, name, receiver): unknown => {
      // A local run opens no pull request, so accept any value of the setting.
      if (name === 'checkMayOpenPullRequests') return () => Promise.resolve();
      // Feedback is answered only by runs that can post the answers, so read none.
      if (name === 'pullRequestNow') return () => Promise.resolve(null);
      if (name === 'waitingPullRequests') return () => Promise.resolve({ open: [], closed: [] });
      if (name === 'closedAmong') return () => Promise.resolve([]);
      return READS.has(name) ? Reflect.get(target, name, receiver) : refuseRequest(name);
    },
  });
}

/** Creates the forge of a local run that cannot use GitHub. */
export function createAbsentForge(): Forge {
  return readOnly(new Proxy({} as Forge, { get: (_target, name) => refuseRequest(name) }));
}

function refuseRequest(name: string | symbol): () => never {
  return () => {
    throw new Error(
      `A local run only reads issues from GitHub, but it called ${String(name)}. Please report this bug.`,
    );
  };
}
