import type { StoredRun } from '../../../../src/core/snapshot/stored-run.ts';
import { MINUTE, noon } from '../core-fixtures.ts';

/** Returns a run of version 2 as the repository remembers it. */
export function storedRun(own: Partial<StoredRun> = {}): StoredRun {
  return {
    version: 2,
    lane: 'queue',
    runId: '7',
    runAttempt: 1,
    runUrl: 'https://github.com/acme/shop/actions/runs/7',
    requestedBy: null,
    startedAt: noon,
    endedAt: noon + MINUTE,
    outcome: { kind: 'complete', reason: 'plan_complete' },
    agent: { name: 'Claude Code', version: '2.1.0' },
    base: 'b'.repeat(40),
    head: 'a'.repeat(40),
    pullRequest: 12,
    baseVerification: null,
    headVerification: null,
    tasks: [storedTask()],
    iterations: 1,
    calls: 1,
    tokens: 1000,
    costUsd: 0.25,
    branch: 'ralph/queue',
    baseBranch: 'main',
    model: null,
    isolation: null,
    unpriced: 0,
    requests: null,
    journalHash: null,
    journal: null,
    ...own,
  };
}

/** Returns a task of such a run, which nobody asked for by a label. */
export function storedTask(own: Partial<StoredRun['tasks'][number]> = {}): StoredRun['tasks'][number] {
  const asked = { askedBy: null, askedAt: null, textHash: null };
  return { id: 'issue-1', title: 'Fix it', state: 'done', labels: [], ...asked, ...own };
}
