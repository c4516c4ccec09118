import { buildConfig } from '../../config/inputs.ts';
import type { Config, ConfiguredAgent } from '../../config/config.ts';
import { parseWorkingFolder } from '../../config/fields.ts';
import { parseRunSettings, mergeConfigTexts } from '../../config/settings/run-texts.ts';
import { NO_SETTINGS_MAPPING } from '../../config/settings/settings-input.ts';
import { MAX_USAGE_WAIT_MS } from '../../core/agents/providers.ts';
import type { WorkflowFile } from '../../core/doctor/facts.ts';
import { isExpression } from '../../core/doctor/workflow.ts';
import { cutText } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { readWorkflowFiles } from '../doctor/workflow-files.ts';
import { readSettingsFiles } from '../settings/run-settings.ts';
import { AGENTS } from '../../core/agent-names.ts';
import type { AskedRun } from '../../cli/run/run.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';
import { findPassedOverProgram, findTrustedProgram } from '../../processes/trusted-programs.ts';
import type { RunFolders } from './place.ts';

/** A placeholder for the token, which is never sent. */
const NO_TOKEN = 'no-token';

/**
 * Reads the settings of a local run: those of the command line, then the environment, the settings file of the branch
 * from which it works, and the defaults. Only here its texts become a Config. Throws a UserError that lists every
 * problem.
 */
async function readHomeSettings(sources: {
  readonly given: Readonly<Record<string, string>>;
  readonly temp: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The top folder of the person's checkout. */
  readonly top: string;
  /** The branch that is checked out, or null if none. */
  readonly branch: string | null;
}): Promise<Config> {
  const { given, temp, environment, top, branch } = sources;
  const texts = { ...given, 'github-token': NO_TOKEN, 'handoff-path': temp };
  const base = await readSettingsFiles(texts, { folder: top, baseBranch: branch, env: environment });
  const settings = parseRunSettings(environment, base.kind === 'texts' ? base.read : null, parseWorkingFolder(texts));
  const config = buildConfig({
    ...mergeConfigTexts({ inputs: texts, named: NO_SETTINGS_MAPPING }, settings),
    where: 'home',
  });
  if (config.handoff.phase !== 'all')
    throw new UserError('configuration', '`phase` is for jobs on GitHub: a local run has no phases.');
  return {
    ...config,
    githubToken: '',
    // No job's time limit applies during a wait, so set this maximum.
    policy: { ...config.policy, maxWaitMs: config.policy.onLimit === 'wait' ? MAX_USAGE_WAIT_MS : 0 },
    // A local run notifies nobody and waits for no review on GitHub, so switch these off.
    notify: { kind: 'none' },
    maxOpenPrs: 0,
    stateStore: 'auto',
  };
}

/** Inputs of the checkout's workflow that also apply to a local run. */
const SHARED = ['verify', 'allowed-tools'] as const;

const MAX_VERIFY_CHARS = 120;

export interface WorkflowInputs {
  readonly inputs: Readonly<Record<string, string>>;
  /** A line with the inputs that apply and their places, or null if none applies. */
  readonly note: string | null;
}

/** Reads the shared inputs from the checkout's workflow, except for those on the command line. */
export async function readWorkflowInputs(
  top: string,
  given: Readonly<Record<string, string>>,
): Promise<WorkflowInputs> {
  return readSharedInputs(await readWorkflowFiles(top), given);
}

/** Returns the shared inputs of the workflow that works in the same folder. */
export function readSharedInputs(
  files: readonly WorkflowFile[],
  given: Readonly<Record<string, string>>,
): WorkflowInputs {
  const folder = parseWorkingFolder(given);
  const steps = files.flatMap((file) =>
    file.kind === 'workflow' ? file.workflow.uses.slice(0, 1).map(({ inputs }) => ({ ...file.workflow, inputs })) : [],
  );
  const workflow = steps.find(({ inputs }) => parseWorkingFolder(inputs) === folder);
  if (workflow === undefined) return { inputs: {}, note: null };
  const wanted = SHARED.filter((name) => !Object.hasOwn(given, name) && (workflow.inputs[name] ?? '').trim() !== '');
  const unknown = wanted.filter((name) => isExpression(workflow.inputs[name] ?? ''));
  const known = wanted.filter((name) => !unknown.includes(name));
  const inputs = Object.fromEntries(known.map((name) => [name, workflow.inputs[name] ?? '']));
  const named = known.map((name) => (name === 'verify' ? `verify (${verifyWords(inputs)})` : name));
  const sentences = [
    ...(known.length === 0 ? [] : [`Uses ${named.join(' and ')} from ${workflow.path} in this checkout.`]),
    ...(unknown.length === 0
      ? []
      : [`The value of ${unknown.join(' and ')} in ${workflow.path} is known only on GitHub; to set it, use --input.`]),
  ];
  return { inputs, note: sentences.length === 0 ? null : sentences.join(' ') };
}

function verifyWords({ verify = '' }: WorkflowInputs['inputs']): string {
  return cutText(verify.trim().split('\n').join('; '), MAX_VERIFY_CHARS);
}

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
