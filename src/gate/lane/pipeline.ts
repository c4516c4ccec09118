import { ruleProblem } from '../../config/tool-rules.ts';
import { fromRoot } from '../../core/folder.ts';
import {
  agentStepsOf,
  callsPerIteration,
  isAnybodys,
  PIPELINE_FILES,
  type Pipeline,
} from '../../core/pipeline/pipeline.ts';
import type { PlannedPipeline } from '../../core/pipeline/parse-pipeline.ts';
import type { Policy } from '../../core/policy.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';

/** The pipeline of the base branch (null: there is none), and the policy that holds with it. `warnings` are sentences. */
export interface ReadPipeline {
  readonly pipeline: Pipeline | null;
  readonly policy: Policy;
  readonly warnings: readonly string[];
}

/** Reads the pipeline from the base branch: the first file that has steps counts. Throws a UserError that names all that is wrong with it. */
export async function readPipeline(
  deps: Pick<GateDeps, 'config' | 'repository' | 'variables' | 'log'>,
): Promise<ReadPipeline> {
  const { policy, workingDirectory } = deps.config;
  // People find files from the root.
  const named = (file: string): string => fromRoot(workingDirectory, file);
  const { base, links, ...read } = await deps.repository.readTexts(PIPELINE_FILES, null);
  const unread = { ...read.unread, ...links };
  const places = PIPELINE_FILES.filter((place) => Object.hasOwn(base, place) || Object.hasOwn(unread, place));
  if (places.length === 0) return { pipeline: null, policy, warnings: [] };
  const { parsePipeline } = await import('../../core/pipeline/parse-pipeline.ts');
  const others: string[] = [];
  for (const [index, file] of places.entries()) {
    const text = base[file];
    if (text === undefined && isAnybodys(file)) {
      deps.log.info(`No steps are read from ${named(file)}: it ${unread[file] ?? ''}.`);
      continue;
    }
    const parsed =
      text === undefined
        ? ({ kind: 'wrong', problems: [`${named(file)} ${unread[file] ?? ''}`] } as const)
        : parsePipeline(file, text, { variables: deps.variables, ruleProblem, called: named(file) });
    if (parsed.kind === 'no-pipeline') {
      others.push(named(file));
      continue;
    }
    const counting =
      parsed.kind === 'wrong'
        ? parsed
        : await resolved(deps, { file: named(file), planned: parsed, ignored: places.slice(index + 1).map(named) });
    if (counting.kind === 'wrong') throw unusable(counting.problems);
    return counting;
  }
  if (others.length > 0)
    deps.log.info(
      `No pipeline: ${namesOf(others)} ${others.length === 1 ? 'has' : 'have'} no \`steps\` of this action.`,
    );
  return { pipeline: null, policy, warnings: [] };
}

async function resolved(
  { config, repository, log }: Pick<GateDeps, 'config' | 'repository' | 'log'>,
  {
    file,
    planned,
    ignored,
  }: { readonly file: string; readonly planned: PlannedPipeline; readonly ignored: readonly string[] },
): Promise<
  ({ readonly kind: 'read' } & ReadPipeline) | { readonly kind: 'wrong'; readonly problems: readonly string[] }
> {
  const { describePipeline, filesNamedBy, resolvePipeline } = await import('../../core/pipeline/resolve.ts');
  const { base, unread, links } = await repository.readTexts(filesNamedBy(planned), null);
  const found = resolvePipeline(file, planned, { texts: base, unread: { ...unread, ...links } });
  if (found.kind === 'wrong') return found;
  const { pipeline } = found;
  log.info(describePipeline(pipeline, planned.unused));
  if (ignored.length > 0) log.info(`Not used, since ${file} comes first: ${namesOf(ignored)}`);
  const calls = callsPerIteration(pipeline);
  const bounds = [config.policy.maxIterationsPerTask, pipeline.maxIterationsPerTask].filter((bound) => bound > 0);
  const { missing, missingInCommands } = planned;
  const policy = {
    ...config.policy,
    maxIterationsPerTask: bounds.length === 0 ? 0 : Math.min(...bounds),
    callsPerIteration: calls,
    agentSteps: agentStepsOf(pipeline),
  };
  const warnings = [
    ...searchWarnings(pipeline, config.policy),
    ...(missing.length === 0
      ? []
      : [
          `${file} names ${missing.length === 1 ? 'a variable' : 'variables'} that the agent does not see, so their place is empty: ${namesOf(missing.map((name) => `\`\${${name}}\``))}. Name what it may see in \`agent-env\`, or give a default: \`\${NAME:-default}\`.`,
        ]),
    ...missingInCommands.map(
      ({ step, names }) =>
        `${file}: the command of step ${step} names ${names.length === 1 ? 'a variable' : 'variables'} that it neither sees nor sets, so bash puts nothing in their place: ${namesOf(names.map((name) => `\`\${${name}}\``))}. Name what it may see in \`agent-env\`, or give a default: \`\${NAME:-default}\`.`,
    ),
  ];
  return { kind: 'read', pipeline, policy, warnings };
}

/** The way to the model is opened once for all calls, by the rules of the run. */
function searchWarnings({ file, steps }: Pipeline, { allowedTools }: Policy): readonly string[] {
  const searches = (rules: readonly string[]): boolean => rules.some((rule) => /^WebSearch(?:\(|$)/.test(rule));
  const named = steps.flatMap((step) =>
    step.kind === 'agent' && step.allowedTools !== null && searches(step.allowedTools) ? [step.name] : [],
  );
  return named.length === 0 || searches(allowedTools)
    ? []
    : [
        `${file} gives WebSearch to ${namesOf(named)}, which searches only where the input \`allowed-tools\` has WebSearch as well.`,
      ];
}

function unusable(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `The pipeline of the base branch cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}
