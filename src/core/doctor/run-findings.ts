import type { AgentName } from '../agent-names.ts';
import { diagnoseRepository } from './doctor.ts';
import type { ActionRules, AskedValue, DoctorFacts } from './facts.ts';
import {
  doctorChecks,
  createRemedy,
  okFinding,
  problemFinding,
  problemWithoutRemedy,
  uncheckedFinding,
  warningFinding,
  type Finding,
} from './finding.ts';
import { checkAllowedTools } from './command-findings.ts';
import {
  checkAgentKey,
  checkDailySpend,
  tryAgain,
  tryOneIteration,
  checkVerify,
  checkPrices,
} from './machine-findings.ts';
import { buildSettingsUrl } from './examined-step.ts';
import { withoutStore } from './cache-findings.ts';

/** Facts that only a run knows. An obstacle is a sentence that says what to do, or null if none. */
export interface OwnRun {
  readonly event: string;
  readonly loginProblems: readonly string[];
  /** The job that has the agent and its key. */
  readonly agentJob: 'this' | 'another';
  readonly pushObstacle: AskedValue<string | null>;
  readonly pullRequestObstacle: AskedValue<string | null>;
  readonly checkoutProblems: readonly string[];
  /** True if the checkout contains git credentials. */
  readonly keepsCredentials: boolean;
  /** The name and version that the agent's CLI reports, or the reason why it cannot be installed or started. */
  readonly agent: AskedValue<string>;
  readonly stateStore: string;
  /** The reason why this run cannot write the cache, as part of a sentence; null if it can. */
  readonly cacheObstacle: string | null;
  /** The store from which the state was loaded. */
  readonly state: AskedValue<string>;
  /** The agents in their order. */
  readonly agents: readonly AgentName[];
  readonly prices: Parameters<typeof checkPrices>[1];
  readonly allowedTools: readonly string[];
  readonly verify: readonly string[];
  readonly maxCostUsdPerDay: number;
}

/** The checks for which a run uses its own facts, because it knows more than its workflow file. */
const CHECKS_OF_RUN: readonly Finding['check'][] = [
  'secret',
  'key',
  'pull-requests',
  'agent',
  'cache',
  'verify',
  'allowed-tools',
  'spend',
];

/**
 * Returns the findings of a run: those about files and the repository as in `diagnoseRepository`, the others from the
 * run's own token, machine and event.
 */
export function diagnoseRun(facts: DoctorFacts & { readonly run: OwnRun }, rules: ActionRules): readonly Finding[] {
  const { run, files } = facts;
  const others = diagnoseRepository(facts, rules).filter(
    ({ check }) => !CHECKS_OF_RUN.includes(check) && (files.length > 0 || check !== 'workflow-file'),
  );
  const findings = [
    ...others,
    ...(files.length > 0 ? [] : [noFile]),
    ...obstacle('permissions', run.pushObstacle, 'The token of this run may push.'),
    ...obstacle('pull-requests', run.pullRequestObstacle, 'The token of this run may open pull requests.').map(
      (found) =>
        found.kind === 'problem'
          ? {
              ...found,
              remedy: createRemedy('The setting is here.', {
                link: buildSettingsUrl(facts.repository, 'settings/actions'),
              }),
            }
          : found,
    ),
    ...checkout(run),
    ...secret(run, buildSettingsUrl(facts.repository, 'settings/secrets/actions')),
    ...key(facts),
    run.agent.kind === 'known'
      ? okFinding('agent', `The agent is ready: ${run.agent.value}.`)
      : problemWithoutRemedy('agent', run.agent.why),
    cache(run),
    checkVerify(run.verify, facts.verify),
    checkAllowedTools(rules, { allowed: run.allowedTools, agentNotes: facts.agentNotes, verify: run.verify }),
    ...checkPrices(run.agents, run.prices),
    checkDailySpend(rules, { limit: run.maxCostUsdPerDay, spentTodayUsd: facts.spentTodayUsd }),
    run.state.kind === 'known'
      ? okFinding('state', `State: ${run.state.value}.`)
      : problemWithoutRemedy('state', run.state.why),
  ];
  return findings.toSorted((a, b) => doctorChecks.indexOf(a.check) - doctorChecks.indexOf(b.check));
}

const noFile = uncheckedFinding(
  'workflow-file',
  'No workflow in the checkout names the action, so the file that this run comes from could not be checked.',
  createRemedy('Check it on your machine, in a checkout that has it.', { paste: 'ralph doctor' }),
);

function obstacle(
  check: 'permissions' | 'pull-requests',
  asked: AskedValue<string | null>,
  otherwise: string,
): readonly Finding[] {
  if (asked.kind === 'unknown') return [uncheckedFinding(check, asked.why, tryAgain)];
  return [asked.value === null ? okFinding(check, otherwise) : problemWithoutRemedy(check, asked.value)];
}

function checkout({ checkoutProblems, keepsCredentials }: OwnRun): readonly Finding[] {
  return [
    ...(checkoutProblems.length === 0
      ? [okFinding('checkout', 'This checkout is on a branch, has its history and is clean.')]
      : checkoutProblems.map((says) => problemWithoutRemedy('checkout', says))),
    ...(keepsCredentials
      ? [
          warningFinding(
            'checkout',
            'This checkout keeps credentials for git, which are hidden from the agent only while it works.',
            createRemedy('Give actions/checkout this input.', { paste: 'persist-credentials: false' }),
          ),
        ]
      : []),
  ];
}

function secret({ agentJob, loginProblems }: OwnRun, link: string | null): readonly Finding[] {
  if (agentJob === 'another')
    return [
      uncheckedFinding(
        'secret',
        "The agent's key, its CLI and `verify` are in the job with `phase: loop`, and were not tried.",
        tryOneIteration,
      ),
    ];
  return loginProblems.length === 0
    ? [okFinding('secret', 'The step gets a key for the agent.')]
    : loginProblems.map((says) => problemFinding('secret', says, createRemedy('The secrets are here.', { link })));
}

function key({ key: tried, run }: DoctorFacts & { readonly run: OwnRun }): readonly Finding[] {
  // A problem of the login is already reported, so its key is not judged again.
  return run.loginProblems.length > 0 || run.agentJob === 'another' ? [] : [checkAgentKey(tried, 'The key')];
}

function cache({ stateStore, cacheObstacle, event }: OwnRun): Finding {
  if (stateStore === 'none') return withoutStore;
  if (stateStore === 'ref')
    return okFinding('cache', 'The state is kept on a git ref alone, whatever the cache allows.');
  if (cacheObstacle === null) return okFinding('cache', `A run of \`${event}\` may write the cache.`);
  return stateStore === 'cache'
    ? problemFinding(
        'cache',
        `The state is kept in the cache alone, but ${cacheObstacle}.`,
        createRemedy('Keep it on the git ref as well.', { paste: 'state-store: auto' }),
      )
    : okFinding('cache', `The git ref keeps the state here, because ${cacheObstacle}.`);
}
