import type { CheckNow } from '../../../../src/core/feedback/pull-request-now.ts';

/** Returns a job of `.github/workflows/ci.yml` that failed in the workflow's run 100. */
export function check(change: Partial<CheckNow> = {}): CheckNow {
  return {
    of: 'check-run',
    id: 1,
    name: 'test',
    app: 'github-actions',
    workflow: { path: '.github/workflows/ci.yml', name: 'CI', run: 100, event: 'push' },
    result: 'failed',
    conclusion: 'failure',
    summary: '',
    url: 'https://example.test/checks/1',
    began: null,
    at: null,
    ...change,
  };
}

/** Returns a commit status of another service. */
export function status(change: Partial<CheckNow> = {}): CheckNow {
  return check({ of: 'status', id: null, name: 'ci/other', app: null, workflow: null, ...change });
}
