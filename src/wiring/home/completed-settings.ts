import { AGENTS } from '../../core/agent-names.ts';
import type { AskedRun } from '../../cli/run/run.ts';
import type { Config, ConfiguredAgent } from '../../config/config.ts';
import { UserError } from '../../errors.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';
import { findPassedOverProgram, findTrustedProgram } from '../../processes/trusted-programs.ts';
import type { RunFolders } from './place.ts';
import { readHomeSettings } from './settings.ts';

/** Returns the settings, completed from this checkout; throws a UserError for impossible ones. */
export async function completeHomeSettings(
  given: AskedRun['inputs'],
  home: { readonly checkout: PersonCheckout; readonly place: RunFolders; readonly environment: NodeJS.ProcessEnv },
): Promise<Config> {
  const { checkout, place, environment } = home;
  const { top, branch } = checkout;
  const config = await readHomeSettings({ given, temp: place.temp, environment, top, branch });
  const baseBranch = config.baseBranch ?? checkout.branch;
  if (baseBranch === null)
    throw new UserError(
      'configuration',
      `HEAD is detached in ${checkout.top}, so there is no branch to work from. Switch to one, or name it with --input base-branch=NAME.`,
    );
  const lane = `${config.branchPrefix}queue`;
  const isWritten = (branch: string): boolean =>
    branch === lane || (config.parallel > 1 && branch.startsWith(config.branchPrefix));
  const written = checkout.checkedOut.find(isWritten);
  if (baseBranch.startsWith(config.branchPrefix) || written !== undefined)
    throw new UserError(
      'configuration',
      `${written ?? lane} is checked out in ${checkout.top} or in one of its work trees, and the run writes to that branch. Switch to the branch that the work is for, such as "git switch main".`,
    );
  const [first, ...others] = config.agent.order;
  const order = [
    withInstalledProgram(first, environment),
    ...others.map((one) => withInstalledProgram(one, environment)),
  ] as const;
  return { ...config, baseBranch, agent: { ...config.agent, order } };
}

/** Returns the agent with the path of the person's own program, if there is one. */
function withInstalledProgram(chosen: ConfiguredAgent, environment: NodeJS.ProcessEnv): ConfiguredAgent {
  const { name, path } = chosen;
  return { ...chosen, path: path ?? (AGENTS[name].source === null ? null : findTrustedProgram(name, environment)) };
}

/**
 * Returns a sentence that names the agent's program that the person's shell would start, if the run does not start it.
 */
export function describePassedOver({ name, path }: ConfiguredAgent, environment: NodeJS.ProcessEnv): readonly string[] {
  const over =
    AGENTS[name].source === null || path !== findTrustedProgram(name, environment)
      ? null
      : findPassedOverProgram(name, environment);
  if (over === null) return [];
  const instead = path === null ? 'the run installs its own' : `the run uses ${path}`;
  return [
    `${over.path} is not used, because ${over.why}: ${instead}. To use it anyway, pass --input agent-path=${over.path}.`,
  ];
}
