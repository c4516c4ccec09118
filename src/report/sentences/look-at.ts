import type { LookAtKind } from '../../core/review/kinds.ts';

/** What files of a kind are, as the beginning of a line about them. */
export const LOOK_AT_WORDS: Readonly<Record<LookAtKind, string>> = {
  'manifest-not-read': 'Manifests that were not read, because they are too large or too many',
  'test-not-read': 'Tests that were not read, because they are too large or too many',
  'void-test-script': 'Test scripts that always pass or were removed',
  'deleted-test': 'Deleted tests',
  'skipped-test': 'Skipped tests',
  'weaker-test': 'Tests that check less than before',
  'changed-test-script': 'Changed test scripts',
  'test-settings': 'Settings that decide what is tested',
  'task-runner': 'Scripts that run the tests, or may',
  'unreadable-scripts': 'Manifests whose scripts cannot be read',
  'script-by-itself': 'Scripts that run by themselves',
  action: 'Actions that workflows may run',
  'other-ci': 'Files that other CI systems run',
  'git-hook': "Hooks that git runs on people's machines",
  editor: 'Settings that make editors run programs',
  machine: 'Files that set up the machine of everyone who opens the repository',
  shell: 'Files that a shell runs in their folder',
  'package-source': 'Settings that decide where packages come from',
  'large-file-source': 'Settings that decide where large files come from',
  'agent-instructions': 'Instructions for agents',
  dependencies: 'Dependencies',
  'new-binary': 'New binary files',
  'large-file': 'Large files',
  untested: 'New code that no changed test mentions',
};
