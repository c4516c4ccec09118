import { serializeEvent } from '../core/journal/journal.ts';
import { hasTaskShare, findTaskShare } from '../core/lane/change.ts';
import { recordProofs, type TaskProof } from '../core/lane/verification.ts';
import {
  isWorthProving,
  judgeOldTests,
  judgeTestsWithoutChange,
  planProof,
  type ProofPlan,
  type ProofRun,
  judgeProofRun,
  computeProofTimeout,
  type TaskChanges,
  type RestoredFile,
} from '../core/proof/judge.ts';
import { UNDECIDED_FOR_TIME, isProofCutOff, renderPlainProof, type Proof, describeProof } from '../core/proof/proof.ts';
import { NO_TESTS, type TestReport } from '../core/proof/test-report.ts';
import { isPromptTask, type TaskId } from '../core/tasks/ids.ts';
import { getProgress } from '../core/tasks/queue.ts';
import { isFinished, nameOfTask } from '../core/tasks/task.ts';
import { completeSentence } from '../core/text/phrase.ts';
import { getErrorText } from '../errors.ts';
import type { Work } from '../handover/intake.ts';
import type { LoopDeps } from './deps.ts';
import { type PassedHead, verifyAt } from './verification.ts';

/** A head that passed, and the tip of the base branch; `tests` is null while this run has not verified the tip. */
interface Proving {
  readonly head: PassedHead;
  readonly base: { readonly commit: string; readonly tests: TestReport | null };
}

/** A work with the tests of its base branch, as in RunNow. */
interface Proven {
  readonly work: Work;
  readonly baseTests: TestReport | null;
}

interface Planned {
  readonly own: TaskChanges;
  readonly plan: Exclude<ProofPlan, { kind: 'none' }>;
}

/**
 * For each task, runs the verify commands on the head without the task's change, where its tests must fail, and with
 * the old version of the tests that it changed. The result decides nothing: it informs the reviewer and the next
 * prompt.
 */
export async function proveTests(given: LoopDeps, work: Work, proving: Proving): Promise<Proven> {
  const { proveTests: mode } = given.config;
  // A run that must end does not wait for proofs, so listen to both signals.
  const deps: LoopDeps = { ...given, signal: AbortSignal.any([given.signal, given.ending]) };
  const unproven: Proven = { work, baseTests: proving.base.tests };
  if (mode === 'false' || deps.signal.aborted) return unproven;
  const changes = await deps.repository.taskChanges().catch((error: unknown) => {
    deps.log.warning(`What the tests prove is not known: ${completeSentence(getErrorText(error))}`);
    return [];
  });
  const planned = changes.filter(({ task }) => isDue(work, task)).flatMap(planOf);
  if (planned.length === 0) return unproven;
  if (!isWorthProving(mode, usualMsOf(work, proving))) {
    deps.log.info('verify takes more than 5 minutes, so it does not run without the change (setting prove-tests).');
    return unproven;
  }
  const proofs = new Map<TaskId, TaskProof>(
    planned.map(({ own: { task } }) => [task, { task, proof: UNDECIDED_FOR_TIME }]),
  );
  const proven = (): Work => ({ ...work, state: recordProofs(work.state, [...proofs.values()]) });
  // Record the tasks as done now: if the run is killed from here on, the next run makes the missing proofs.
  deps.record(proven());
  let baseTests = proving.base.tests;
  for (const one of planned) {
    const { task } = one.own;
    const others = changes.filter((other) => other.task !== task);
    const proved = await proveTask(deps, work, { ...proving, ...one, others, baseTests });
    if (proved === null) break;
    baseTests = proved.baseTests;
    proofs.set(task, { task, proof: proved.proof });
    logProof(deps, nameIn(work, task), proved.proof);
  }
  const { clock, appendJournal } = deps;
  appendJournal(
    serializeEvent({
      kind: 'proof',
      version: 1,
      lane: work.lane.id,
      provedAt: clock.now(),
      proofs: [...proofs.values()],
    }),
  );
  return { work: proven(), baseTests };
}

/** Returns the usual time of `verify` on the base, or on the head if the base is not known to pass. */
function usualMsOf({ state: { baseVerification: base } }: Work, { head }: Proving): number {
  return (base?.kind === 'passed' ? base.durationMs : undefined) ?? head.durationMs;
}

/** Returns true for a finished task, or a prompt, whose newest iteration is not proven yet. */
function isDue({ state: { change, tasks } }: Work, task: TaskId): boolean {
  const { proof } = findTaskShare(change, task);
  const isOver = isFinished(getProgress(tasks, task)) || isPromptTask(task);
  return isOver && hasTaskShare(change, task) && (proof === undefined || isProofCutOff(proof));
}

function planOf(own: TaskChanges): readonly Planned[] {
  const plan = planProof(own);
  return plan.kind === 'none' ? [] : [{ own, plan }];
}

/** Proves the tests of one task, or returns null if the run has to end. */
async function proveTask(
  deps: LoopDeps,
  work: Work,
  proving: Proving & Planned & { readonly others: readonly TaskChanges[]; readonly baseTests: TestReport | null },
): Promise<{ readonly proof: Proof; readonly baseTests: TestReport | null } | null> {
  const { own, plan, others, head, base, baseTests } = proving;
  if (plan.kind === 'in-code')
    return { proof: { without: { kind: 'undecided', why: 'in-code' }, old: null }, baseTests };
  const run = (commit: string): Promise<ProofRun | null> =>
    runForProof(deps, work, { commit, usualMs: head.durationMs });
  const runWith = (files: readonly RestoredFile[]): Promise<ProofRun | null> =>
    deps.repository.commitReverted({ commit: head.commit, files }).then(run, (error: unknown) => {
      deps.log.warning(`A file cannot be restored: ${completeSentence(getErrorText(error))}`);
      return { kind: 'undecided', why: 'cannot-run' } as const;
    });
  deps.log.info(`verify runs without the change of ${nameIn(work, own.task)} …`);
  const without = await runWith(plan.without);
  if (without === null) return null;
  const needsBase = without.kind === 'ran' && head.report.size > 0 && baseTests === null;
  if (needsBase) deps.log.info(`verify runs on the base, to find out which tests are new …`);
  const onBase = needsBase ? await run(base.commit) : null;
  const known = onBase === null ? baseTests : onBase.kind === 'ran' ? onBase.report : NO_TESTS;
  if (plan.old.length > 0) deps.log.info(`verify runs with the old version of the tests that it changed …`);
  const old = plan.old.length === 0 ? null : await runWith(plan.old);
  if (deps.signal.aborted) return null;
  return {
    proof: {
      without: judgeTestsWithoutChange(without, { base: known, head: head.report }, { own, others }),
      old: old === null ? null : judgeOldTests(old),
    },
    baseTests: known,
  };
}

/** Runs the verify commands on a commit, if they fit into the rest of the run; returns null if the run has to end. */
async function runForProof(
  deps: LoopDeps,
  work: Work,
  { commit, usualMs }: { readonly commit: string; readonly usualMs: number },
): Promise<ProofRun | null> {
  const leftMs = (): number => work.startedAt + deps.config.policy.maxRunMs - deps.clock.now();
  const timeoutMs = computeProofTimeout({ usualMs, leftMs: leftMs() });
  if (timeoutMs === null) return { kind: 'undecided', why: 'no-time' };
  const timeoutOf = (): number => Math.max(0, Math.min(timeoutMs, leftMs()));
  const { verification, report, isWhole } = await verifyAt(deps, work, { commit, timeoutOf });
  if (verification.kind === 'not-run') return null;
  if (verification.kind === 'impossible') {
    deps.log.warning(completeSentence(verification.why));
    return { kind: 'undecided', why: 'cannot-run' };
  }
  return judgeProofRun(verification, isWhole ? report : null);
}

function logProof({ log }: LoopDeps, name: string, proof: Proof): void {
  for (const sentence of describeProof(proof))
    log.info(`${name}: ${renderPlainProof(sentence).replaceAll('`', '')}`, sentence.concern === null ? 'good' : 'bad');
}

function nameIn({ tasks }: Work, id: TaskId): string {
  const task = tasks.find((one) => one.id === id);
  return task === undefined ? id : nameOfTask(task);
}
