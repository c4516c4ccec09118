import type { RunDeps } from './deps.ts';
import type { Work } from '../handover/intake.ts';
import { type RunReport, createLanelessReport } from '../handover/report.ts';
import { reportOfWork } from '../publish/report-of.ts';
import type { Outcome } from '../core/outcome.ts';

/** Creates the report of work that is not published, as far as the run got. */
export function createUnpublishedReport({ config, context, redact, clock }: RunDeps, work: Work): RunReport {
  const { pullRequest } = work.lane;
  return reportOfWork({ config, context, redact, now: clock.now() }, work, { pullRequest, headSha: null, saved: null });
}

/** Creates the report of a run that has no work. */
export function createWorklessReport({ context, clock }: RunDeps, outcome: Outcome, startedAt: number): RunReport {
  const { owner, repo } = context.repository;
  const repositoryUrl = `${context.serverUrl}/${owner}/${repo}`;
  return createLanelessReport({ outcome, repositoryUrl, runUrl: context.runUrl, startedAt, endedAt: clock.now() });
}

/** Adds to the report the requests to GitHub's API, and as warnings the refused wishes. */
export function withGitHubFacts({ connect }: RunDeps, report: RunReport): RunReport {
  const requests = connect.requests();
  if (report.kind === 'without-lane') return { ...report, requests };
  return { ...report, requests, warnings: [...report.warnings, ...connect.refusedWishes()] };
}

/** Logs refused wishes once per job, because a job that hands over has no other place for them. */
export function logRefusedWishes({ connect, log }: RunDeps): void {
  for (const refused of connect.refusedWishes()) log.warning(refused);
}
