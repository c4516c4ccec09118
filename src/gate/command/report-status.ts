import { issueLane, type LaneId, QUEUE, type TaskId } from '../../core/tasks/ids.ts';
import { baseBranch } from '../lane/obstacles.ts';
import type { GateDeps } from '../deps.ts';
import { findPrompt, findTaskFiles } from '../tasks/file-tasks.ts';
import { endIntake, type Answer, type Intake } from '../../handover/intake.ts';
import { restoreLane } from '../lane/restore.ts';
import { listTasks } from '../tasks/sources.ts';
import { queuedIssues } from '../work.ts';

/** How the lane stands, as an answer to who asked. */
export async function reportStatus(
  deps: GateDeps,
  id: LaneId,
  answer: Answer | null,
): Promise<Extract<Intake, { kind: 'end' }>> {
  const { config, forge } = deps;
  const { restored, listed } = await listLane(deps, id);
  deps.log.info(`state: ${restored.note}`);
  const branch = config.branchPrefix + id;
  return {
    ...endIntake({ kind: 'idle', reason: 'answered' }),
    answer,
    lane: {
      id,
      branch,
      baseBranch: await baseBranch(deps),
      start: { kind: 'fresh' },
      pullRequest: await forge.pullRequestOf(branch),
    },
    ...listed,
    notes: {
      restored: restored.note,
      notices: [],
      warnings: restored.warnings,
      claimedBy: restored.claimedBy,
      checks: null,
      held: null,
      found: [],
    },
  };
}

/** Tasks of the lane by id: those that are listed, and those that it worked on before. Null: not all of them can be read. */
export async function knownTasks(deps: GateDeps, id: LaneId): Promise<readonly TaskId[] | null> {
  const { listed } = await listLane(deps, id);
  return listed.tasks.some(({ obstacle }) => obstacle === 'unreadable')
    ? null
    : [
        ...listed.tasks.map((task) => task.id),
        ...Object.keys(listed.state.tasks),
        ...Object.keys(listed.state.feedback.items),
      ];
}

async function listLane(deps: GateDeps, id: LaneId) {
  const { config } = deps;
  const branches = await deps.remote.branches(config.branchPrefix);
  const restored = await restoreLane({
    lane: id,
    expected: branches[config.branchPrefix + id] !== undefined,
    elsewhere: [],
    deps,
  });
  const issues = await queuedIssues(deps);
  const listed =
    id === QUEUE
      ? await listTasks(
          deps,
          {
            requested: 'by-queue',
            issues,
            files: await findTaskFiles(deps),
            prompt: config.taskSources.includes('prompt') ? await findPrompt(deps) : null,
          },
          { branches, state: restored.state },
        )
      : await listTasks(
          deps,
          {
            requested: 'by-name',
            issues: issues.filter(({ number }) => issueLane(number) === id),
            files: null,
            prompt: null,
          },
          { branches, state: restored.state },
        );
  return { restored, listed };
}
