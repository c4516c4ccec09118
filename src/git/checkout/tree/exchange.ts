import { join } from 'node:path';
import type { ObjectId } from '../../../core/evidence.ts';
import { sentence } from '../../../core/text/sentence.ts';
import { LARGEST_PACK_BYTES } from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import { lastWords } from '../../git.ts';
import { writeRegular } from '../../regular-files.ts';
import type { PrivateRepository } from '../private-repository.ts';
import type { Workspace } from '../workspace.ts';

/** The two sides between which commits go: the checkout's own objects, and those of a repository that no agent writes. */
export interface ExchangeSides {
  readonly workspace: Pick<Workspace, 'commonFolder'>;
  readonly checkout: PrivateRepository;
  readonly own: PrivateRepository;
  /** Commits of `own` whose past is not there. */
  readonly roots: readonly ObjectId[];
  /** Commits that it has, with all that they are made of. */
  readonly heads: readonly ObjectId[];
}

/** Takes commits out of the checkout and gives others to it. */
export interface Exchange {
  /** Takes `head` and what it is made of, as far as `known` has not; false when it cannot be had whole and sound. */
  take(commits: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean>;
  /** Gives `head` to the checkout; `has`: commits that it holds already, with all their files. */
  give(commits: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void>;
  /** A commit that was made in the repository that no agent writes. */
  know(head: ObjectId): void;
}

/** Nothing that is taken comes in unless it is hashed and checked. */
export function createExchange({ workspace, checkout, own, roots, heads: given }: ExchangeSides): Exchange {
  const heads = new Set<ObjectId>([...roots, ...given]);

  async function take({ head, known }: { readonly head: ObjectId; readonly known: ObjectId }): Promise<boolean> {
    if (heads.has(head)) return true;
    // An agent may have removed what is sealed.
    const isSealed = await Promise.all([checkout.seal(), own.seal()]).then(
      () => true,
      () => false,
    );
    if (!isSealed) return false;
    const packed = await checkout.git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], {
      input: `${head}\n^${known}\n`,
    });
    if (packed.exitCode !== 0) return false;
    const taken = await own.git.answer(
      ['index-pack', '--strict', '--stdin', `--max-input-size=${String(LARGEST_PACK_BYTES)}`],
      { input: packed.stdout },
    );
    if (taken.exitCode === 0) heads.add(head);
    return taken.exitCode === 0;
  }

  async function give({ head, has }: { readonly head: ObjectId; readonly has: readonly ObjectId[] }): Promise<void> {
    if (has.includes(head)) return;
    // The trees by themselves: of a commit that is not in the past of `head`, git leaves out the commits alone.
    const input = [head, ...has.flatMap((commit) => [`^${commit}`, `^${commit}^{tree}`]), ''].join('\n');
    const packed = await own.git.answer(['pack-objects', '--quiet', '--stdout', '--revs', '--window=0'], { input });
    if (packed.exitCode !== 0)
      throw new UserError(
        'infrastructure',
        `The commits of this run cannot be read in ${own.folder}: ${sentence(lastWords(packed.stderr))}`,
      );
    await checkout.seal();
    // Strict: what the commits build on must be there as well.
    await checkout.git.text(['index-pack', '--strict', '--stdin'], { input: packed.stdout });
    if (has.length === 0)
      await writeRegular(join(workspace.commonFolder, 'shallow'), roots.map((id) => `${id}\n`).join(''));
  }

  return { take, give, know: (head) => void heads.add(head) };
}
