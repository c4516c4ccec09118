import { buildVerifyEnvironment, describeWithheldVariables } from '../../config/agent-environment.ts';
import { ALL_PROVIDERS } from '../agents/providers.ts';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { readCheckoutFile, type Terminal, UsageError } from '../../cli/command.ts';
import {
  type AskedRun,
  type EndedLane,
  type LocalRunResult,
  type RunHere,
  combineLanes,
  renderLanes,
} from '../../cli/run/run.ts';
import type { Config } from '../../config/config.ts';
import { toRootPath } from '../../core/folder.ts';
import { parseFoundStatus, type RunStatus } from '../../core/local/status-document.ts';
import { deriveConclusion } from '../../core/outcome.ts';
import { policyOfShare } from '../../core/parallel/shares.ts';
import { UserError } from '../../errors.ts';
import { ignoreLocally, isOnBranch, readPersonCheckout, type PersonCheckout } from '../../git/home/person-checkout.ts';
import { removeTree } from '../../git/remove-tree.ts';
import type { RunReport } from '../../handover/report.ts';
import { createLogFiles, createTerminalLog } from '../../home/log-files.ts';
import {
  checkStatePath,
  claimRun,
  readNextRunNumber,
  openJournalFolder,
  releaseRun,
  RUN_FILES,
  type RunClaim,
  runFilesBeside,
  type WorkedFolder,
} from '../../home/own-folder.ts';
import { createStatusFiles, listenForInterruption } from '../../home/status-files.ts';
import {
  listDoneTasks,
  selectLaneReport,
  findResumeInstant,
  listLaneTasks,
  selectWorkedReport,
} from '../../report/facts.ts';
import { renderEndAtHome } from '../../report/sentences/at-home.ts';
import { computeKnownCostUsd } from '../../report/sentences/spend.ts';
import { takeWork, type TakenWork } from '../../processes/same-program.ts';
import { withNamedWait } from '../../ports/waits.ts';
import type { GenerationFiles } from '../../state/generation-files.ts';
import { endAgent } from '../isolation/isolated.ts';
import { type LaneOfRun, workInProcesses, cleanUpAfter } from './processes/beside.ts';
import { createCheckoutFiles } from './checkout-state.ts';
import { hasCollector, collectSecrets, systemClock } from '../world.ts';
import { prepareCopy } from './copy.ts';
import { hasColours } from '../../cli/terminal-text.ts';
import { connectHomeForge, createAbsentForge } from './forge.ts';
import { createHomeWorld, openHomeStore, type HomeSetting, createCountdown } from './home-world.ts';
import { findHomeLogin } from './login.ts';
import { folderOfLanes, placeOfHome, locateLaneFolders, buildRunFolderPath } from './place.ts';
import { playAtHome } from './play.ts';
import { showWhatWouldRun } from './dry-run.ts';
import { checkRemote, pushBranch } from './push.ts';
import { readWorkflowInputs, type WorkflowInputs, completeHomeSettings, describePassedOver } from './settings.ts';
import { findIgnoredFiles, describeUncommitted } from './uncommitted.ts';

/**
 * The oldest major version of Node on which a run works, because the runtime of the sandbox without root and the sender
 * of traces need it. The other commands work on the versions in package.json; on GitHub, the code runs on Node 24.
 */
const OLDEST_NODE = 22;
/** Time in ms for printing the last lines before the process exits. */
const EXIT_AFTER_MS = 300;
/** Maximum time in ms for a run that must end at once. */
const END_WITHIN_MS = 15_000;

/** Creates the function that runs `ralph run`. `packageRoot` is the folder of action.yml, templates/ and dist/. */
export function createRunHere(packageRoot: URL): RunHere {
  return async (given, terminal) => {
    const environment = process.env;
    const handed = await takeWork(environment);
    // This same program has written the work, so assume its type.
    const taken = handed === null ? null : { ...(handed.work as LaneOfRun), obey: handed.obey };
    const asked = taken?.asked ?? given;
    if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE)
      throw new UsageError(
        [`a run needs Node ${String(OLDEST_NODE)} or newer, but this is ${process.version}.`],
        'none',
      );
    try {
      const checkout = await readPersonCheckout(asked.folder, environment);
      checkStatePath(checkout.top);
      if (asked.push) await checkRemote(checkout);
      const home = placeOfHome(checkout.top, environment);
      const place = taken === null ? home : locateLaneFolders(home, taken.intake.lane.id);
      const shared = await readWorkflowInputs(checkout.top, asked.inputs);
      const inputs = { ...shared.inputs, ...asked.inputs };
      const config = await completeHomeSettings(inputs, { checkout, place, environment });
      const result = await begin({ asked, terminal, packageRoot, environment, checkout, place, config, shared, taken });
      await handed?.end(result);
      return result;
    } catch (error) {
      // Nothing has begun, so only print the error, like wrong arguments.
      if (error instanceof UserError) throw new UsageError(error.message.split('\n'), 'none');
      throw error;
    }
  };
}

/** A lane that this process works on for another one; `obey` turns the other process's orders into signals here. */
type TakenLane = LaneOfRun & Pick<TakenWork, 'obey'>;

interface Beginning extends Pick<HomeSetting, 'packageRoot' | 'environment' | 'place' | 'config'> {
  readonly asked: AskedRun;
  readonly terminal: Terminal;
  readonly checkout: PersonCheckout;
  readonly shared: WorkflowInputs;
  /** The lane that another process of the run has handed to this one, or null if a person started this one. */
  readonly taken: TakenLane | null;
}

async function begin(begun: Beginning): Promise<LocalRunResult> {
  const { asked, terminal, environment, checkout, place, taken } = begun;
  const { top } = checkout;
  const write = (text: string): void => {
    if (asked.json) terminal.error(text);
    else terminal.out(text);
  };
  const countdown = asked.json ? null : createCountdown(process.stdout, environment, write);
  const print = countdown?.print ?? write;
  const secrets = collectSecrets(environment, { envNames: begun.config.agent.envNames, announce: () => undefined });
  const warn = (text: string): void => {
    print(`! ${secrets.redact(text)}\n`);
  };
  const login = findHomeLogin(environment, begun.config, process.platform);
  const found = begun.config.taskSources.includes('issues')
    ? await connectHomeForge(top, environment, (line) => {
        print(`${line}\n`);
      })
    : null;
  const forge = found?.kind === 'forge' ? found : null;
  if (forge === null && Number(asked.inputs.parallel ?? '1') > 1)
    throw new UserError(
      'configuration',
      `--parallel works on labelled issues at once, but they are not read: ${found?.kind === 'none' ? found.why : '`task-sources` does not name them'}.`,
    );
  const { policy } = begun.config;
  const config: Config = {
    ...begun.config,
    policy: taken === null ? policy : policyOfShare(policy, taken.share),
    parallel: forge === null || asked.task !== null ? 1 : begun.config.parallel,
    isolation: login.isolation,
    // A local run publishes nothing, so do not sign commits or answer pull requests.
    signCommits: 'false',
    answers: { ...begun.config.answers, reviews: false, checks: false },
    taskSources:
      forge === null ? begun.config.taskSources.filter((source) => source !== 'issues') : begun.config.taskSources,
  };
  const startedAt = systemClock.now();
  const runTag = taken?.runTag ?? randomUUID();
  const setting = (log: HomeSetting['log'], number: number): HomeSetting => ({
    ...{ config, packageRoot: begun.packageRoot, environment, top, place, runTag, number, secrets, log },
    runFolder: buildRunFolderPath(place, number),
    repository: forge?.repository ?? { owner: 'local', repo: 'checkout' },
    agentFolder: login.agentFolder,
    loginProblems: login.problems,
    verifyProblems: describeWithheldVariables(config.verify, {
      job: environment,
      given: buildVerifyEnvironment(environment, config.agent.envNames, ALL_PROVIDERS),
    }),
  });
  if (config.taskSources.length === 0)
    throw new UserError(
      'configuration',
      `There is nothing to work on: task-sources is "issues", but ${found?.kind === 'none' ? found.why : 'no issues are read'}.`,
    );

  const worked: WorkedFolder = { top, folder: config.workingDirectory };
  const places = taken === null ? RUN_FILES : runFilesBeside(taken.intake.lane.id);
  const files = asked.dryRun ? null : createLogFiles(worked, { ...places, now: systemClock.now, warn });
  const status = asked.dryRun ? null : createStatusFiles(worked, { ...places, now: systemClock.now, warn });
  const log = createTerminalLog({
    ...{ redact: secrets.redact, print, colours: !asked.json && hasColours(environment) },
    files: files ?? { line: () => undefined, iterationBegins: () => undefined, iterationEnds: () => undefined },
    lineLogged: (line) => status?.lineLogged(line),
  });
  const leaveOut = await findIgnoredFiles(checkout, config);
  const sayFirst = (): void => {
    if (found?.kind === 'none') log.info(`Labelled issues are not read: ${found.why}. Tasks come from files.`);
    if (login.note !== null) log.warning(login.note);
    for (const line of config.agent.order.flatMap((one) => describePassedOver(one, environment))) log.warning(line);
    if (begun.shared.note !== null) log.info(begun.shared.note);
    const lines = describeUncommitted({ ...checkout, ignored: leaveOut }, config.workingDirectory);
    for (const line of lines) log.warning(line);
  };
  const findStart = startsIn(checkout, config.baseBranch ?? '');
  const gate = { forge: forge?.forge ?? createAbsentForge(), findStart };
  if (asked.dryRun) {
    sayFirst();
    return showWhatWouldRun(
      { config, checkout, environment, leaveOut, wanted: asked.task },
      { setting: setting(log, await readNextRunNumber(createCheckoutFiles(top))), gate, print },
    );
  }

  const kept = createCheckoutFiles(top);
  const { number, killed, release } = await holdCheckout(kept, taken, {
    ...{ runTag, startedAt, folder: config.workingDirectory },
    runFolderOf: (next) => buildRunFolderPath(place, next),
  });
  const interruption = listenForInterruption({
    say: (text) => {
      // Only the process that the person started reports this, so that it is not repeated.
      if (taken === null) log.warning(text);
    },
    giveUp: () => {
      void endAgent(runTag).finally(() => process.exit(1));
    },
    withinMs: END_WITHIN_MS,
  });
  const beside: Promise<readonly LocalRunResult[]>[] = [];
  let endOwnLane = (): void => undefined;
  const ownEnded = new Promise<void>((resolve) => (endOwnLane = resolve));
  try {
    taken?.obey();
    if (taken === null) sayFirst();
    if (killed !== null) await cleanUpAfter(killed, { place, environment, log });
    const shown = ['status.json', 'progress.json', 'logs'].map((name) => toRootPath(worked.folder, `.ralph/${name}`));
    await ignoreLocally(checkout, ['.ralph/state', ...shown]);
    const signal = AbortSignal.any([interruption.ending, interruption.signal]);
    await withNamedWait('the copy of your checkout', () => prepareCopy({ ...begun, config, leaveOut, signal }, log));
    mkdirSync(buildRunFolderPath(place, number), { recursive: true, mode: 0o700 });
    const world = createHomeWorld(setting(log, number));
    const report = await playAtHome(world, {
      ...{ top, place, kept, gate, interruption, startedAt, status, countdown },
      task: asked.task,
      handed: taken?.intake ?? null,
      startBeside: (lanes) => {
        const atOnce = config.parallel;
        const handed = lanes.map((lane, index) => {
          const share = { at: index + 1, of: lanes.length + 1, atOnce };
          return { ...lane, asked, number, share };
        });
        const store = () => openHomeStore(kept, top);
        beside.push(...workInProcesses(handed, { atOnce, ownEnded }, { world, place, store, interruption, print }));
      },
      runName: `local-${String(number)}`,
      journalFolder: () =>
        openJournalFolder(worked, { ...places, instead: buildRunFolderPath(place, number), warn: log.warning }),
      before: await lastStatus(worked, places.status),
    });
    endOwnLane();
    if (beside.length > 0) log.info('Waiting for the other branches of this run to end.');
    const others = (await Promise.all(beside)).flat();
    print('\n');
    const isFailure = deriveConclusion(report.outcome, config.failOn) === 'failure';
    const [title = '', ...rest] = renderEndAtHome(report).split('\n');
    log.info(title, isFailure ? 'bad' : report.outcome.kind === 'complete' ? 'good' : 'heading');
    log.info(rest.join('\n'));
    const pushed = asked.push ? await pushBranch(checkout, report, log) : null;
    const ended = combineLanes([endedLane(report, pushed), ...others.flatMap((other) => other.ended.branches)]);
    if (others.length > 0) log.info(`The branches of this run:\n${renderLanes(ended)}`);
    if (hasCollector(environment)) {
      const { sendTelemetry } = await import('../telemetry.ts');
      await sendTelemetry(world, { kind: 'ended', report, beside: [] }, startedAt);
    }
    return { ended, failed: isFailure || pushed === false || others.some((other) => other.failed) };
  } finally {
    endOwnLane();
    await Promise.allSettled(beside);
    await endAgent(runTag).catch(() => undefined);
    const own = [place.temp, place.work];
    for (const folder of taken === null ? [...own, folderOfLanes(place)] : own)
      await removeTree(folder).catch(() => undefined);
    await release();
    // Stop the interruption last, so that the claim is always released.
    interruption.stop();
    // Exit, because the broker still listens and a socket may hang, and neither may keep the process alive.
    setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
  }
}

/** Claims the checkout, unless this process works on a lane for another one, which already holds the claim. */
async function holdCheckout(
  kept: GenerationFiles,
  taken: TakenLane | null,
  of: Parameters<typeof claimRun>[1],
): Promise<{ readonly number: number; readonly killed: RunClaim | null; readonly release: () => Promise<void> }> {
  if (taken !== null) return { number: taken.number, killed: null, release: () => Promise.resolve() };
  const { claim, killed } = await claimRun(kept, of);
  return { number: claim.number, killed, release: () => releaseRun(kept, claim) };
}

/** Returns the last status of the previous run, or null if another Ralph or a newer version wrote it. */
async function lastStatus({ top, folder }: WorkedFolder, own: readonly string[]): Promise<RunStatus | null> {
  const file = await readCheckoutFile(top, toRootPath(folder, [...own, 'status.json'].join('/')));
  const found = file.kind === 'text' ? parseFoundStatus(file.text) : null;
  return found?.kind === 'ours' ? found.run : null;
}

/** Finds the start of the lane's branch, which is the base again once the base contains the whole branch. */
function startsIn({ git }: PersonCheckout, base: string): Parameters<typeof playAtHome>[1]['gate']['findStart'] {
  const nothing = { pullRequest: null, workIsLost: false, closedBy: null, renamedTo: null };
  return async ({ remoteHead, last }) => {
    if (remoteHead === null) {
      const workIsLost = last !== null && !(await isOnBranch(git, last.head, base));
      return { ...nothing, start: { kind: 'fresh' }, workIsLost };
    }
    if (await isOnBranch(git, remoteHead, base))
      return { ...nothing, start: { kind: 'restart', mergedHead: remoteHead } };
    return { ...nothing, start: { kind: 'continue', remoteHead } };
  };
}

function endedLane(report: RunReport, pushed: boolean | null): EndedLane {
  const work = selectWorkedReport(report);
  const lane = selectLaneReport(report);
  const resumeAt = findResumeInstant(report.outcome);
  return {
    outcome: report.outcome.kind,
    reason: report.outcome.reason,
    iterations: work?.iterations.length ?? 0,
    tasksDone: listDoneTasks(report).length,
    tasks: listLaneTasks(report).length,
    branch: lane?.branch ?? null,
    head: lane?.headSha ?? null,
    costUsd: work === null ? 0 : computeKnownCostUsd(work),
    tokens: work?.tokens ?? 0,
    resumeAt: resumeAt === null ? null : new Date(resumeAt).toISOString(),
    pushed,
  };
}
