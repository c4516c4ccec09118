import type { Config, RunContext } from '../config/config.ts';
import type { Outcome } from '../core/outcome.ts';
import { QUEUE, type LaneId } from '../core/tasks/ids.ts';
import { mapTexts } from '../core/text/redact.ts';
import type { ReportAtGate, RunFacts, ReportSetting } from '../handover/report.ts';

/** The dependencies of every report. `now` is an instant. */
export interface ReportFrame {
  readonly config: Config;
  readonly context: RunContext;
  readonly redact: (text: string) => string;
  readonly now: number;
}

/** Creates the report of a run that ended before it knew the lane's state. */
export function createGateReport(
  frame: ReportFrame,
  end: {
    readonly outcome: Outcome;
    readonly lane: LaneId;
    readonly notes: Pick<ReportSetting, 'warnings' | 'found' | 'before' | 'train'>;
    readonly startedAt: number;
  },
): ReportAtGate {
  const { outcome, lane, notes, startedAt } = end;
  const report = { ...buildRunFacts(frame, outcome, startedAt), ...settingOfRun(frame, lane, notes) };
  return { ...mapTexts(report, frame.redact), findings: [], kind: 'at-gate' };
}

/** Returns the settings of a run as its report shows them. An issue's own lane only uses the source `issues`. */
export function settingOfRun(
  { config }: ReportFrame,
  lane: string,
  { warnings, found, before, train }: Pick<ReportSetting, 'warnings' | 'found' | 'before' | 'train'>,
): ReportSetting {
  return {
    policy: config.policy,
    agents: config.agent.order.map(({ name, model }) => ({ name, model })),
    prices: config.prices,
    taskLabel: config.taskLabel,
    taskSources: lane === QUEUE ? config.taskSources : ['issues'],
    verifyCommands: config.verify,
    warnings,
    found,
    before,
    train,
    testOnlyPercent: config.testOnlyPercent,
    answersReviews: config.answers.reviews,
    issueQuery: config.issueQuery?.text ?? null,
  };
}

/** Returns the facts of a run that ends now. */
export function buildRunFacts({ context, now }: ReportFrame, outcome: Outcome, startedAt: number): RunFacts {
  const { owner, repo } = context.repository;
  return {
    outcome,
    repositoryUrl: `${context.serverUrl}/${owner}/${repo}`,
    runUrl: context.runUrl,
    logUrl: context.logUrl,
    startedAt,
    endedAt: now,
    requests: null,
  };
}
