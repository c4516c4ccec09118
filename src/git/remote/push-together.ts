import type { PushResult } from '../../ports/remote.ts';
import type { Git } from '../git.ts';
import {
  askRemote,
  buildNetwork,
  findOutgoingProblem,
  type BranchPush,
  pushRefusalOf,
  rejectPush,
  type RemoteOptions,
} from './ask-remote.ts';

/**
 * Pushes several branches in one request, each only from where it was left. The push is not atomic: branches that the
 * server accepts are pushed, and each of the others is pushed again `alone`, which shows its problem.
 */
export async function pushTogether(
  git: Git,
  { options, alone }: { readonly options: RemoteOptions; readonly alone: (push: BranchPush) => Promise<PushResult> },
  pushes: readonly BranchPush[],
): Promise<readonly PushResult[]> {
  const [first, ...others] = pushes;
  if (first !== undefined && others.length === 0) return [await alone(first)];
  const problems = new Map<BranchPush, string>();
  for (const push of pushes) {
    const problem = await findOutgoingProblem(git, options, push);
    if (problem !== null) problems.set(push, problem);
  }
  const sound = pushes.filter((push) => !problems.has(push));
  // Do not push without refs, because git would choose some itself.
  if (sound.length === 0) return pushes.map((push) => rejectPush(problems.get(push) ?? ''));
  const fullRefOf = ({ branch }: BranchPush): string => `refs/heads/${branch}`;
  const answer = await askRemote(
    git,
    [
      ...['push', '--porcelain', '--no-verify', '--no-follow-tags'],
      ...sound.map((push) => `--force-with-lease=${fullRefOf(push)}:${push.at ?? ''}`),
      options.url,
      ...sound.map((push) => `${push.commit}:${fullRefOf(push)}`),
    ],
    buildNetwork(options),
  );
  const taken = takenRefs(answer.stdout.toString());
  const refused = answer.exitCode === 0 ? null : pushRefusalOf(answer);
  const results: PushResult[] = [];
  for (const push of pushes) {
    const problem = problems.get(push);
    if (problem !== undefined) results.push(rejectPush(problem));
    else if (refused === null || taken.has(fullRefOf(push))) results.push({ kind: 'pushed' });
    else results.push(refused.kind === 'unreachable' ? refused : await alone(push));
  }
  return results;
}

/** Returns the refs that git names as pushed, or as up to date: a line of `--porcelain` is flag, refs and summary. */
function takenRefs(porcelain: string): ReadonlySet<string> {
  const lines = porcelain.split('\n').map((line) => line.split('\t'));
  return new Set(lines.flatMap(([flag = '', refs = '']) => (/^[ *=+]$/.test(flag) ? [refs.replace(/^.*:/, '')] : [])));
}
