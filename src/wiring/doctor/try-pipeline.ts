import { findRefusedCommands } from '../../agents/rules/shell-rules.ts';
import { DEFAULT_BRANCH_PREFIX } from '../../cli/defaults.ts';
import { buildVerifyEnvironment } from '../../config/agent-environment.ts';
import { KEY_INPUTS } from '../../core/agent-names.ts';
import { chooseFrom, describeMovedInput, parseToolRules } from '../../config/agent-inputs.ts';
import { splitList, parsePriceLines, parseWorkingFolder } from '../../config/fields.ts';
import { findInputProblems } from '../../config/inputs.ts';
import { ACTION_INPUTS, DEFAULTS, JOB_INPUTS } from '../../config/setting-table.ts';
import type { ActionRules, PipelineTrial } from '../../core/doctor/facts.ts';
import { listStepVariables } from '../../core/doctor/secret-findings.ts';
import { isExpression, logsInWithoutKey, type Workflow } from '../../core/doctor/workflow.ts';
import { toFolderKeys, type Folder, toRootPath } from '../../core/folder.ts';
import { PIPELINE_FILES } from '../../core/pipeline/pipeline.ts';
import { parseSignalFiles } from '../../core/pipeline/reading/signals-in-files.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { getErrorText, UserError } from '../../errors.ts';
import { EVENTS } from '../../gate/event/event-table.ts';
import { findPipeline, findStepAgentProblems } from '../../gate/lane/pipeline.ts';
import { readBaseTexts } from '../../git/checkout/texts.ts';
import type { Repository } from '../../ports/repository.ts';
import { listUnpricedModels } from './trials.ts';
import { ALL_PROVIDERS, describeAmbiguousLogins, findProblemsByAgent, listLoginProblems } from '../agents/providers.ts';

/** The rules of this version of the action. */
export const actionRules: ActionRules = {
  inputs: ACTION_INPUTS,
  jobInputs: JOB_INPUTS,
  renamed: describeMovedInput,
  inputProblems: findInputProblems,
  events: EVENTS,
  loginProblems: (environment, { action, inputs }) => {
    const { order } = chooseFrom(inputs);
    return [
      ...listLoginProblems(environment, order),
      ...describeAmbiguousLogins(environment, order, logsInWithoutKey(action)),
    ];
  },
  agents: (inputs) => chooseFrom(inputs).order,
  unpricedModels: (inputs) =>
    listUnpricedModels(
      chooseFrom(inputs).order,
      parsePriceLines(
        (inputs['prices'] ?? '')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      ).prices,
    ),
  keyInputs: KEY_INPUTS,
  refusedCommands: findRefusedCommands,
  toolRulesOf: parseToolRules,
  defaults: DEFAULTS,
};

type PipelineWorld = Omit<Parameters<typeof findPipeline>[0], 'log'> & {
  readonly agents: Parameters<typeof findStepAgentProblems>[1];
};

/** Reads the pipeline as a run does, and returns the lines that the run would log. */
export async function tryPipeline(world: PipelineWorld): Promise<PipelineTrial['found']> {
  const says: string[] = [];
  const log = {
    info: (line: string) => {
      says.push(line);
    },
  };
  try {
    const found = await findPipeline({ ...world, log });
    const { base } = await world.repository.readTexts(PIPELINE_FILES, null);
    const { problems } = parseSignalFiles(base);
    // The schema reports problems of a file with steps, so return them as they are.
    if (found.kind === 'wrong') return found;
    const wrong = [
      ...problems.map((problem) => toRootPath(world.within, problem)),
      ...findStepAgentProblems(found.kind === 'none' ? null : found.pipeline, world.agents),
    ];
    if (wrong.length > 0) return { kind: 'wrong', problems: wrong };
    return { kind: 'read', says, warnings: found.kind === 'none' ? [] : found.warnings };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'unknown', why: getErrorText(error) };
  }
}

/**
 * Tries the pipelines of a person's checkout as they are committed: one per workflow, or that of `ralph run` if there
 * is no workflow.
 */
export async function tryPipelines(
  workflows: readonly Workflow[],
  settings: readonly ReportedSettings[],
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<readonly PipelineTrial[]> {
  const asked =
    workflows.length > 0
      ? workflows.map(({ path, uses: [step] }) => ({
          where: path,
          environment: step?.environment ?? {},
          keys: step === undefined ? {} : listStepVariables(step, actionRules),
        }))
      : [{ where: null, environment: env, keys: env }];
  const trials: PipelineTrial[] = [];
  for (const { where, environment, keys } of asked) {
    const inForce = settings.find(({ workflow }) => where === null || workflow === where)?.settings ?? [];
    const inputs = Object.fromEntries(inForce.map(({ input, text }) => [input, text]));
    const names = splitList(inputs['agent-env'] ?? '');
    const given = buildVerifyEnvironment(environment, names, ALL_PROVIDERS);
    const known = Object.entries(given).filter(([, text]) => !isExpression(text));
    const texts = new Set<string>();
    const within = parseWorkingFolder(inputs);
    const repository = committed(within, { folder, env, texts });
    const agent = chooseFrom(inputs);
    const tools = inputs['allowed-tools'] ?? DEFAULTS['allowed-tools'] ?? '';
    const found = await tryPipeline({
      repository,
      // Variables that every program gets have other values on the runner, but only their existence matters here.
      variables: { ...buildVerifyEnvironment(env, [], ALL_PROVIDERS), ...Object.fromEntries(known) },
      allowedTools: parseToolRules(tools),
      within,
      agents: { agent, context: { otherLoginProblems: findProblemsByAgent(keys, agent.others) } },
    });
    const open = names.filter((name) => known.every(([one]) => one !== name));
    const openVariables = open.filter((name) => [...texts].some((text) => text.includes(`\${${name}`)));
    trials.push({ where, found, openVariables });
  }
  return trials;
}

/**
 * Creates a reader of text files of the base branch, relative to a folder of the checkout; adds what it reads to
 * `texts`.
 */
function committed(
  within: Folder,
  { folder, env, texts }: { readonly folder: string; readonly env: NodeJS.ProcessEnv; readonly texts: Set<string> },
): Pick<Repository, 'readTexts'> {
  return {
    readTexts: async (asked) => {
      const paths = asked.map((path) => toRootPath(within, path));
      const read = await readBaseTexts({ folder, paths, baseBranch: null, branchPrefix: DEFAULT_BRANCH_PREFIX, env });
      if (read.kind === 'unknown') throw new UserError('configuration', 'this checkout does not have the base branch.');
      const base = toFolderKeys(within, read.read.texts);
      for (const text of Object.values(base)) texts.add(text);
      return { base, unread: toFolderKeys(within, read.read.unread), links: {}, lane: null, fork: null };
    },
  };
}
