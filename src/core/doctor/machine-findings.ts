import { AGENTS, type AgentName } from '../agent-names.ts';
import { callsRalph, isExpression } from './workflow.ts';
import { listFirstNames } from '../text/phrase.ts';
import type { ActionRules, AskedValue, BaseTrial, DoctorFacts, KeyTrial } from './facts.ts';
import {
  createRemedy,
  type Finding,
  okFinding,
  problemFinding,
  problemWithoutRemedy,
  uncheckedFinding,
  warningFinding,
} from './finding.ts';
import { checkAllowedTools } from './command-findings.ts';
import { findStepInput, type ExaminedStep } from './examined-step.ts';

/** Returns the finding about the agent's key; `which` is the subject of its sentence. */
export function checkAgentKey(key: KeyTrial, which: 'The key' | 'The key in the environment'): Finding {
  const page = createRemedy('Create another key, and put it into the secret.', {
    link: 'https://platform.claude.com/settings/keys',
  });
  switch (key.kind) {
    case 'none':
      return uncheckedFinding(
        'key',
        'Could not check whether the key is accepted: GitHub never shows secrets, and there is no key in the environment here.',
        createRemedy('To try a Claude key, run this command with the key in `ANTHROPIC_API_KEY`.', {}),
      );
    case 'misnamed':
      return uncheckedFinding(
        'key',
        key.why,
        createRemedy(
          'This checked the environment here, not that of a run. To try the key, put it into `ANTHROPIC_API_KEY`.',
          {},
        ),
      );
    case 'malformed':
      return problemWithoutRemedy('key', key.problems.join(' '));
    case 'form-only':
      return uncheckedFinding(
        'key',
        'The login has the right form. Could not check whether it is accepted: only an API key can be tried for free.',
        tryOneIteration,
      );
    case 'accepted':
      return okFinding('key', `${which} is accepted.`);
    case 'refused':
      return problemFinding('key', `${which} is refused (HTTP ${String(key.status)}).`, page);
    case 'unanswered':
      return uncheckedFinding('key', `${which} could not be tried: ${key.why}`, tryAgain);
  }
}

/** The remedy for a login that cannot be tried for free. */
export const tryOneIteration = createRemedy('Try it with a short run.', { paste: 'max-iterations: 1' });
export const tryAgain = createRemedy('Remove the cause, then try again.', {});
/** The remedy for an expression, whose value only a run knows. */
const checkedByRun = createRemedy('A run knows its value: check it there.', { paste: '/ralph doctor' });

/** Returns findings about the runner, commands and limits that a run of this step would have. */
export function checkMachine(examined: ExaminedStep, facts: DoctorFacts): readonly Finding[] {
  return [
    agent(examined, facts),
    checkVerify(verifyOfStep(examined), facts.verify),
    allowedTools(examined, facts),
    isolation(examined),
    ...checkPrices(agentsIn(examined), {
      hasPrices: (examined.step.inputs['prices'] ?? '') !== '',
      isLimited: (['max-cost-usd', 'max-cost-usd-per-day'] as const).some(
        (name) => findStepInput(examined, name) !== '0',
      ),
      unpriced: examined.rules.unpricedModels(examined.step.inputs),
    }),
    spend(examined, facts),
  ];
}

function agent(examined: ExaminedStep, { hasNpm }: DoctorFacts): Finding {
  const { step, rules } = examined;
  const version = findStepInput(examined, 'agent-version');
  const chosen = rules.agents({ ...step.inputs, 'agent-version': version ?? '' });
  const own = chosen.flatMap(({ path }) => (path === null ? [] : [`\`${path}\``]));
  if (own.length > 0)
    return uncheckedFinding(
      'agent',
      `\`agent-path\` names a program of the runner, which could not be checked here: ${listFirstNames(own)}.`,
      createRemedy('Make sure that the runner has it.', {}),
    );
  const named = chosen.map(({ name, version: exact }) => `${AGENTS[name].title} ${exact}`);
  if (version === null)
    return uncheckedFinding(
      'agent',
      '`agent-version` is an expression, and could not be checked.',
      createRemedy('Make sure that it is an exact version.', {}),
    );
  return hasNpm
    ? okFinding('agent', `Runs install ${listFirstNames(named)} with npm.`)
    : warningFinding(
        'agent',
        `Runs install ${listFirstNames(named)} with npm, which this machine does not have.`,
        createRemedy("Make sure that the runner has npm; GitHub's runners do.", {}),
      );
}

function agentsIn({ step, rules }: ExaminedStep): readonly AgentName[] {
  return rules.agents(step.inputs).map(({ name }) => name);
}

/** The limits and prices that are known for a step or a run. */
interface KnownPrices {
  readonly hasPrices: boolean;
  /** True if there is a limit in dollars. */
  readonly isLimited: boolean;
  /** The models that the user chose and whose price is unknown. */
  readonly unpriced: readonly string[];
}

/**
 * Returns findings about the limits in dollars: whether they apply to the agents, and whether a missing price prevents
 * calls.
 */
export function checkPrices(
  agents: readonly AgentName[],
  { hasPrices, isLimited, unpriced }: KnownPrices,
): readonly Finding[] {
  if (!isLimited) return [];
  const [first] = unpriced;
  if (first !== undefined)
    return [
      problemFinding(
        'spend',
        `No price is known for ${listFirstNames(unpriced)}, so a run with a limit in dollars ends before its first call.`,
        createRemedy(`${SAY_THE_PRICE}, or set \`max-cost-usd\` and \`max-cost-usd-per-day\` to 0.`, {
          paste: `settings: |\n  prices: ${first}=1.25/0.125/10`,
        }),
      ),
    ];
  if (hasPrices) return [];
  const silent = agents.filter((name) => !AGENTS[name].cost);
  const titlesOf = (names: readonly AgentName[]): string => listFirstNames(names.map((name) => AGENTS[name].title));
  const isUncounted = (name: AgentName): boolean => !AGENTS[name].isCounted;
  const unbound = silent.filter(isUncounted);
  const bound = silent.filter((name) => !isUncounted(name));
  return [
    ...(unbound.length === 0
      ? []
      : [
          warningFinding(
            'spend',
            `Limits in dollars do not apply to ${titlesOf(unbound)}, whose cost is not known.`,
            createRemedy('Limit calls and tokens.', { paste: 'max-calls-per-hour: 20' }),
          ),
        ]),
    ...(bound.length === 0
      ? []
      : [
          warningFinding(
            'spend',
            `With a limit in dollars, ${titlesOf(bound)} calls only models whose price is known, from \`prices\` or from a public list of some models.`,
            createRemedy(`${SAY_THE_PRICE}.`, { paste: 'settings: |\n  prices: NAME-OF-THE-MODEL=1.25/0.125/10' }),
          ),
        ]),
  ];
}

const SAY_THE_PRICE = "Give the model's price in dollars per million tokens (input/cached/output)";

/** Returns the verify commands of a step, or null if `verify` is an expression. */
export function verifyOfStep({ step }: Pick<ExaminedStep, 'step'>): readonly string[] | null {
  const text = step.inputs.verify ?? '';
  if (isExpression(text)) return null;
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Returns the finding about the verify commands on the base; `commands` is null if `verify` is an expression. */
export function checkVerify(commands: readonly string[] | null, tried: BaseTrial): Finding {
  if (commands === null)
    return uncheckedFinding('verify', '`verify` is an expression, and could not be tried.', checkedByRun);
  if (commands.length === 0)
    return warningFinding(
      'verify',
      'There is no `verify`: only the agent says whether the work is done.',
      createRemedy('Name the commands that must pass. They also run in a clean clone.', {
        paste: 'verify: npm ci && npm test',
      }),
    );
  switch (tried.kind) {
    case 'not-tried':
      return uncheckedFinding(
        'verify',
        '`verify` was not tried on the base: add --verify.',
        createRemedy('Try it in a clean clone of this commit.', { paste: 'ralph doctor --verify' }),
      );
    case 'remembered':
      return tried.failed === null
        ? okFinding('verify', '`verify` passes on the base branch, as an earlier run found.')
        : problemFinding(
            'verify',
            `\`verify\` fails on the base branch, at \`${tried.failed}\`, as an earlier run found.`,
            toFix,
          );
    case 'passed':
      return okFinding('verify', `\`verify\` passes in a clean clone of this commit, in ${String(tried.seconds)} s.`);
    case 'failed':
      return problemFinding(
        'verify',
        `\`verify\` fails in a clean clone of this commit, at \`${tried.command}\`${tried.tail === '' ? '.' : `: ${tried.tail}`}`,
        toFix,
      );
    case 'withheld':
      return problemFinding('verify', tried.why, createRemedy('Until then, a run makes no call.', {}));
    case 'impossible':
      return uncheckedFinding('verify', `\`verify\` could not be tried: ${tried.why}`, tryAgain);
  }
}

const toFix = createRemedy(
  'Let it install what a clean clone lacks, or fix what fails: until then no task can be completed.',
  {},
);

function allowedTools(examined: ExaminedStep, { agentNotes }: DoctorFacts): Finding {
  const given = findStepInput(examined, 'allowed-tools');
  return given === null
    ? uncheckedFinding('allowed-tools', '`allowed-tools` is an expression, and could not be checked.', checkedByRun)
    : checkAllowedTools(examined.rules, {
        allowed: examined.rules.toolRulesOf(given),
        agentNotes,
        verify: verifyOfStep(examined) ?? [],
      });
}

function isolation({ step }: ExaminedStep): Finding {
  if (callsRalph(step.action))
    return okFinding(
      'isolation',
      'The agent works in a job whose token can only read, and is kept apart there as far as the runner allows. The summary of each run says how far.',
    );
  const [, path = '', ref = ''] = /^([\w.-]+\/[\w.-]+)@([\w./-]+)$/.exec(step.action) ?? [];
  return warningFinding(
    'isolation',
    step.inputs.isolation === 'none'
      ? "The agent runs as the runner's own user (`isolation: none`): it can read the job's files and reach the network."
      : 'The agent works in the job that holds the token, and is kept apart there as far as the runner allows. The summary of each run says how far.',
    createRemedy(
      'Use the workflow of three jobs, or give the job no more secrets than it needs. Read what is not protected.',
      {
        link:
          path === '' || path.startsWith('OWNER/') ? null : `https://github.com/${path}/blob/${ref}/docs/security.md`,
      },
    ),
  );
}

function spend(examined: ExaminedStep, { spentTodayUsd }: DoctorFacts): Finding {
  const text = findStepInput(examined, 'max-cost-usd-per-day');
  return text === null || Number.isNaN(Number(text))
    ? uncheckedFinding(
        'spend',
        'The value of `max-cost-usd-per-day` is not known here, and could not be checked.',
        checkedByRun,
      )
    : checkDailySpend(examined.rules, { limit: Number(text), spentTodayUsd });
}

/** Returns the finding about the day's remaining budget; `limit` is in US dollars, and 0 means no limit. */
export function checkDailySpend(
  rules: Pick<ActionRules, 'defaults'>,
  { limit, spentTodayUsd }: { readonly limit: number; readonly spentTodayUsd: AskedValue<number> },
): Finding {
  if (limit === 0)
    return warningFinding(
      'spend',
      'There is no daily cost limit.',
      createRemedy('Set one, in US dollars.', {
        paste: `max-cost-usd-per-day: ${rules.defaults['max-cost-usd-per-day'] ?? ''}`,
      }),
    );
  if (spentTodayUsd.kind === 'unknown')
    return uncheckedFinding(
      'spend',
      `Could not check what today's runs cost: ${spentTodayUsd.why}`,
      createRemedy('The status shows it once it can be read.', { paste: 'ralph status' }),
    );
  const spent = `$${spentTodayUsd.value.toFixed(2)} of $${String(limit)}`;
  return spentTodayUsd.value < limit
    ? okFinding('spend', `Today's runs (UTC) used or reserved ${spent}.`)
    : warningFinding(
        'spend',
        `The limit of today is used up or reserved (${spent}): runs wait until midnight UTC.`,
        createRemedy('Wait, or raise the limit.', { paste: `max-cost-usd-per-day: ${String(limit * 2)}` }),
      );
}
