import type { ObjectId } from '../core/evidence.ts';
import { isForSignatures } from '../core/refusals/refusal.ts';
import { mapTexts } from '../core/text/redact.ts';
import type { Log } from '../ports/machine.ts';
import type { Repository } from '../ports/repository.ts';
import type { PushResult, Remote } from '../ports/remote.ts';
import type { Work } from './intake.ts';

/**
 * The dependencies of signing; `sign` never rejects. `repository` is null when the work tree is in another job or no
 * longer used, `record` when this job keeps no record.
 */
export interface SignDeps {
  readonly remote: Pick<Remote, 'sign'>;
  readonly repository: Pick<Repository, 'takeHead'> | null;
  readonly record: ((work: Work) => void) | null;
  readonly log: Pick<Log, 'info'>;
}

/** Result of a push. `taken` is the work after the push, with the ids that its commits have then. */
interface Pushed {
  readonly result: PushResult;
  readonly taken: Work;
}

/**
 * Pushes the work, with its commits signed first if signatures are wanted. If only the server's answer asks for
 * signatures, signs the commits and pushes again. `push` gets the work with the ids of the signed commits.
 */
export async function pushSigned(deps: SignDeps, work: Work, push: (signed: Work) => Promise<Pushed>): Promise<Pushed> {
  const first = await signWork(deps, work);
  if (first.result !== null) return { result: first.result, taken: work };
  const pushed = await push(first.work);
  if (first.work !== work || !isForSignatures(pushed.result)) return pushed;
  const second = await signWork(deps, pushed.taken);
  if (second.result !== null) return { result: second.result, taken: pushed.taken };
  return second.work === pushed.taken ? pushed : push(second.work);
}

/**
 * Signs the commits that the remote branch lacks, if signatures are wanted. Then replaces their ids with those of the
 * signed commits everywhere in the work, on disk as well, so that a run that is killed right after this continues with
 * them. Only the journal file, which is never rewritten, keeps the old ids; both commits have the same trailers.
 */
async function signWork(
  { remote, repository, record, log }: SignDeps,
  work: Work,
): Promise<{ readonly work: Work; readonly result: Exclude<PushResult, { kind: 'pushed' }> | null }> {
  const { lane, head, base, remoteHead } = work;
  const signed = await remote.sign({ branch: lane.branch, commit: head, since: remoteHead ?? base });
  if (signed.kind === 'as-they-are') return { work, result: null };
  if (signed.kind !== 'signed') return { work, result: signed };
  const { places } = signed;
  const count = Object.keys(places).length;
  log.info(`GitHub signed ${String(count)} ${count === 1 ? 'commit' : 'commits'} for ${lane.branch}`);
  await repository?.takeHead({ head: signed.head, refused: [], workTree: 'as-it-is' });
  const named = mapTexts(work, (text): ObjectId => (Object.hasOwn(places, text) ? (places[text] ?? text) : text));
  record?.(named);
  return { work: named, result: null };
}
