import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type AskedRun, type LocalRunResult, combineLanes } from '../../../cli/run/run.ts';
import { describeRemains } from '../../../core/isolation/sandbox-record.ts';
import { deriveConclusion, type Outcome } from '../../../core/outcome.ts';
import { endBeforeTurn, type LaneShare } from '../../../core/parallel/shares.ts';
import { nameOfLane, nameOfTaskId, isLaneId } from '../../../core/tasks/ids.ts';
import { releaseLane } from '../../../gate/lane/claim.ts';
import type { WorkIntake } from '../../../handover/intake.ts';
import type { Interruption } from '../../../home/status-files.ts';
import type { StateStore } from '../../../ports/state.ts';
import { runSameProgram } from '../../../processes/same-program.ts';
import { endAgent, removeRunSandboxes } from '../../isolation/isolated.ts';
import type { World } from '../../world.ts';
import { locateLaneFolders, buildRunFolderPath, type RunFolders, folderOfLanes } from '../place.ts';
import { runTagOfLane } from '../../../core/sharing/lease.ts';
import { listFirstNames } from '../../../core/text/phrase.ts';
import { UserError } from '../../../errors.ts';
import { removeTree } from '../../../git/remove-tree.ts';
import type { RunClaim } from '../../../home/own-folder.ts';
import type { Log } from '../../../ports/machine.ts';

/** A lane that a run hands to a separate process, which works on it without asking the gate. */
export interface LaneOfRun {
  readonly asked: AskedRun;
  /** The number of the run in the checkout. */
  readonly number: number;
  /** The tag under which the lane is claimed. */
  readonly runTag: string;
  /** The lane's share of the run's limits. */
  readonly share: LaneShare;
  readonly intake: WorkIntake;
}

/** The run that starts other processes. `place` contains its own folders. */
interface Starter {
  readonly world: World;
  readonly place: RunFolders;
  readonly store: () => Promise<StateStore>;
  readonly interruption: Interruption;
  readonly print: (text: string) => void;
}

/** Returns the tag of the processes that a run starts for its other lanes, so that the next run can end them. */
function tagOfSideProcesses(runTag: string): string {
  return `${runTag}:beside`;
}

/**
 * Works on lanes in order, each in its own process, at most `atOnce` at a time. Until `ownEnded` resolves, this process
 * works on one of these `atOnce` itself. Returns the results in `atOnce` groups.
 */
export function workInProcesses(
  lanes: readonly LaneOfRun[],
  { atOnce, ownEnded }: { readonly atOnce: number; readonly ownEnded: Promise<void> },
  starter: Starter,
): readonly Promise<readonly LocalRunResult[]>[] {
  const waiting = lanes.values();
  return Array.from({ length: atOnce }, async (_, at) => {
    if (at === 0) await ownEnded;
    const results: LocalRunResult[] = [];
    for (const lane of waiting) results.push(await workInOwnProcess(lane, starter));
    return results;
  });
}

/**
 * Works on a lane in a separate process, whose output lines are printed with the number in front. If the
 * process is killed, releases the lane; its reservation counts as used. A lane that waited does not begin if the run is
 * ending or its claim could expire.
 */
async function workInOwnProcess(lane: LaneOfRun, starter: Starter): Promise<LocalRunResult> {
  const { world, interruption, print, store } = starter;
  const { id, branch } = lane.intake.lane;
  const isEnding = interruption.ending.aborted || interruption.signal.aborted;
  const unbegun = endBeforeTurn(lane.share, { startBy: lane.intake.startBy, isEnding, now: world.clock.now() });
  if (unbegun !== null) {
    await releaseLane({ ...world, runTag: lane.runTag, store: await store() }, id);
    return resultWithoutWork(lane, world, { outcome: unbegun, costUsd: 0 });
  }
  const prefix = `${nameOfTaskId(id)} │ `;
  const ended = await runSameProgram({
    ...{ work: lane, command: 'run', environment: world.environment, tag: tagOfSideProcesses(world.runTag) },
    orders: { SIGINT: interruption.ending, SIGTERM: interruption.signal },
    line: (text) => {
      print(`${prefix}${text}\n`);
    },
  });
  // This same program has written the result, so assume its type.
  if (ended !== null) return ended.result as LocalRunResult;
  world.log.warning(`The process for ${nameOfLane(id)} was killed. Its finished iterations are kept on ${branch}.`);
  await cleanUp(lane, starter);
  const outcome: Outcome = interruption.signal.aborted
    ? { kind: 'cancelled', reason: 'signal' }
    : { kind: 'failed', reason: 'infrastructure', message: 'its process was killed' };
  return resultWithoutWork(lane, world, { outcome, costUsd: null });
}

function resultWithoutWork(
  { intake }: LaneOfRun,
  { config }: World,
  { outcome, costUsd }: { readonly outcome: Outcome; readonly costUsd: number | null },
): LocalRunResult {
  const nothing = { iterations: 0, tasksDone: 0, tasks: intake.tasks.length, costUsd, tokens: 0 };
  const end = { ...nothing, outcome: outcome.kind, reason: outcome.reason, branch: intake.lane.branch, head: null };
  return {
    ended: combineLanes([{ ...end, resumeAt: null, pushed: null }]),
    failed: deriveConclusion(outcome, config.failOn) === 'failure',
  };
}

/** Removes the remains of a killed process, and releases its lane. */
async function cleanUp(
  { runTag, number, intake: { lane } }: LaneOfRun,
  { world, place, store }: Starter,
): Promise<void> {
  await endAgent(runTag);
  const runFolder = buildRunFolderPath(locateLaneFolders(place, lane.id), number);
  const sentence = describeRemains(await removeRunSandboxes({ runFolder }, world.environment));
  if (sentence !== null) world.log.warning(sentence);
  await releaseLane({ ...world, runTag, store: await store() }, lane.id, false);
}

/** Cleans up after a killed run: ends its processes and removes its sandbox. */
export async function cleanUpAfter(
  killed: RunClaim,
  options: { readonly place: RunFolders; readonly environment: NodeJS.ProcessEnv; readonly log: Pick<Log, 'warning'> },
): Promise<void> {
  const { place, environment, log } = options;
  log.warning(
    `The previous run (process ${String(killed.pid)}) was killed. Its finished iterations are kept; an unfinished one is lost.`,
  );
  const lanes = (await readdir(folderOfLanes(place)).catch(() => [])).filter(isLaneId);
  // The killed run's own child processes end by themselves, but that may take a while, so end them.
  const tags = [
    killed.runTag,
    tagOfSideProcesses(killed.runTag),
    ...lanes.map((lane) => runTagOfLane(killed.runTag, lane)),
  ];
  for (const tag of tags) await endAgent(tag);
  const folders = lanes.map((lane) => buildRunFolderPath(locateLaneFolders(place, lane), killed.number));
  // Any program can write the claim, which is a file of the checkout, so remove only folders of this checkout.
  if (dirname(resolve(killed.runFolder)) === resolve(place.temp)) folders.unshift(killed.runFolder);
  else if (existsSync(killed.runFolder))
    log.warning(
      `The folder of that run, ${killed.runFolder}, does not belong to this checkout, so nothing in it is removed.`,
    );
  for (const runFolder of folders) {
    const remains = await removeRunSandboxes({ runFolder }, environment);
    if (remains.processes.length > 0)
      throw new UserError(
        'infrastructure',
        `Processes of that run cannot be ended: ${listFirstNames(remains.processes)}. Restart this machine, or end them as root.`,
      );
    const sentence = describeRemains(remains);
    if (sentence !== null) log.warning(sentence);
  }
  await removeTree(folderOfLanes(place));
}
