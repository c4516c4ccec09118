import type { Finding } from '../../core/doctor/finding.ts';
import { usageAt } from '../../core/lane/windows.ts';
import type { LaneId } from '../../core/tasks/ids.ts';
import { namesOf } from '../../core/text/lists.ts';
import { UserError } from '../../errors.ts';
import { endIntake, type Intake } from '../../handover/intake.ts';
import type { KnownLane } from '../../ports/examiner.ts';
import type { GateDeps } from '../deps.ts';
import { baseBranch } from '../lane/obstacles.ts';
import { reportStatus } from './report-status.ts';

type EndIntake = Extract<Intake, { kind: 'end' }>;

/** What would stop runs, as an answer to who asked. A state that cannot be read is one thing more that is wrong. */
export async function reportSetUp(deps: GateDeps, id: LaneId, thread: number | null): Promise<Intake> {
  const looked = await tryStatus(deps, id);
  const findings = await deps.examine({
    branch: deps.config.branchPrefix + id,
    baseBranch: await baseBranch(deps),
    ...looked.known,
  });
  const problems = findings.filter(({ kind }) => kind === 'problem');
  return {
    ...looked.intake,
    outcome: problems.length === 0 ? looked.intake.outcome : failureOf(problems),
    answer: { thread, text: { kind: 'doctor', findings } },
  };
}

function failureOf(problems: readonly Finding[]): EndIntake['outcome'] {
  const about = [...new Set(problems.map(({ check }) => check.replaceAll('-', ' ')))];
  const message = `The check of the set-up found ${String(problems.length)} ${problems.length === 1 ? 'problem' : 'problems'}: ${namesOf(about)}.`;
  return { kind: 'failed', reason: 'configuration', message };
}

interface Looked {
  readonly intake: EndIntake;
  readonly known: Pick<KnownLane, 'state' | 'baseCheck' | 'spentTodayUsd'>;
}

async function tryStatus(deps: GateDeps, id: LaneId): Promise<Looked> {
  try {
    const intake = await reportStatus(deps, id, null);
    const spent = intake.state === null ? null : usageAt(intake.state.windows, deps.clock.now()).day;
    return {
      intake,
      known: {
        state: { kind: 'known', value: intake.notes.restored },
        baseCheck: intake.state?.baseCheck ?? null,
        spentTodayUsd: { kind: 'known', value: spent?.costUsd ?? 0 },
      },
    };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const why = { kind: 'unknown', why: error.message } as const;
    return {
      intake: endIntake({ kind: 'idle', reason: 'answered' }),
      known: { state: why, baseCheck: null, spentTodayUsd: { kind: 'unknown', why: 'the state cannot be read.' } },
    };
  }
}
