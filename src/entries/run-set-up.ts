import { buildVerifyEnvironment, describeWithheldVariables } from '../config/agent-environment.ts';
import type { Config, RunContext } from '../config/config.ts';
import { buildConfig, parseReach, type NotificationInputs } from '../config/inputs.ts';
import { type FailedOutcome, convertErrorToOutcome } from '../run/failure.ts';
import { readInputTexts, logDebug } from '../runner/results.ts';
import { readRunContext } from '../runner/run-context.ts';
import {
  ALL_PROVIDERS,
  describeAmbiguousLogins,
  findProblemsByAgent,
  listLoginProblems,
} from '../wiring/agents/providers.ts';
import { readConfigTexts, readSettledTexts } from '../wiring/settings/run-settings.ts';
import { listJobSecrets, type World } from '../wiring/world.ts';

/** The inputs and the environment of a run, as far as they are usable. */
export type RunSetUp =
  | { readonly kind: 'ready'; readonly config: Config; readonly context: RunContext }
  /** `reach` contains the inputs that are needed to notify people, or is null if nobody can be reached. */
  | {
      readonly kind: 'unusable';
      readonly failure: FailedOutcome;
      readonly reach: NotificationInputs | null;
      readonly context: RunContext | null;
    };

/** Reads the inputs and the environment, and returns the problems of both at once. */
export async function readRunSetUp(environment: World['environment']): Promise<RunSetUp> {
  const ofContext: FailedOutcome[] = [];
  const ofInputs: FailedOutcome[] = [];
  const attempt = async <T>(problems: FailedOutcome[], read: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      problems.push(
        convertErrorToOutcome(error, (stack) => {
          logDebug(listJobSecrets(environment, null).redact(stack));
        }),
      );
      return null;
    }
  };
  const given = readInputTexts(environment);
  const context = await attempt(ofContext, () => readRunContext(environment));
  const settled = await attempt(ofInputs, () =>
    context === null ? readSettledTexts(given, []) : readConfigTexts(given, { environment, context }),
  );
  const config = settled === null ? null : await attempt(ofInputs, () => buildConfig(settled));
  if (config !== null && context !== null) {
    const { order, others } = config.agent;
    const logsIn = config.handoff.login.kind !== 'lasting';
    const loginProblems = [
      ...listLoginProblems(environment, order),
      ...describeAmbiguousLogins(environment, order, logsIn),
    ];
    const otherLoginProblems = findProblemsByAgent(environment, others);
    const given = buildVerifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS);
    const verifyProblems = describeWithheldVariables(config.verify, { job: environment, given });
    return { kind: 'ready', config, context: { ...context, loginProblems, otherLoginProblems, verifyProblems } };
  }
  const problems = [...ofInputs, ...ofContext];
  const ours = problems.some(({ reason }) => reason === 'infrastructure');
  return {
    kind: 'unusable',
    reach: parseReach(settled?.texts ?? given),
    context: context === null ? null : { ...context, loginProblems: [], otherLoginProblems: {}, verifyProblems: [] },
    failure: {
      kind: 'failed',
      reason: ours ? 'infrastructure' : 'configuration',
      message: problems.map(({ message }) => message).join('\n'),
    },
  };
}
