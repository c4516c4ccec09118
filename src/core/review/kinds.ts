/** What a reviewer looks at before all else, the gravest first. */
export const lookAtKinds = [
  'manifest-not-read',
  'test-not-read',
  'void-test-script',
  'deleted-test',
  'skipped-test',
  'weaker-test',
  'changed-test-script',
  'test-settings',
  'task-runner',
  'unreadable-scripts',
  'script-by-itself',
  'action',
  'other-ci',
  'git-hook',
  'editor',
  'machine',
  'shell',
  'package-source',
  'lock-file',
  'embedded-repository',
  'wrapper',
  'large-file-source',
  'agent-instructions',
  'notes',
  'outside',
  'dependencies',
  'new-binary',
  'changed-binary',
  'large-file',
  'untested',
] as const;

export type LookAtKind = (typeof lookAtKinds)[number];

/** One of a kind and what it is in this file. */
export interface Finding {
  readonly kind: LookAtKind;
  readonly what: string | null;
}
