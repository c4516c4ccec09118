import { parseArgs } from 'node:util';
import { agentNames, createCase, queueNames, type CaseName } from './cases.ts';
import type { Findings } from './findings.ts';
import { renderFleets } from '../fleet/fleet.ts';
import { playHistory } from './history.ts';
import { renderLanes } from '../fleet/lanes.ts';
import { configOf, policies, type PolicyName } from './policies.ts';
import { renderGoals, renderHistory, renderPolicies, renderSpecCosts } from './report.ts';
import { goalsOf, sweep } from './sweep.ts';

const caseNames = [...agentNames, ...queueNames];
const policyNames = Object.keys(policies) as PolicyName[];
/** The policies for which the goals are set: the defaults, with and without a verify command. */
const judged: readonly PolicyName[] = ['default', 'default + verify'];

const USAGE = `npm run simulate -- [--count N] [--seed N] [--policy NAME] [--case NAME]
       npm run simulate -- --fleet|--lanes [--seed N]

Plays seeded agents and queues with known truth through the real loop, over several scheduled runs each, and reports what each
policy stopped too early, spent after the work was done, and spent on agents that were stuck. Exits with 1 when a goal
is missed that no rule of the specification stands against. With --case and --seed: plays that one history and
prints its iterations. With --fleet: plays a week of 1 to 1,000 repositories against the limits of
GitHub, and prints the tables of docs/scale.md. With --lanes: plays queues on one branch and on several at once.

policies:   ${policyNames.join(', ')}
agents:     ${agentNames.join(', ')}
queues:     ${queueNames.join(', ')}`;

const args = readArgs();
if (args.fleet) {
  console.log(await renderFleets(args.seed ?? 1));
} else if (args.lanes) {
  console.log(await renderLanes(args.seed ?? 1));
} else if (args.name !== null && args.seed !== null && args.count === null) {
  console.log(
    renderHistory(await playHistory(createCase(args.seed, args.name), configOf(policies[args.policy ?? 'default']))),
  );
} else {
  await compare();
}

async function compare(): Promise<void> {
  const startedAt = performance.now();
  const sweepOf = {
    seed: args.seed ?? 1,
    count: args.count ?? 960,
    names: args.name === null ? caseNames : [args.name],
  };
  const results = new Map<PolicyName, readonly Findings[]>();
  for (const policy of args.policy === null ? policyNames : [args.policy])
    results.set(policy, await sweep(sweepOf, policy));
  console.log(`${renderPolicies(results)}\n`);
  for (const [policy, found] of results) {
    if (!judged.includes(policy) && args.policy === null) continue;
    console.log(`${renderGoals(policy, found)}\n`);
    if (policy !== 'default + verify' || args.policy !== null) console.log(`${renderSpecCosts(found)}\n`);
    if (goalsOf(found, policy).some(({ missedBy }) => missedBy.length > 0)) process.exitCode = 1;
  }
  console.log(
    `${String(sweepOf.count)} histories per policy, in ${((performance.now() - startedAt) / 1000).toFixed(1)} s. Numbers are calls or stops in all, or medians (≤ the most). "By rule": the specification asks for it although the agent would have finished.`,
  );
}

function readArgs(): {
  readonly count: number | null;
  readonly seed: number | null;
  readonly policy: PolicyName | null;
  readonly name: CaseName | null;
  readonly fleet: boolean;
  readonly lanes: boolean;
} {
  const options = {
    count: { type: 'string' },
    seed: { type: 'string' },
    policy: { type: 'string' },
    case: { type: 'string' },
    fleet: { type: 'boolean' },
    lanes: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  try {
    const { count, seed, policy, case: name, help, fleet, lanes } = parseArgs({ options }).values;
    if (help === true) {
      console.log(USAGE);
      process.exit(0);
    }
    return {
      count: numberOf(count),
      seed: numberOf(seed),
      policy: nameOf(policy, policyNames),
      name: nameOf(name, caseNames),
      fleet: fleet === true,
      lanes: lanes === true,
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

function numberOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`"${text}" is not a whole number.`);
  return Number(text);
}

function nameOf<Name extends string>(text: string | undefined, names: readonly Name[]): Name | null {
  if (text === undefined) return null;
  const name = names.find((one) => one === text);
  if (name === undefined) throw new Error(`"${text}" is not one of: ${names.join(', ')}.`);
  return name;
}
