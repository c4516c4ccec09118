import { buildConfig } from '../../config/inputs.ts';
import type { Config } from '../../config/config.ts';
import { workingFolderOf } from '../../config/fields.ts';
import { parseRunSettings, mergeConfigTexts } from '../../config/settings/run-texts.ts';
import { NO_SETTINGS_MAPPING } from '../../config/settings/settings-input.ts';
import { MAX_USAGE_WAIT_MS } from '../../core/agents/providers.ts';
import type { WorkflowFile } from '../../core/doctor/facts.ts';
import { isExpression } from '../../core/doctor/workflow.ts';
import { cutText } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { readWorkflowFiles } from '../doctor/workflow-files.ts';
import { readSettingsFiles } from '../settings/run-settings.ts';

/** A placeholder for the token, which is never sent. */
const NO_TOKEN = 'no-token';

/**
 * Reads the settings of a local run: those of the command line, then the environment, the settings file of the branch
 * from which it works, and the defaults. Only here its texts become a Config. Throws a UserError that lists every
 * problem.
 */
export async function readHomeSettings(sources: {
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
  const settings = parseRunSettings(environment, base.kind === 'texts' ? base.read : null, workingFolderOf(texts));
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
  const folder = workingFolderOf(given);
  const steps = files.flatMap((file) =>
    file.kind === 'workflow' ? file.workflow.uses.slice(0, 1).map(({ inputs }) => ({ ...file.workflow, inputs })) : [],
  );
  const workflow = steps.find(({ inputs }) => workingFolderOf(inputs) === folder);
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
