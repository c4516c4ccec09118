import { AGENTS } from '../../core/agent-names.ts';
import { readCheckoutFile } from '../../cli/command.ts';
import {
  type AskedValue,
  type BaseTrial,
  type KeyTrial,
  type PipelineTrial,
  listExampleBranches,
  withEffectiveInputs,
} from '../../core/doctor/facts.ts';
import type { Finding } from '../../core/doctor/finding.ts';
import { pickTaskLabel } from '../../core/doctor/repository-findings.ts';
import { toRootPath } from '../../core/folder.ts';
import { diagnoseRun } from '../../core/doctor/run-findings.ts';
import { buildVerificationSubject, matchesVerification } from '../../core/lane/verification.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { getErrorText, UserError } from '../../errors.ts';
import { createGit } from '../../git/git.ts';
import type { KnownLane } from '../../gate/deps.ts';
import { NO_NEEDS, type Examination } from '../../run/deps.ts';
import { findCacheObstacle } from '../../state/cache-environment.ts';
import type { World } from '../world.ts';
import { readEffectiveSettings } from '../settings/effective-settings.ts';
import { actionRules, tryPipeline } from './try-pipeline.ts';
import { judgeBaseTrial, tryApiKey, VERIFY_MS, listUnpricedModels } from './trials.ts';
import { readOtherWorkflows, readWorkflowFiles } from './workflow-files.ts';
import { hashText } from '../../run/packed-journal.ts';

/** The reason why the gate's job cannot check the agent. */
const ELSEWHERE = 'it is installed in the job with `phase: loop`.';

/** Examines the set-up in a run, with its own token, key, machine, checkout and event. */
export async function examineRun(world: World, known: KnownLane, by: Examination): Promise<readonly Finding[]> {
  const { config, context, environment } = world;
  // The gate's job has a token that can write, so do not run the agent's code in it.
  const isSplit = config.handoff.phase === 'gate';
  const [forge, remote, repository] = await Promise.all([by.forge(), by.remote(), by.repository()]);
  const checkoutProblems = await repository.problems();
  const written = await readWorkflowFiles(context.workspace);
  const settings = await readEffectiveSettings(written, { folder: context.workspace, env: environment });
  const files = withEffectiveInputs(written, settings);
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const notes = await readCheckoutFile(context.workspace, toRootPath(config.workingDirectory, '.ralph/AGENT.md'));
  const name = `${context.repository.owner}/${context.repository.repo}`;
  const [ofRepository, pushObstacle, pullRequestObstacle, key, agent, keepsCredentials] = await Promise.all([
    forge.settings({
      label: pickTaskLabel(actionRules, workflows[0] ?? null, settings),
      workflows: workflows.map(({ path }) => path),
      branches: [...new Set([known.branch, ...listExampleBranches(config.branchPrefix)])],
    }),
    obstacle(async () => (await remote.pushObstacle(null))?.why ?? null),
    obstacle(async () => {
      await forge.checkMayOpenPullRequests(known.baseBranch);
      return null;
    }),
    isSplit ? ({ kind: 'form-only' } as const) : tryRunKey(world),
    isSplit ? ({ kind: 'unknown', why: ELSEWHERE } as const) : askAgent(by),
    hasCredentials(world),
  ]);
  const pipeline: PipelineTrial['found'] =
    checkoutProblems.length > 0
      ? { kind: 'unknown', why: 'the checkout is not usable.' }
      : await tryPipeline({
          repository,
          variables: world.variables,
          allowedTools: config.policy.allowedTools,
          within: config.workingDirectory,
          agents: { agent: config.agent, context: isSplit ? null : context },
        });
  const verify: BaseTrial = isSplit
    ? { kind: 'not-tried' }
    : await tryBase(world, known, { ...by, isUsable: checkoutProblems.length === 0 });
  return diagnoseRun(
    {
      files,
      others: await readOtherWorkflows(context.workspace),
      settings,
      pipelines: [{ where: null, found: pipeline, openVariables: [] }],
      repository: { kind: 'known', value: { name, webUrl: `${context.serverUrl}/${name}`, settings: ofRepository } },
      key,
      verify,
      agentNotes: notes.kind === 'text' ? notes.text : '',
      hasNpm: true,
      spentTodayUsd: known.spentTodayUsd,
      run: {
        event: context.event.name,
        agentJob: isSplit ? 'another' : 'this',
        loginProblems: context.loginProblems,
        pushObstacle,
        pullRequestObstacle,
        checkoutProblems,
        keepsCredentials,
        agent,
        stateStore: config.stateStore,
        cacheObstacle: findCacheObstacle('save', environment),
        state: known.state,
        agents: config.agent.order.map(({ name }) => name),
        prices: {
          hasPrices: Object.keys(config.prices).length > 0,
          isLimited: config.policy.maxCostUsd + config.policy.maxCostUsdPerDay > 0,
          unpriced: listUnpricedModels(config.agent.order, config.prices),
        },
        allowedTools: config.policy.allowedTools,
        verify: config.verify,
        maxCostUsdPerDay: config.policy.maxCostUsdPerDay,
      },
    },
    actionRules,
  );
}

/**
 * Returns the obstacle that `ask` finds, or the reason why it could not be asked. Only a wrong set-up is an obstacle.
 */
async function obstacle(ask: () => Promise<string | null>): Promise<AskedValue<string | null>> {
  try {
    return { kind: 'known', value: await ask() };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.kind === 'configuration'
      ? { kind: 'known', value: error.message }
      : { kind: 'unknown', why: error.message };
  }
}

async function askAgent({ agent }: Examination): Promise<AskedValue<string>> {
  try {
    const { name, version } = await (await agent(NO_NEEDS)).prepare();
    return { kind: 'known', value: `${name} ${version}`.trim() };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'unknown', why: error.message };
  }
}

async function tryRunKey({ environment, config, context, log }: World): Promise<KeyTrial> {
  if (context.loginProblems.length > 0) return { kind: 'malformed', problems: context.loginProblems };
  for (const { name } of config.agent.order) {
    const isOfCloud = AGENTS[name].provider.switches.some((variable) => environment[variable] === '1');
    const trial = isOfCloud
      ? null
      : await tryApiKey(environment, { agent: name, which: "The agent's key", log: log.info });
    if (trial !== null && trial.kind !== 'form-only') return trial;
  }
  return { kind: 'form-only' };
}

/** Returns true if git finds a header with a token in the checkout's config, or in a file that the config includes. */
async function hasCredentials({ context, environment }: World): Promise<boolean> {
  const git = createGit({ folder: context.workspace, env: environment });
  const found = await git
    .answer(['config', '--includes', '--local', '--name-only', '--get-regexp', '^http\\..*extraheader$'])
    .catch(() => null);
  return found?.exitCode === 0;
}

/**
 * Returns the result of the verify commands on the base: from an earlier run, or from a trial in a clean clone that is
 * checked out as in a run.
 */
async function tryBase(
  { config, context, log }: World,
  { branch, baseBranch, baseVerification }: KnownLane,
  by: Examination & { readonly isUsable: boolean },
): Promise<BaseTrial> {
  if (config.verify.length === 0) return { kind: 'not-tried' };
  if (context.verifyProblems.length > 0) return { kind: 'withheld', why: context.verifyProblems.join(' ') };
  if (!by.isUsable) return { kind: 'impossible', why: 'the checkout is not usable.' };
  const { signal } = by;
  const repository = await by.repository();
  try {
    const { base } = await repository.openLane({ branch, baseBranch, start: { kind: 'fresh' } });
    if (
      baseVerification !== null &&
      matchesVerification(baseVerification, buildVerificationSubject(config.verify, { commit: base, sha256: hashText }))
    )
      return {
        kind: 'remembered',
        failed: baseVerification.kind === 'passed' ? null : (baseVerification.command ?? ''),
      };
    log.info(`verify runs once on the untouched base (${base.slice(0, 7)}) …`);
    const folder = await repository.checkOutCommitAlone(base, signal);
    const verifier = await by.verifier();
    const timeoutMs = Math.min(VERIFY_MS, config.policy.maxRunMs);
    const end = await verifier.verify({ folder, from: 0, timeoutMs, signal, onReport: null });
    return judgeBaseTrial(end, timeoutMs);
  } catch (error) {
    return { kind: 'impossible', why: completeSentence(getErrorText(error)) };
  }
}
