import { setTimeout as wait } from 'node:timers/promises';
import type { Forge } from '../ports/forge.ts';
import { usualPace, type Client, type ForgeOptions, type Octokit } from './client.ts';
import { statusOf } from './errors.ts';
import { textOf } from '../errors.ts';

type CacheMethods = Pick<Forge, 'deleteSupersededCaches'>;

/** A run adds one entry, so that a backlog is gone after some runs all the same. */
const MOST_DELETIONS = 20;
/** Nobody waits longer for housekeeping. */
const LONGEST_MS = 10_000;

/** Actions caches of the repository. */
export function createCaches(
  client: Client,
  { debug = () => undefined, pace = usualPace }: Pick<ForgeOptions, 'debug' | 'pace'>,
): CacheMethods {
  /** The token will not be given `actions: write` while the run lasts. */
  let isRefused = false;

  return {
    async deleteSupersededCaches(keyPrefix, keep) {
      // Without a prefix it would be all caches of the repository.
      if (isRefused || keyPrefix === '') return 0;
      const over = new AbortController();
      let deleted = 0;
      const work = client.ask({ doing: 'delete superseded caches', needs: ['actions: write'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.actions.getActionsCacheList({
            ...at,
            key: keyPrefix,
            sort: 'created_at',
            direction: 'desc',
            per_page: 100,
            request: { retries: 0 },
          });
          for (const { id } of superseded(data.actions_caches, keyPrefix, Math.max(1, keep))
            .slice(-MOST_DELETIONS)
            .reverse()) {
            if (over.signal.aborted) return;
            if (await tryDelete(octokit, { ...at, cache_id: id })) deleted += 1;
          }
        } catch (error) {
          isRefused = [403, 404].includes(statusOf(error) ?? 0);
          throw error;
        }
      });
      const reported = work.catch((error: unknown) => {
        debug(textOf(error));
      });
      await Promise.race([
        reported,
        wait(Math.min(LONGEST_MS, pace.requestMs), undefined, { signal: over.signal }).catch(() => undefined),
      ]);
      over.abort();
      return deleted;
    },
  };
}

type Listed = Awaited<ReturnType<Octokit['rest']['actions']['getActionsCacheList']>>['data']['actions_caches'][number];
type Known = Required<Pick<Listed, 'id' | 'key' | 'ref' | 'version'>>;

/**
 * Newest first, as `caches`. The newest `keep` stay of each ref and version: a run finds caches of its own ref and of the
 * default branch only, and only those of its own form (compression), so that a newer one elsewhere replaces nothing for it.
 */
function superseded(caches: readonly Listed[], keyPrefix: string, keep: number): readonly Known[] {
  const seen = new Map<string, number>();
  return caches.filter(isKnown).filter(({ key, ref, version }) => {
    // GitHub says that it takes a prefix; what is deleted must not depend on that.
    if (!key.startsWith(keyPrefix)) return false;
    const shelf = `${ref} ${version}`;
    const newer = seen.get(shelf) ?? 0;
    seen.set(shelf, newer + 1);
    return newer >= keep;
  });
}

function isKnown(cache: Listed): cache is Listed & Known {
  return [cache.id, cache.key, cache.ref, cache.version].every((part) => part !== undefined);
}

/** false when it was gone already: another run tidies up as well. */
async function tryDelete(
  octokit: Octokit,
  cache: { readonly owner: string; readonly repo: string; readonly cache_id: number },
): Promise<boolean> {
  try {
    await octokit.rest.actions.deleteActionsCacheById({ ...cache, request: { retries: 0 } });
    return true;
  } catch (error) {
    if (statusOf(error) === 404) return false;
    throw error;
  }
}
