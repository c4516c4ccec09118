import { expect, test } from 'vitest';
import { read } from './pages.ts';

const OPEN = 'test/e2e/own-process/still-open.test.ts';

/** What shows each line of SECURITY.md about what an agent of the same user can still reach: titles of tests in OPEN. */
const shownBy: Readonly<Record<string, readonly string[]>> = {
  "The environment of the action's process": [
    "the token in the environment of the action's process pushes what the agent likes",
    'a record that the agent sealed with the token and that says that the run ended keeps post from doing anything',
  ],
  "The memory of the action's process": ["the memory of the action's process can be read, unless Yama forbids it"],
  Signals: [
    'the watchdog can be ended',
    'LD_PRELOAD in GITHUB_ENV, and main ended before it could undo it: the post step is what the agent wants',
  ],
  'The record of the run': [
    'an older record of the same run is what post shows, after a main that was ended; what was done stays done',
    'a record that the agent sealed with the token and that says that the run ended keeps post from doing anything',
  ],
  "The action's folder in `RUNNER_TEMP`": [
    'what waits in the quarantine can be destroyed, but nothing else is published',
  ],
  'Files of the home folder': ['a shell of a later step runs what the agent wrote to the home folder'],
  'Tools that the verification uses': [
    'a tool $where that the agent replaced decides what the verification says',
    'what the verification finds $where, where the agent left it, decides what it says',
    'an unmarked process that writes into the clean clone decides what the verification says',
  ],
  "The runner's Node": [
    "the runner's Node, where its user can write it, is what the post step runs with",
    'a post.js that was changed before main was ended is what the post step is',
  ],
  "The runner's own files": ["later steps read the event that the agent wrote among the runner's own files"],
  'Processes that drop their environment and their session': [
    'a process that dropped its environment and its session lives on after the job',
  ],
};

test('every line of SECURITY.md about what an agent of the same user can still reach has tests that show it', () => {
  const [, section = ''] =
    /## What an agent of the same user can still reach\n(.*?)(?=\n## |$)/s.exec(read('SECURITY.md')) ?? [];
  const lines = [...section.matchAll(/^- (?:\*\*(.+?)\*\*)?/gm)].map(([, heading = '']) => heading);
  expect(lines).toEqual(Object.keys(shownBy));
});

test.each(Object.entries(shownBy))('%s: its tests exist', (_line, titles) => {
  const source = read(OPEN);
  const isTest = (title: string): boolean =>
    ["'", '"', '`'].some(
      (quote) =>
        source.includes(`(${quote}${title}${quote}, async`) || source.includes(`\n  ${quote}${title}${quote},\n`),
    );
  expect(titles).not.toEqual([]);
  expect(titles.filter((title) => !isTest(title))).toEqual([]);
});
