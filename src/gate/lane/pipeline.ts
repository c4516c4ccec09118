import { createVariableAccess } from '../../config/agent-environment.ts';
import { findRuleProblem } from '../../config/tool-rules.ts';
import { AGENTS } from '../../core/agent-names.ts';
import { allowsWebSearch } from '../../core/agents/fresh-call.ts';
import { type Folder, toRootPath } from '../../core/folder.ts';
import type { McpServer } from '../../core/mcp/values.ts';
import type { ParsedPipeline } from '../../core/pipeline/parse-pipeline.ts';
import {
  agentsOfSteps,
  listAgentSteps,
  countCallsPerIteration,
  isSharedFileName,
  listOtherSteps,
  type Pipeline,
  PIPELINE_FILES,
} from '../../core/pipeline/pipeline.ts';
import type { Policy } from '../../core/policy.ts';
import { listFirstNames } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import type { GateDeps } from '../deps.ts';

/**
 * The pipeline of the base branch, or null if none, and the policy that results from it. `warnings` are
 * sentences.
 */
export interface ReadPipeline {
  readonly pipeline: Pipeline | null;
  readonly policy: Policy;
  readonly warnings: readonly string[];
}

/** Reads the pipeline from the base branch. Throws a UserError that names all of its problems. */
export async function readPipeline(
  given: Pick<GateDeps, 'config' | 'context' | 'repository' | 'variables' | 'log'>,
): Promise<ReadPipeline> {
  const { config, context, ...deps } = given;
  const { agent, handoff, policy, workingDirectory } = config;
  const found = await findPipeline({ ...deps, allowedTools: policy.allowedTools, within: workingDirectory });
  if (found.kind === 'wrong') throw unusable(found.problems);
  const pipeline = found.kind === 'none' ? null : found.pipeline;
  // The keys are in the job of the loop, so that job checks them.
  const problems = findStepAgentProblems(pipeline, { agent, context: handoff.phase === 'gate' ? null : context });
  if (problems.length > 0) throw unusable(problems);
  if (found.kind === 'none' || pipeline === null) return { pipeline: null, policy, warnings: [] };
  const { warnings } = found;
  // The summary shows them at the end of the run; the log shows them before the first call.
  for (const warning of warnings) deps.log.warning(warning);
  const bounds = [policy.maxIterationsPerTask, pipeline.maxIterationsPerTask].filter((bound) => bound > 0);
  return {
    pipeline,
    policy: {
      ...policy,
      maxIterationsPerTask: bounds.length === 0 ? 0 : Math.min(...bounds),
      callsPerIteration: countCallsPerIteration(pipeline),
      agentSteps: listAgentSteps(pipeline),
      otherSteps: listOtherSteps(pipeline),
    },
    warnings,
  };
}

/**
 * Returns the problems of the agents that steps name, and of inputs about agents that nothing names; `context` is null
 * in a job without their keys.
 */
export function findStepAgentProblems(
  pipeline: Pipeline | null,
  {
    agent: { order, others },
    context,
  }: {
    readonly agent: Pick<GateDeps['config']['agent'], 'order' | 'others'>;
    readonly context: Pick<GateDeps['context'], 'otherLoginProblems'> | null;
  },
): readonly string[] {
  const named = agentsOfSteps(pipeline).filter(({ name }) => order.every((one) => one.name !== name));
  const unnamed = others.filter(
    ({ name, path, args, model }) =>
      (path !== null || args.length > 0 || model !== null) && named.every((one) => one.name !== name),
  );
  return [
    ...named.flatMap(({ name, step }) => {
      const isMissing = AGENTS[name].source === null && others.every((one) => one.name !== name || one.path === null);
      const missing = isMissing ? [`give its path: \`agent-path: ${name}=PATH\`.`] : [];
      return [...missing, ...(context?.otherLoginProblems[name] ?? [])].map(
        (problem) => `step ${step} calls the agent ${name}: ${problem}`,
      );
    }),
    ...unnamed.map(
      ({ name }) =>
        `\`agent-path\`, \`agent-args\` or \`model\` has a line for ${name}, which is neither among the agents nor named by a step of a pipeline`,
    ),
  ];
}

/**
 * A pipeline found on the base branch. `problems` are sentences with file, line and column; `warnings` are sentences.
 */
type FoundPipeline =
  | { readonly kind: 'none' }
  | { readonly kind: 'wrong'; readonly problems: readonly string[] }
  | { readonly kind: 'pipeline'; readonly pipeline: Pipeline; readonly warnings: readonly string[] };

/** The places that may contain a pipeline, with the dependencies. */
interface PipelineDeps extends Pick<GateDeps, 'variables'> {
  readonly repository: Pick<GateDeps['repository'], 'readTexts'>;
  readonly log: Pick<GateDeps['log'], 'info'>;
  readonly allowedTools: Policy['allowedTools'];
  /** The folder of the files; people see their paths from the root. */
  readonly within: Folder;
}

/** Looks for the pipeline on the base branch, and uses the first file with steps. */
export async function findPipeline(deps: PipelineDeps): Promise<FoundPipeline> {
  const named = (file: string): string => toRootPath(deps.within, file);
  const { base, links, ...read } = await deps.repository.readTexts(PIPELINE_FILES, null);
  const unread = { ...read.unread, ...links };
  const places = PIPELINE_FILES.filter((place) => Object.hasOwn(base, place) || Object.hasOwn(unread, place));
  if (places.length === 0) return { kind: 'none' };
  const { parsePipeline } = await import('../../core/pipeline/parse-pipeline.ts');
  const others: string[] = [];
  for (const [index, file] of places.entries()) {
    const text = base[file];
    if (text === undefined && isSharedFileName(file)) {
      deps.log.info(`No steps are read from ${named(file)}: it ${unread[file] ?? ''}.`);
      continue;
    }
    const parsed =
      text === undefined
        ? ({ kind: 'wrong', problems: [{ at: null, message: unread[file] ?? '' }], steps: [] } as const)
        : parsePipeline(file, text, { variables: deps.variables, ruleProblem: findRuleProblem });
    if (parsed.kind === 'no-pipeline') {
      others.push(named(file));
      continue;
    }
    return resolved(deps, { file: named(file), parsed, ignored: places.slice(index + 1).map(named) });
  }
  if (others.length > 0)
    deps.log.info(
      `No pipeline: ${listFirstNames(others)} ${others.length === 1 ? 'has' : 'have'} no \`steps\` of this action.`,
    );
  return { kind: 'none' };
}

async function resolved(
  { allowedTools, repository, log }: PipelineDeps,
  found: {
    readonly file: string;
    readonly parsed: Exclude<ParsedPipeline, { readonly kind: 'no-pipeline' }>;
    readonly ignored: readonly string[];
  },
): Promise<FoundPipeline> {
  const { file, parsed, ignored } = found;
  const {
    describePipeline,
    listPipelineFiles: filesNamedBy,
    problemsOfPipeline,
    resolvePipeline,
  } = await import('../../core/pipeline/resolve.ts');
  const { base: texts, unread, links } = await repository.readTexts(filesNamedBy(parsed), null);
  const base = { texts, unread: { ...unread, ...links } };
  const problems = problemsOfPipeline(file, parsed, base);
  if (parsed.kind === 'wrong' || problems.length > 0) return { kind: 'wrong', problems };
  const pipeline = resolvePipeline(file, parsed, base);
  log.info(describePipeline(pipeline, parsed.unused));
  if (ignored.length > 0) log.info(`Not used, since ${file} comes first: ${listFirstNames(ignored)}`);
  const { missing, missingInCommands } = parsed;
  const warnings = [
    ...searchWarnings(pipeline, allowedTools),
    ...(missing.length === 0
      ? []
      : [
          `${file} names ${missing.length === 1 ? 'a variable' : 'variables'} that the agent does not see, so their place is empty: ${listFirstNames(missing.map((name) => `\`\${${name}}\``))}. Name what it may see in \`agent-env\`, or give a default: \`\${NAME:-default}\`.`,
        ]),
    ...missingInCommands.map(
      ({ step, names }) =>
        `${file}: the command of step ${step} names ${names.length === 1 ? 'a variable' : 'variables'} that it neither sees nor sets, so bash puts nothing in their place: ${listFirstNames(names.map((name) => `\`\${${name}}\``))}. Name what it may see in \`agent-env\`, or give a default: \`\${NAME:-default}\`.`,
    ),
  ];
  return { kind: 'pipeline', pipeline, warnings };
}

/** Warns of steps with WebSearch if the run's `allowed-tools` lacks it, because the run's rules apply to all calls. */
function searchWarnings({ file, steps }: Pipeline, allowedTools: Policy['allowedTools']): readonly string[] {
  const named = steps.flatMap((step) =>
    step.kind === 'agent' && step.allowedTools !== null && allowsWebSearch(step.allowedTools) ? [step.name] : [],
  );
  return named.length === 0 || allowsWebSearch(allowedTools)
    ? []
    : [
        `${file} gives WebSearch to ${listFirstNames(named)}, which searches only where the input \`allowed-tools\` has WebSearch as well.`,
      ];
}

function unusable(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `The pipeline of the base branch cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}

/**
 * Reads the MCP servers from the input, or from the file of the base branch that it names; never from the lane, which
 * the agent writes. Throws a UserError that names all of their problems.
 */
export async function readMcpServers(
  deps: Pick<GateDeps, 'variables'> & {
    readonly config: Pick<GateDeps['config'], 'agent' | 'workingDirectory'>;
    readonly repository: Pick<GateDeps['repository'], 'readTexts'>;
    readonly log: Pick<GateDeps['log'], 'info'>;
  },
): Promise<readonly McpServer[]> {
  const { config, repository, variables, log } = deps;
  const { agent, workingDirectory } = config;
  const { mcp } = agent;
  if (mcp.kind === 'none') return [];
  const where = mcp.kind === 'inline' ? '`mcp-config`' : toRootPath(workingDirectory, mcp.path);
  const text = mcp.kind === 'inline' ? mcp.text : await readBaseText(repository, mcp.path, where);
  const { parseMcpServers } = await import('../../core/mcp/parse-servers.ts');
  const parsed = parseMcpServers(text, (name) => createVariableAccess(name, { names: agent.envNames, variables }));
  if (parsed.kind === 'wrong') throw unusableServers(parsed.problems.map((problem) => `${where}: ${problem}`));
  const { servers } = parsed;
  log.info(
    servers.length === 0
      ? `MCP servers: none in ${where}`
      : `MCP servers from ${where}: ${listFirstNames(servers.map(({ name }) => name))}`,
  );
  return servers;
}

async function readBaseText(
  repository: Pick<GateDeps['repository'], 'readTexts'>,
  path: string,
  where: string,
): Promise<string> {
  const { base, unread, links } = await repository.readTexts([path], null);
  const text = base[path];
  if (text !== undefined) return text;
  const why = unread[path] ?? links[path] ?? 'is not on the base branch: commit it there, or correct `mcp-config`';
  throw unusableServers([`${where} ${why}`]);
}

function unusableServers(problems: readonly string[]): UserError {
  return new UserError(
    'configuration',
    `The MCP servers cannot be used, so no call was made:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
  );
}
