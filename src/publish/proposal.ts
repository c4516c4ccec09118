import {
  hashOfComment,
  MAX_SHOWN_CHARS,
  parseProposal,
  formatProposalMarker,
  type ProposedTask,
} from '../core/proposal/proposal.ts';
import { keepProposal } from '../core/snapshot/proposals.ts';
import { issueOfId } from '../core/tasks/ids.ts';
import { mapTexts } from '../core/text/redact.ts';
import { completeSentence } from '../core/text/phrase.ts';
import type { Proposal, Work } from '../handover/intake.ts';
import type { WorkedReport } from '../handover/report.ts';
import type { ReleaseResult } from '../ports/state.ts';
import { NO_PROPOSAL_MARKER, renderNoProposal, renderProposal, textOfSubTask } from '../report/pages/answer.ts';
import type { PublishDeps } from './deps.ts';
import { reportOfWork } from './report-of.ts';
import { saveState } from './save-state.ts';

/**
 * Publishes the work of a run that only proposes: keeps the sub-tasks, shows them in one comment, and saves the state.
 * The agent's words are untrusted, regardless of the job that hands them over. Safe to repeat.
 */
export async function publishProposal(
  deps: PublishDeps,
  work: Work,
  proposal: Proposal,
): Promise<{ readonly report: WorkedReport; readonly lane: ReleaseResult }> {
  const { config, context, redact, clock, log } = deps;
  const problem = await showProposal(deps, work, proposal);
  const warnings = problem === null ? [] : [problem];
  for (const warning of warnings) log.warning(warning);
  const { pullRequest } = work.lane;
  const end = { outcome: work.outcome, remoteHead: work.remoteHead, pullRequest, published: false };
  const { saved, lane } = await saveState(deps, work, { ...end, isPublished: true });
  const frame = { config, context, redact, now: clock.now() };
  const report = reportOfWork(frame, work, { pullRequest, headSha: work.remoteHead, saved });
  return { report: { ...report, warnings: [...report.warnings, ...warnings] }, lane };
}

/**
 * Shows the sub-tasks, or the reason why none were proposed. Returns a warning if the comment could not be written,
 * otherwise null.
 */
async function showProposal(deps: PublishDeps, work: Work, { text, words }: Proposal): Promise<string | null> {
  const issue = issueOfId(work.lane.id);
  if (issue === null) return 'Sub-tasks are proposed for issues only.';
  const parsed = words === null ? null : parseProposal(words);
  const kept =
    parsed?.kind === 'proposal'
      ? await keepSubTasks(deps, { issue, text, tasks: mapTexts(parsed.tasks, deps.redact) })
      : { kind: 'none' as const, why: parsed?.why ?? null };
  const { marker, body } =
    kept.kind === 'kept'
      ? { marker: formatProposalMarker(kept.hash), body: kept.comment }
      : {
          marker: NO_PROPOSAL_MARKER,
          body: deps.redact(renderNoProposal({ why: kept.why ?? failureIn(work), outcome: work.outcome })),
        };
  const shown = await deps.forge.upsertComment(issue, marker, body);
  return shown.kind === 'granted' ? null : `The proposed sub-tasks could not be shown: ${completeSentence(shown.why)}`;
}

/** Returns the failure of the call from the run's warnings, or null if the outcome itself explains the end. */
function failureIn({ outcome, warnings }: Work): string | null {
  return outcome.reason === 'answered' ? (warnings.at(-1) ?? null) : null;
}

type KeptSubTasks =
  | { readonly kind: 'kept'; readonly hash: string; readonly comment: string }
  | { readonly kind: 'none'; readonly why: string };

async function keepSubTasks(
  { store, sha256, clock, context: { runId, runAttempt } }: PublishDeps,
  { issue, text, tasks }: { readonly issue: number; readonly text: string; readonly tasks: readonly ProposedTask[] },
): Promise<KeptSubTasks> {
  // Use a different hash in each run, so that the same sub-tasks proposed again get a new comment; an edited one stays
  // void.
  const hash = sha256(JSON.stringify([issue, text, tasks, runId, runAttempt])).slice(0, 32);
  const comment = `${formatProposalMarker(hash)}\n${renderProposal(tasks, hash)}`;
  if (comment.length > MAX_SHOWN_CHARS)
    return { kind: 'none', why: "The agent's sub-tasks are too long for one comment." };
  const updated = await store.update(
    keepProposal({
      ...{ version: 1, issue, text, hash, at: clock.now() },
      comment: hashOfComment(comment, sha256),
      tasks: tasks.map((task) => {
        const { dependsOn, ceilingUsd } = task;
        return { ...textOfSubTask(task, issue), dependsOn, ceilingUsd };
      }),
      ...{ approved: null, maker: null, made: [], isComplete: false },
    }),
  );
  if (updated.kind !== 'updated')
    return { kind: 'none', why: `The proposed sub-tasks could not be kept: ${completeSentence(updated.why)}` };
  return updated.answer
    ? { kind: 'kept', hash, comment }
    : { kind: 'none', why: 'Sub-tasks of this issue were approved in the meantime.' };
}
