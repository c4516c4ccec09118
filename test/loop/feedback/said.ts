import type { CheckNow, ReviewNow, ThreadComment, ThreadNow } from '../../../src/core/feedback/pull-request-now.ts';

/** An account of GitHub; an equal login means the same person. */
export const person = (login: string) => ({
  login,
  id: login.length * 1000 + login.charCodeAt(0),
  kind: 'user' as const,
});

/** A comment of a review that requests changes. */
export const comment = (id: number, text: string, change: Partial<ThreadComment> = {}): ThreadComment => ({
  id,
  review: 500,
  by: person('ann'),
  text,
  at: id * 1000,
  hunk: '@@ -0,0 +1 @@\n+done 1',
  ...change,
});

/** A thread at the first line of issue 1's file. */
export const thread = (comments: readonly ThreadComment[], change: Partial<ThreadNow> = {}): ThreadNow => ({
  id: `T_${String(comments[0]?.id)}`,
  isOutdated: false,
  path: 'src/issue-1.ts',
  line: 1,
  startLine: null,
  originalLine: 1,
  side: 'right',
  startSide: null,
  comments,
  ...change,
});

/** A review without its own text. */
export const review = (change: Partial<ReviewNow> = {}): ReviewNow => ({
  id: 500,
  url: 'https://github.test/acme/shop/pull/1#pullrequestreview-500',
  by: person('ann'),
  state: 'changes-requested',
  text: '',
  at: 1,
  ...change,
});

/** A failed check of another workflow. */
export const failing = (change: Partial<CheckNow> = {}): CheckNow => ({
  of: 'check-run',
  id: 31,
  name: 'test',
  app: 'github-actions',
  workflow: { path: '.github/workflows/ci.yml', name: 'CI', run: 77, event: 'push' },
  result: 'failed',
  conclusion: 'failure',
  summary: '',
  url: null,
  began: null,
  at: 5,
  ...change,
});
