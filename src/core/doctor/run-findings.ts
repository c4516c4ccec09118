import type { AgentName } from '../agent-names.ts';
import { diagnose } from './doctor.ts';
import type { ActionRules, Asked, Facts } from './facts.ts';
import { checks, cure, fine, problem, refused, unchecked, warning, type Finding } from './finding.ts';
import {
  keyFinding,
  spendFinding,
  toolsFinding,
  tryAgain,
  tryOneIteration,
  verifyFinding,
  priceFindings,
} from './machine-findings.ts';
import { keepsNothing, settingsPageOf } from './step-findings.ts';

/** What a run knows of itself, which no machine of a person does. Sentences of obstacles say what to do; null: there is none. */
export interface OwnRun {
  readonly event: string;
  readonly loginProblems: readonly string[];
  /** Which job has the agent and its key. */
  readonly agentJob: 'this' | 'another';
  readonly pushObstacle: Asked<string | null>;
  readonly pullRequestObstacle: Asked<string | null>;
  readonly checkoutProblems: readonly string[];
  /** Whether the checkout holds credentials of git. */
  readonly keepsCredentials: boolean;
  /** The agent's CLI by the name it gives itself; why it cannot be had. */
  readonly agent: Asked<string>;
  readonly stateStore: string;
  /** Why this run cannot write the cache, as a sentence part. */
  readonly cacheObstacle: string | null;
  /** Where the state came from. */
  readonly state: Asked<string>;
  /** In their order. */
  readonly agents: readonly AgentName[];
  readonly prices: Parameters<typeof priceFindings>[1];
  readonly allowedTools: readonly string[];
  readonly verify: readonly string[];
  readonly maxCostUsdPerDay: number;
}

/** What a run sees better than its workflow's file says it. */
const OWN: readonly Finding['check'][] = [
  'secret',
  'key',
  'pull-requests',
  'agent',
  'cache',
  'verify',
  'allowed-tools',
  'spend',
];

/** What would stop runs, as one of them sees it: its file and the repository as always, the rest by its own token, machine and event. */
export function diagnoseRun(facts: Facts & { readonly run: OwnRun }, rules: ActionRules): readonly Finding[] {
  const { run, files } = facts;
  const others = diagnose(facts, rules).filter(
    ({ check }) => !OWN.includes(check) && (files.length > 0 || check !== 'workflow-file'),
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
              cure: cure('The setting is here.', { link: settingsPageOf(facts.repository, 'settings/actions') }),
            }
          : found,
    ),
    ...checkout(run),
    ...secret(run, settingsPageOf(facts.repository, 'settings/secrets/actions')),
    ...key(facts),
    run.agent.kind === 'known'
      ? fine('agent', `The agent is ready: ${run.agent.value}.`)
      : refused('agent', run.agent.why),
    cache(run),
    verifyFinding(run.verify, facts.verify),
    toolsFinding(rules, { allowed: run.allowedTools, agentNotes: facts.agentNotes, verify: run.verify }),
    ...priceFindings(run.agents, run.prices),
    spendFinding(rules, { limit: run.maxCostUsdPerDay, spentTodayUsd: facts.spentTodayUsd }),
    run.state.kind === 'known' ? fine('state', `State: ${run.state.value}.`) : refused('state', run.state.why),
  ];
  return findings.toSorted((a, b) => checks.indexOf(a.check) - checks.indexOf(b.check));
}

const noFile = unchecked(
  'workflow-file',
  'No workflow in the checkout names the action, so the file that this run comes from could not be checked.',
  cure('Check it on your machine, in a checkout that has it.', { paste: 'ralph doctor' }),
);

function obstacle(
  check: 'permissions' | 'pull-requests',
  asked: Asked<string | null>,
  otherwise: string,
): readonly Finding[] {
  if (asked.kind === 'unknown') return [unchecked(check, asked.why, tryAgain)];
  return [asked.value === null ? fine(check, otherwise) : refused(check, asked.value)];
}

function checkout({ checkoutProblems, keepsCredentials }: OwnRun): readonly Finding[] {
  return [
    ...(checkoutProblems.length === 0
      ? [fine('checkout', 'This checkout is on a branch, has its history and is clean.')]
      : checkoutProblems.map((says) => refused('checkout', says))),
    ...(keepsCredentials
      ? [
          warning(
            'checkout',
            'This checkout keeps credentials for git, which are hidden from the agent only while it works.',
            cure('Give actions/checkout this input.', { paste: 'persist-credentials: false' }),
          ),
        ]
      : []),
  ];
}

function secret({ agentJob, loginProblems }: OwnRun, link: string | null): readonly Finding[] {
  if (agentJob === 'another')
    return [
      unchecked(
        'secret',
        "The agent's key, its CLI and `verify` are in the job with `phase: loop`, and were not tried.",
        tryOneIteration,
      ),
    ];
  return loginProblems.length === 0
    ? [fine('secret', 'The step gets a key for the agent.')]
    : loginProblems.map((says) => problem('secret', says, cure('The secrets are here.', { link })));
}

function key({ key: tried, run }: Facts & { readonly run: OwnRun }): readonly Finding[] {
  // What is wrong with it is said already.
  return run.loginProblems.length > 0 || run.agentJob === 'another' ? [] : [keyFinding(tried, 'The key')];
}

function cache({ stateStore, cacheObstacle, event }: OwnRun): Finding {
  if (stateStore === 'none') return keepsNothing;
  if (stateStore === 'ref') return fine('cache', 'The state is kept on a git ref alone, whatever the cache allows.');
  if (cacheObstacle === null) return fine('cache', `A run of \`${event}\` may write the cache.`);
  return stateStore === 'cache'
    ? problem(
        'cache',
        `The state is kept in the cache alone, but ${cacheObstacle}.`,
        cure('Keep it on the git ref as well.', { paste: 'state-store: auto' }),
      )
    : fine('cache', `The git ref keeps the state here, because ${cacheObstacle}.`);
}
