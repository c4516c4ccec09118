import type { Outcome } from '../core/outcome.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import { releaseLane } from '../gate/lane/claim.ts';
import { reportWithoutLane, type RunReport } from '../handover/report.ts';
import type { Work } from '../handover/work.ts';
import type { Released } from '../ports/state.ts';
import { reportOfWork } from '../publish/report-of.ts';
import type { RunDeps } from './deps.ts';

/** The report of work that is not published, as far as the run got with it. */
export function reportUnpublished({ config, context, redact, clock }: RunDeps, work: Work): RunReport {
  const { pullRequest } = work.lane;
  return reportOfWork({ config, context, redact, now: clock.now() }, work, { pullRequest, headSha: null, saved: null });
}

/** The report of a run that has no work. */
export function reportWithoutWork({ context, clock }: RunDeps, outcome: Outcome, startedAt: number): RunReport {
  const { owner, repo } = context.repository;
  const repositoryUrl = `${context.serverUrl}/${owner}/${repo}`;
  return reportWithoutLane({ outcome, repositoryUrl, runUrl: context.runUrl, startedAt, endedAt: clock.now() });
}

/** The report with what the run asked of GitHub's API, and with what GitHub refused that decides nothing. */
export function withGitHub({ connect }: RunDeps, report: RunReport): RunReport {
  const requests = connect.requests();
  if (report.kind === 'without-lane') return { ...report, requests };
  return { ...report, requests, warnings: [...report.warnings, ...connect.refusedWishes()] };
}

/** Reports refused wishes in the log, once per job: also a job that hands over has no other place for them. */
export function logRefusedWishes({ connect, log }: RunDeps): void {
  for (const refused of connect.refusedWishes()) log.warning(refused);
}

/** Gives back a lane. What a run that worked has reserved stands for its calls, where they could not be counted: it is given back by one that never began. */
export async function giveBackLane(
  { connect, ...run }: RunDeps,
  lane: LaneId,
  what: 'claim' | 'claim-and-reservation',
): Promise<Released> {
  const store = await connect.store();
  return releaseLane({ ...run, store }, lane, what === 'claim-and-reservation');
}
