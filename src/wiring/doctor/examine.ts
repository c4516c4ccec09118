import { ALL_PROVIDERS } from '../agents/providers.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readCheckoutFile } from '../../cli/command.ts';
import { DEFAULT_BRANCH_PREFIX } from '../../cli/defaults.ts';
import type { AskedExamination, ExamineCheckout } from '../../cli/doctor/doctor.ts';
import type { OpenedPlaces } from '../../cli/lane/read-lane.ts';
import {
  findLoginProblems,
  describeMisnamedKey,
  buildVerifyEnvironment,
  describeWithheldVariables,
} from '../../config/agent-environment.ts';
import { parseWorkingFolder } from '../../config/fields.ts';
import { DEFAULT_AGENT } from '../../core/agent-names.ts';
import { diagnoseRepository } from '../../core/doctor/doctor.ts';
import {
  type AskedValue,
  type BaseTrial,
  type DoctorFacts,
  type KeyTrial,
  type RepositoryFacts,
  listExampleBranches,
  createUnknownSettings,
  withEffectiveInputs,
} from '../../core/doctor/facts.ts';
import { verifyOfStep } from '../../core/doctor/machine-findings.ts';
import { pickTaskLabel } from '../../core/doctor/repository-findings.ts';
import { isExpression, type Workflow } from '../../core/doctor/workflow.ts';
import { toRootPath } from '../../core/folder.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { completeSentence } from '../../core/text/phrase.ts';
import { parseBudgetIn } from '../../core/snapshot/snapshot.ts';
import { sumWindows } from '../../core/sharing/budget.ts';
import { getErrorMessage, UserError } from '../../errors.ts';
import { findWorkingDirectoryProblem } from '../../git/checkout/texts.ts';
import { findCredentials } from '../../git/checkout/credentials/credentials.ts';
import { createPrivateRepository } from '../../git/checkout/private-repository.ts';
import { checkOutTree } from '../../git/checkout/tree/check-out-tree.ts';
import { findWorkspace, readHead } from '../../git/checkout/workspace.ts';
import { findCheckout } from '../../git/home/person-checkout.ts';
import { createForge } from '../../github/forge.ts';
import { rememberSurroundings } from '../../processes/clean-surroundings.ts';
import { collectOutput } from '../../processes/collect-output.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import { createVerifier } from '../../processes/verifier.ts';
import { openPlaces } from '../lane-places.ts';
import { createPrintingLog, findOwnRepository } from '../own-github.ts';
import { readSettingsInForce } from '../settings/effective-settings.ts';
import { actionRules, tryPipelines } from './try-pipeline.ts';
import { judgeBaseTrial, tryApiKey, VERIFY_MS } from './trials.ts';
import { readOtherWorkflows, readWorkflowFiles } from './workflow-files.ts';

const GH_MS = 10_000;

const now = (): number => Date.now();

/** Examines the set-up for the command line, with the person's checkout, machine and token. */
export const examineCheckout: ExamineCheckout = async (asked) => {
  const { folder, remote, verify, log } = asked;
  const checkout = await findCheckout(folder, process.env).catch((error: unknown) => getErrorMessage(error));
  if (typeof checkout === 'string') return { kind: 'missing', why: checkout };
  const { top } = checkout;
  const written = await readWorkflowFiles(top);
  const settings = await readSettingsInForce(written, { folder: top, env: process.env });
  const files = withEffectiveInputs(written, settings);
  const workflows = files.flatMap((file) => (file.kind === 'workflow' ? [file.workflow] : []));
  const notes = await readCheckoutFile(
    top,
    toRootPath(parseWorkingFolder(workflows[0]?.uses[0]?.inputs ?? {}), '.ralph/AGENT.md'),
  );
  const [repository, key, opened] = await Promise.all([
    askGitHub({ ...asked, folder: top }, workflows, settings),
    tryOwnKey(log),
    openPlaces({ folder: top, remote }),
  ]);
  const facts: DoctorFacts = {
    files,
    others: await readOtherWorkflows(top),
    settings,
    pipelines: await tryPipelines(workflows, settings, { folder: top, env: process.env }),
    repository,
    key,
    verify: await tryVerify(top, workflows, verify ? log : null),
    agentNotes: notes.kind === 'text' ? notes.text : '',
    hasNpm: findTrustedProgram('npm', process.env) !== null,
    spentTodayUsd: await spentToday(opened),
  };
  return {
    kind: 'examined',
    repository: repository.kind === 'known' ? repository.value.name : null,
    findings: diagnoseRepository(facts, actionRules),
    settings,
  };
};

async function askGitHub(
  { folder, remote, log }: AskedExamination,
  workflows: readonly Workflow[],
  inForce: readonly ReportedSettings[],
): Promise<AskedValue<RepositoryFacts>> {
  const token = await ownToken();
  try {
    const options = await findOwnRepository({ folder, remote, log }, token ?? '');
    const name = `${options.repository.owner}/${options.repository.repo}`;
    const prefix = workflows[0]?.uses[0]?.inputs['branch-prefix'] ?? DEFAULT_BRANCH_PREFIX;
    const settings =
      token === null
        ? createUnknownSettings('there is no token. Set GITHUB_TOKEN, or log in with `gh auth login`.')
        : await createForge(options).settings({
            label: pickTaskLabel(actionRules, workflows[0] ?? null, inForce),
            workflows: workflows.map(({ path }) => path),
            branches: listExampleBranches(isExpression(prefix) ? DEFAULT_BRANCH_PREFIX : prefix),
          });
    return { kind: 'known', value: { name, webUrl: `${serverOf(options.apiUrl)}/${name}`, settings } };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'unknown', why: error.message };
  }
}

function serverOf(apiUrl: string): string {
  return apiUrl === 'https://api.github.com'
    ? 'https://github.com'
    : (process.env.GITHUB_SERVER_URL ?? apiUrl.replace(/\/api\/v3$/, '')).replace(/\/+$/, '');
}

/** Returns the token of the environment, or of the gh command for github.com, or null if none. */
async function ownToken(): Promise<string | null> {
  const given = (process.env.GITHUB_TOKEN ?? process.env.GH_TOKEN ?? '').trim();
  if (given !== '') return given;
  // gh's token is for github.com, so do not send it to another server.
  if ((process.env.GITHUB_API_URL ?? 'https://api.github.com') !== 'https://api.github.com') return null;
  const gh = findTrustedProgram('gh', process.env);
  if (gh === null) return null;
  const { end, stdout } = await collectOutput(
    {
      file: gh,
      args: ['auth', 'token', '--hostname', 'github.com'],
      cwd: homedir(),
      environment: Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, value ?? ''])),
      input: '',
      timeoutMs: GH_MS,
      family: { kind: 'group', graceMs: 200, leftover: 'end' },
    },
    64 * 1024,
  );
  const token = stdout.toString().trim();
  return end.kind === 'exited' && end.code === 0 && token !== '' ? token : null;
}

async function tryOwnKey(log: (line: string) => void): Promise<KeyTrial> {
  const { env } = process;
  const misnamed = describeMisnamedKey(env, ALL_PROVIDERS);
  const given = ALL_PROVIDERS.keys.filter((name) => (env[name] ?? '').trim() !== '');
  if (given.length === 0) return misnamed === null ? { kind: 'none' } : { kind: 'misnamed', why: misnamed };
  const problems = findLoginProblems(env, ALL_PROVIDERS);
  if (problems.length > 0) return { kind: 'malformed', problems };
  return tryApiKey(env, { agent: DEFAULT_AGENT, which: 'The key in ANTHROPIC_API_KEY', log });
}

async function spentToday(opened: OpenedPlaces): Promise<AskedValue<number>> {
  if (opened.kind === 'missing') return { kind: 'unknown', why: opened.why };
  const [place] = opened.places;
  if (place === undefined) return { kind: 'unknown', why: 'there is no state.' };
  const read = await place.store.read();
  if (read.kind === 'unavailable') return { kind: 'unknown', why: `the stored state cannot be reached: ${read.why}` };
  const counted = read.kind === 'snapshot' ? parseBudgetIn(read.snapshot, now()) : null;
  return counted?.kind === 'budget'
    ? { kind: 'known', value: sumWindows(counted.budget, '', now()).day?.costUsd ?? 0 }
    : { kind: 'unknown', why: 'a newer version wrote the counters.' };
}

/**
 * Checks that the first workflow's verify commands get the variables that they need. With a log, runs them in the
 * folder of its runs, in a clone of HEAD that is removed afterwards.
 */
async function tryVerify(
  top: string,
  workflows: readonly Workflow[],
  log: ((line: string) => void) | null,
): Promise<BaseTrial> {
  const step = workflows.flatMap(({ uses }) => uses).find((one) => (verifyOfStep({ step: one }) ?? []).length > 0);
  if (step === undefined) return { kind: 'not-tried' };
  const variables = (step.inputs['agent-env'] ?? '').match(/\w+/g) ?? [];
  const commands = verifyOfStep({ step }) ?? [];
  const withheld = describeWithheldVariables(commands, {
    job: step.environment,
    given: buildVerifyEnvironment(step.environment, variables, ALL_PROVIDERS),
  });
  if (withheld.length > 0) return { kind: 'withheld', why: withheld.join(' ') };
  return log === null
    ? { kind: 'not-tried' }
    : tryCommands(top, { commands, within: parseWorkingFolder(step.inputs), variables }, log);
}

/**
 * Runs commands in a clone of HEAD that is removed afterwards. `within` is the folder in which runs work, and
 * `variables` are the names of additional variables that the commands see.
 */
export async function tryCommands(
  top: string,
  tried: { readonly commands: readonly string[]; readonly within: string; readonly variables: readonly string[] },
  log: (line: string) => void,
): Promise<BaseTrial> {
  const { commands, within, variables } = tried;
  const parent = await mkdtemp(join(tmpdir(), 'ralph-doctor-'));
  const interrupted = new AbortController();
  const interrupt = (): void => {
    interrupted.abort();
  };
  process.once('SIGINT', interrupt);
  try {
    const clone = await layHead(top, parent, { log, signal: interrupted.signal });
    const misplaced = await findWorkingDirectoryProblem(clone, within);
    if (misplaced !== null) return { kind: 'impossible', why: misplaced };
    const environment = buildVerifyEnvironment(process.env, variables, ALL_PROVIDERS);
    const verifier = createVerifier({
      commands,
      bash: () => findTrustedProgram('bash', process.env),
      workFolder: clone,
      folder: within,
      environment,
      clean: await rememberSurroundings({ environment, workspace: top, folder: parent, trees: dirname(clone) }),
      // Use no sandbox, because this is a person's own checkout on their own machine.
      agentSandbox: null,
      runTag: randomUUID(),
      log: createPrintingLog(log),
      now,
    });
    const { signal } = interrupted;
    const end = await verifier.verify({ folder: clone, from: 0, timeoutMs: VERIFY_MS, signal, onReport: null });
    return judgeBaseTrial(end, VERIFY_MS);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { kind: 'impossible', why: error.message };
  } finally {
    process.removeListener('SIGINT', interrupt);
    await rm(parent, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Checks out the person's current commit into a new folder without ignored files, as a run does on a new machine;
 * returns the folder.
 */
async function layHead(
  top: string,
  workFolder: string,
  { log, signal }: { readonly log: (line: string) => void; readonly signal: AbortSignal },
): Promise<string> {
  const { env } = process;
  const options = { env, log: createPrintingLog(log) };
  const workspace = await findWorkspace(top, options);
  if ('why' in workspace)
    throw new UserError('configuration', `${top} is not a git checkout: ${completeSentence(workspace.why)}`);
  const commit = await readHead(workspace);
  if (commit === null) throw new UserError('configuration', `The repository in ${top} has no commits yet.`);
  const tree = await checkOutTree(
    {
      ...{ ...options, workspace, workFolder, agentSandbox: null, signal },
      repository: await createPrivateRepository(workspace, { workFolder, env, hide: [] }),
      credentials: await findCredentials(workspace, options),
    },
    {
      ...{ kind: 'clean', commit, branch: null, base: null, hasIgnored: false, sparseSince: commit },
      objects: [join(workspace.commonFolder, 'objects')],
    },
  );
  return tree.top;
}
