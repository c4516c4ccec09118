import { expect, test } from 'vitest';
import { buildProjectSlug } from '../../../../src/agents/claude/try-key.ts';
import { isClaudeSession } from '../../../../src/agents/claude/cli.ts';

test.each([
  { folder: '/home/runner/work/demo/demo', slug: '-home-runner-work-demo-demo' },
  { folder: '/home/My Dir.x_y-Z@1/é', slug: '-home-My-Dir-x-y-Z-1--' },
  // Slugs made by Claude Code 2.1.197 and 2.1.330.
  {
    folder: `/tmp/ag/${'a'.repeat(120)}/${'B'.repeat(120)}`,
    slug: `-tmp-ag-${'a'.repeat(120)}-${'B'.repeat(71)}-wrjqy5`,
  },
])('the transcripts of $folder are in $slug', ({ folder, slug }) => {
  expect(buildProjectSlug(folder)).toBe(slug);
});

test.each([
  { id: '0f0e0d0c-1111-4222-8333-444455556666', ok: true },
  { id: '0F0E0D0C-1111-4222-8333-444455556666', ok: true },
  { id: '../../etc/passwd', ok: false },
  { id: '0f0e0d0c-1111-4222-8333-444455556666/..', ok: false },
  { id: '0f0e0d0c-1111-4222-8333-444455556666\n', ok: false },
  { id: '', ok: false },
])('"$id" may be part of a path: $ok', ({ id, ok }) => {
  expect(isClaudeSession(id)).toBe(ok);
});
