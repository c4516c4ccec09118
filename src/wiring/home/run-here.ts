import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError, type Terminal } from '../../cli/command.ts';
import type { AskedRun, EndedRun, RunAnswer, RunHere } from '../../cli/run/run-world.ts';
import type { Config } from '../../config/config.ts';
import { conclude } from '../../core/outcome.ts';
import { remainsSentence } from '../../core/isolation/room-remains.ts';
import { taskFilePaths } from '../../core/tasks/files/file-task.ts';
import { fileSources } from '../../core/tasks/task-sources.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import {
  ignoreLocally,
  isPartOf,
  lookAtCheckout,
  pushToRemote,
  type PersonCheckout,
} from '../../git/home/person-checkout.ts';
import { removeTree } from '../../git/remove-tree.ts';
import type { RunReport } from '../../handover/report.ts';
import { claimRun, releaseRun, type RunClaim } from '../../home/run-claim.ts';
import { listenForInterruption } from '../../home/interruption.ts';
import { createLogFiles } from '../../home/log-files.ts';
import { createStatusFiles } from '../../home/status-files.ts';
import { createTerminalLog } from '../../home/terminal-log.ts';
import { doneTasks, laneOf, resumeInstant, tasksOf, workOf } from '../../report/facts.ts';
import { renderEndAtHome } from '../../report/sentences/at-home.ts';
import { createDirectoryCells } from '../../state/directory-cells.ts';
import { trustedProgram } from '../../processes/trusted-programs.ts';
import { endAgent, removeRoomsOf } from '../agent.ts';
import { takeCheckoutBack } from '../git.ts';
import { secretsFrom, systemClock } from '../world.ts';
import { prepareCopy } from './copy.ts';
import { countdownOn } from './countdown.ts';
import { issuesOf, noForge } from './forge.ts';
import { homeWorld, type HomeSetting } from './home-world.ts';
import { loginAtHome } from './login.ts';
import { placeOf, type Place } from './place.ts';
import { playAtHome } from './play.ts';
import { showWhatWouldRun } from './dry-run.ts';
import { readSettings } from './settings.ts';

/** The loop's code is the action's, which GitHub runs on Node 24. */
const OLDEST_NODE = 22;
/** The last lines are printed by then. */
const EXIT_AFTER_MS = 300;
/** How long a run that is to end at once may take, in ms. */
const END_WITHIN_MS = 15_000;

/** `ralph run`. `packageRoot`: the folder of action.yml, templates/ and dist/. */
export function runHere(packageRoot: URL): RunHere {
  return async (asked, terminal) => {
    const environment = process.env;
    if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE)
      throw new UsageError(
        [`a run needs Node ${String(OLDEST_NODE)} or newer, and this is ${process.version}.`],
        'none',
      );
    try {
      const checkout = await lookAtCheckout(asked.folder, environment);
      const place = placeOf(checkout.top, environment);
      const config = await settingsOf(asked, { packageRoot, checkout, place, environment });
      return await begin({ asked, terminal, packageRoot, environment, checkout, place, config });
    } catch (error) {
      // Nothing has begun: like wrong arguments, it is said and nothing else.
      if (error instanceof UserError) throw new UsageError(error.message.split('\n'), 'none');
      throw error;
    }
  };
}

interface Beginning {
  readonly asked: AskedRun;
  readonly terminal: Terminal;
  readonly packageRoot: URL;
  readonly environment: NodeJS.ProcessEnv;
  readonly checkout: PersonCheckout;
  readonly place: Place;
  readonly config: Config;
}

/** The settings, with what this checkout makes of them; throws a UserError for what cannot be. */
async function settingsOf(
  { inputs }: AskedRun,
  { packageRoot, checkout, place, environment }: Pick<Beginning, 'packageRoot' | 'checkout' | 'place' | 'environment'>,
): Promise<Config> {
  const { top, branch } = checkout;
  const actionFolder = fileURLToPath(packageRoot);
  const config = await readSettings({ actionFolder, given: inputs, temp: place.temp, environment, top, branch });
  const baseBranch = config.baseBranch ?? checkout.branch;
  if (baseBranch === null)
    throw new UserError(
      'configuration',
      `HEAD is detached in ${checkout.top}, so there is no branch to work from. Switch to one, or name it with --input base-branch=NAME.`,
    );
  const lane = `${config.branchPrefix}queue`;
  if (baseBranch.startsWith(config.branchPrefix) || checkout.checkedOut.includes(lane))
    throw new UserError(
      'configuration',
      `${lane} is checked out in ${checkout.top} or in one of its work trees, and the run writes to that branch. Switch to the branch that the work is for, such as "git switch main".`,
    );
  const path = config.agent.path ?? trustedProgram('claude', environment);
  return { ...config, baseBranch, agent: { ...config.agent, path } };
}

async function begin(begun: Beginning): Promise<RunAnswer> {
  const { asked, terminal, environment, checkout, place } = begun;
  const { top } = checkout;
  const write = (text: string): void => {
    if (asked.json) terminal.error(text);
    else terminal.out(text);
  };
  const countdown = asked.json ? null : countdownOn(process.stdout, environment, write);
  const print = countdown?.print ?? write;
  const secrets = secretsFrom(environment, { envNames: begun.config.agent.envNames, announce: () => undefined });
  const warn = (text: string): void => {
    print(`! ${secrets.redact(text)}\n`);
  };
  const login = loginAtHome(environment, begun.config, process.platform);
  const found = begun.config.taskSources.includes('issues')
    ? await issuesOf(top, environment, (line) => {
        print(`${line}\n`);
      })
    : null;
  const forge = found?.kind === 'forge' ? found : null;
  const config: Config = {
    ...begun.config,
    isolation: login.isolation,
    taskSources:
      forge === null ? begun.config.taskSources.filter((source) => source !== 'issues') : begun.config.taskSources,
  };
  const startedAt = systemClock.now();
  const runTag = randomUUID();
  const setting = (log: HomeSetting['log'], number: number): HomeSetting => ({
    ...{ config, packageRoot: begun.packageRoot, environment, top, place, runTag, number, secrets, log },
    runFolder: runFolderOf(place, number),
    repository: forge?.repository ?? { owner: 'local', repo: 'checkout' },
    agentFolder: login.agentFolder,
    loginProblems: login.problems,
  });
  if (config.taskSources.length === 0)
    throw new UserError(
      'configuration',
      `There is nothing to work on: task-sources is "issues", and ${found?.kind === 'none' ? found.why : 'none are read'}.`,
    );

  const files = asked.dryRun ? null : createLogFiles(top, { now: systemClock.now, warn });
  const status = asked.dryRun ? null : createStatusFiles(top, { now: systemClock.now, warn });
  const log = createTerminalLog({
    ...{
      redact: secrets.redact,
      print,
      colours: !asked.json && process.stdout.isTTY && (environment.NO_COLOR ?? '') === '',
    },
    files: files ?? { line: () => undefined, iterationBegins: () => undefined, iterationEnds: () => undefined },
    heard: (line) => status?.heard(line),
  });
  const sayFirst = (): void => {
    if (found?.kind === 'none') log.info(`Labelled issues are not read: ${found.why}. Tasks come from files.`);
    if (login.note !== null) log.warning(login.note);
    const lines = uncommittedWords(checkout);
    for (const line of lines) log.warning(line);
  };
  const findStart = startsIn(checkout, config.baseBranch ?? '');
  const gate = { forge: forge?.forge ?? noForge(), findStart };
  if (asked.dryRun) {
    sayFirst();
    return showWhatWouldRun(
      { config, checkout, environment, wanted: asked.task },
      { setting: setting(log, 1), gate, print },
    );
  }

  const cells = createDirectoryCells({ folder: join(top, '.ralph', 'state'), now: systemClock.now });
  const { claim, killed } = await claimRun(cells, {
    ...{ runTag, startedAt },
    runFolderOf: (number) => runFolderOf(place, number),
  });
  const interruption = listenForInterruption({
    say: (text) => {
      log.warning(text);
    },
    giveUp: () => {
      void endAgent(runTag).finally(() => process.exit(1));
    },
    withinMs: END_WITHIN_MS,
  });
  try {
    sayFirst();
    if (killed !== null) await cleanUpAfter(killed, environment, log);
    await ignoreLocally(checkout, ['.ralph/status.json', '.ralph/progress.json', '.ralph/state', '.ralph/logs']);
    await prepareCopy({ ...begun, config }, log);
    mkdirSync(runFolderOf(place, claim.number), { recursive: true, mode: 0o700 });
    const world = homeWorld(setting(log, claim.number));
    const report = await playAtHome(world, {
      ...{ top, place, cells, gate, interruption, startedAt, status, countdown },
      task: asked.task,
      runName: `local-${String(claim.number)}`,
      journalFolder: freshJournal(top),
    });
    print('\n');
    log.info(renderEndAtHome(report));
    const pushed = asked.push ? await push(checkout, report, log) : null;
    const failed = conclude(report.outcome, config.failOn) === 'failure' || pushed === false;
    return { ended: endedRun(report, pushed), failed };
  } finally {
    interruption.stop();
    await endAgent(runTag).catch(() => undefined);
    await removeTree(place.temp).catch(() => undefined);
    await removeTree(join(place.base, 'work')).catch(() => undefined);
    await releaseRun(cells, claim);
    // The broker still listens, and a socket may hang: neither keeps this process alive.
    setTimeout(() => process.exit(), EXIT_AFTER_MS).unref();
  }
}

function runFolderOf({ temp }: Place, number: number): string {
  return join(temp, `run-${String(number)}`);
}

/** Where the lane's branch begins: again at the base, once all of it is part of that. */
function startsIn({ git }: PersonCheckout, base: string): Parameters<typeof playAtHome>[1]['gate']['findStart'] {
  const nothing = { pullRequest: null, workIsLost: false, closedBy: null };
  return async ({ remoteHead, lastHead }) => {
    if (remoteHead === null) {
      const workIsLost = lastHead !== null && !(await isPartOf(git, lastHead, base));
      return { ...nothing, start: { kind: 'fresh' }, workIsLost };
    }
    if (await isPartOf(git, remoteHead, base))
      return { ...nothing, start: { kind: 'restart', mergedHead: remoteHead } };
    return { ...nothing, start: { kind: 'continue', remoteHead } };
  };
}

/** What of a person's files the run does not see. */
function uncommittedWords({ uncommitted }: PersonCheckout): readonly string[] {
  const isOurs = (path: string): boolean => /^\.ralph\/(?:state|logs|status\.json|progress\.json)(?:\/|$)/.test(path);
  const others = uncommitted.filter((path) => !isOurs(path));
  if (others.length === 0) return [];
  const lists = fileSources.flatMap((source) => taskFilePaths[source]);
  const ofTasks = others.filter((path) => lists.includes(path) || path === '.ralph/');
  return [
    `What is not committed is not part of the run, and stays as it is: ${namesOf(others)}.`,
    ...(ofTasks.length === 0
      ? []
      : [`The run reads its tasks from the last commit: commit ${namesOf(ofTasks)} first.`]),
  ];
}

/** A run that was killed: ends what it left running and removes its room. */
async function cleanUpAfter(killed: RunClaim, environment: NodeJS.ProcessEnv, log: HomeSetting['log']): Promise<void> {
  log.warning(
    `The run before (process ${String(killed.pid)}) was killed. Its finished iterations are kept; the one that was running is lost.`,
  );
  await endAgent(killed.runTag);
  if (!existsSync(killed.runFolder)) return;
  const remains = await removeRoomsOf({ runFolder: killed.runFolder }, environment);
  if (remains.processes.length > 0)
    throw new UserError(
      'infrastructure',
      `Processes of that run cannot be ended: ${namesOf(remains.processes)}. Restart this machine, or end them as root.`,
    );
  const sentence = remainsSentence(remains);
  if (sentence !== null) log.warning(sentence);
  await takeCheckoutBack({ runTag: killed.runTag, runFolder: killed.runFolder, key: Buffer.alloc(0) }, environment);
}

/** The newest run's journal; the one before it gives way. */
function freshJournal(top: string): string {
  const folder = join(top, '.ralph', 'logs');
  rmSync(join(folder, 'journal.jsonl'), { force: true });
  return folder;
}

/** null: there is nothing to push. */
async function push(checkout: PersonCheckout, report: RunReport, log: HomeSetting['log']): Promise<boolean | null> {
  const lane = laneOf(report);
  if (lane === null || lane.headSha === null) {
    log.info('There is nothing to push.');
    return null;
  }
  const why = await pushToRemote(checkout, 'origin', lane.branch);
  if (why === null) log.info(`pushed ${lane.branch} to origin; open a pull request for it there`);
  else log.error(`${lane.branch} could not be pushed to origin: ${why}`);
  return why === null;
}

function endedRun(report: RunReport, pushed: boolean | null): EndedRun {
  const work = workOf(report);
  const lane = laneOf(report);
  const resumeAt = resumeInstant(report.outcome);
  return {
    outcome: report.outcome.kind,
    reason: report.outcome.reason,
    iterations: work?.iterations.length ?? 0,
    tasksDone: doneTasks(report).length,
    tasks: tasksOf(report).length,
    branch: lane?.branch ?? null,
    head: lane?.headSha ?? null,
    costUsd: work?.costUsd ?? 0,
    tokens: work?.tokens ?? 0,
    resumeAt: resumeAt === null ? null : new Date(resumeAt).toISOString(),
    pushed,
  };
}
