import { z } from 'zod';
import type { Outcome } from '../../core/outcome.ts';
import { branchInTheWay, explainInTheWay } from '../../core/refusals/branch-names.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';
import type { Request } from '../tasks/sources.ts';

/** Whether people have as many pull requests to review as they want; a person who asks for one more gets it. */
export async function tooManyOpen(
  { config, forge }: GateDeps,
  lane: {
    readonly request: Request;
    readonly branches: Readonly<Record<string, string>>;
    readonly hasPullRequest: boolean;
  },
): Promise<Outcome | null> {
  const { maxOpenPrs, branchPrefix } = config;
  if (maxOpenPrs === 0 || lane.request.asked || lane.hasPullRequest) return null;
  // There are no more pull requests than branches.
  if (Object.keys(lane.branches).length < maxOpenPrs) return null;
  const open = await forge.openPullRequests(branchPrefix);
  return open.length >= maxOpenPrs ? { kind: 'idle', reason: 'waiting_for_review' } : null;
}

/** Throws one UserError with everything at hand that would make this run's work impossible or its result unpublishable. */
export async function checkBeforeSpending(
  deps: GateDeps,
  lane: {
    readonly base: string;
    readonly branch: string;
    /** Branches of the server that could conflict with this one by name. */
    readonly branches: Readonly<Record<string, string>>;
  },
): Promise<void> {
  const isNew = lane.branches[lane.branch] === undefined;
  const inTheWay = isNew ? branchInTheWay(lane.branch, Object.keys(lane.branches)) : null;
  // Of a name that git does not allow, a server has nothing to say that would help.
  const [found, pushObstacle] = await Promise.all([
    deps.repository.problems(),
    deps.remote.pushObstacle(isNew && inTheWay === null ? lane.branch : null),
  ]);
  // The agent's key is in the job of the loop, which looks for it there.
  const { loginProblems, verifyProblems } = deps.context;
  const login = deps.config.handoff.phase === 'gate' ? [] : [...loginProblems, ...verifyProblems];
  const { unknown } = deps.config.settings;
  const problems = [...found, ...login, ...(unknown === null ? [] : [unknown])];
  if (lane.branch === lane.base)
    problems.push(
      `The branch to work on, "${lane.branch}", is the base branch. Set a different \`branch-prefix\` or \`base-branch\`.`,
    );
  if (inTheWay !== null) problems.push(explainInTheWay(lane.branch, inTheWay));
  if (pushObstacle !== null) problems.push(pushObstacle.why);
  // Nobody is needed for a server that may answer the next run.
  const isWeather = pushObstacle?.kind === 'weather' && problems.length === 1;
  if (problems.length > 0)
    throw new UserError(
      isWeather ? 'infrastructure' : 'configuration',
      `The run cannot work:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
}

const defaultBranchOfEvent = z.object({ repository: z.object({ default_branch: z.string().min(1) }) });

/** The branch that work starts from. */
export async function baseBranch(deps: GateDeps): Promise<string> {
  if (deps.config.baseBranch !== null) return deps.config.baseBranch;
  const event = defaultBranchOfEvent.safeParse(deps.context.event.payload);
  return event.success ? event.data.repository.default_branch : deps.forge.defaultBranch();
}
