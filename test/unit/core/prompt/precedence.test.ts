import { expect, test } from 'vitest';
import { composePrompt } from '../../../../src/core/prompt/prompt.ts';
import { renderPrecedenceRules } from '../../../../src/core/prompt/diagnosis.ts';
import type { Task } from '../../../../src/core/tasks/task.ts';
import { cpuMs } from '../../../cpu.ts';
import { promptParts, task } from '../core-fixtures.ts';

// This prompt has the form of those that users of other Ralphs have; the text is our own.
const PROTECTED_FILES = `# Instructions
1. Read .ralph/specs/* first
2. Look at .ralph/fix_plan.md and implement the highest priority item

## Do not modify
Never delete, move or overwrite these:
- .ralph/ (all of it)
- .ralphrc

End with this block:
---RALPH_STATUS---
EXIT_SIGNAL: false | true
---END_RALPH_STATUS---`;
const OF_THE_FIRST = `Study specs/* and @fix_plan.md, then choose the most important item and build it.
When everything is finished, say so. Push to origin after each step.`;
const WITH_STEPS = `Read .ralph/prd.json. You can take multiple related tasks at once. Set "status" to done.
When all tasks are done, exit immediately.`;
const WITH_STORIES = `1. Read prd.json. Check that you are on the correct branch from branchName.
2. Pick the **highest priority** story where passes is false, and set passes: true afterwards.
When all stories pass, reply with <promise>COMPLETE</promise>`;
const STORIES_IN_PLAN = `Take the first unchecked item of .ralph/@fix_plan.md and tick it. Do not rewrite story lines.
Close with RALPH_STATUS, EXIT_SIGNAL and all.`;
const PLAIN = 'You are careful. Keep the code small, and write a test for each change.';

const issue = task(1).source;
const plan: Task['source'] = { kind: 'plan', path: '.ralph/fix_plan.md', line: 3 };
const prd: Task['source'] = { kind: 'prd', path: 'scripts/ralph/prd.json', key: 'US-001', issue: null };
const feedback: Task['source'] = {
  kind: 'feedback',
  on: { kind: 'check', name: 'test', head: 'abc' },
  pullRequest: 5,
  url: 'https://example.test/pull/5',
};
const open: Task['source'] = { kind: 'prompt', path: 'PROMPT.md', documents: [] };

const NOTES = '.ralph/learnings/issue-1.md';

const MARK = /^- Mark the item of your task in \S+ anyway\.$/m;
const KEEP_NOTES = /^- Your notes go to \.ralph\/learnings\/issue-1\.md anyway\.$/m;
const NO_ITEM = /no list has an item of it to mark/;
const CHOSEN = /Your task is chosen already/;
const STAY = /Stay on this branch/;
const BLOCK = /the one at the end of this prompt counts/;
const ENDS = /EXIT_SIGNAL in that block says/;
const all = [MARK, KEEP_NOTES, NO_ITEM, CHOSEN, STAY, BLOCK, ENDS];

test.each<[string, string, Task['source'], readonly RegExp[]]>([
  ['protected files, a box of the plan', PROTECTED_FILES, plan, [MARK, CHOSEN, BLOCK]],
  ['protected files, an issue', PROTECTED_FILES, issue, [KEEP_NOTES, NO_ITEM, CHOSEN, BLOCK]],
  ['protected files, no list', PROTECTED_FILES, open, [KEEP_NOTES, BLOCK]],
  ['the first Ralph, a box', OF_THE_FIRST, plan, [MARK, CHOSEN, STAY]],
  ['the first Ralph, no list', OF_THE_FIRST, open, [STAY]],
  ['steps, an entry', WITH_STEPS, prd, [MARK, CHOSEN, ENDS]],
  ['stories, an entry', WITH_STORIES, prd, [MARK, CHOSEN, STAY, ENDS]],
  ['stories, an issue', WITH_STORIES, issue, [NO_ITEM, CHOSEN, STAY, ENDS]],
  ['stories, feedback', WITH_STORIES, feedback, [NO_ITEM, CHOSEN, STAY, ENDS]],
  ['stories in the plan, a box', STORIES_IN_PLAN, plan, [MARK, CHOSEN, BLOCK]],
  ['nothing of the kind', PLAIN, plan, []],
  ['nothing of the kind, no list', PLAIN, open, []],
])('of %s only what is relevant is said', (_, prompt, source, said) => {
  const text = renderPrecedenceRules({ prompt, task: { source }, standing: 'listed', notesPath: NOTES, aim: 'task' });
  expect(all.filter((rule) => rule.test(text))).toEqual(said);
  if (said.length === 0) expect(text).toBe('');
});

test.each([
  'Leave .ralph/ alone.',
  'The folder .ralph/ is read-only.',
  'Keep out of .ralph/ entirely.',
  '.ralph/ is protected: modifying it is forbidden.',
  'Never modify .ralph/.',
])('%s: the box is ticked, and notes are kept, in spite of it', (prompt) => {
  const of = (source: Task['source']): string =>
    renderPrecedenceRules({ prompt, task: { source }, standing: 'listed', notesPath: NOTES, aim: 'task' });
  for (const source of [plan, prd]) expect(of(source)).toMatch(MARK);
  for (const source of [issue, open]) expect(of(source)).toMatch(KEEP_NOTES);
});

test('an item that is not on this branch has nothing to mark', () => {
  expect(
    renderPrecedenceRules({
      prompt: PROTECTED_FILES,
      task: { source: plan },
      standing: 'unlisted',
      notesPath: NOTES,
      aim: 'task',
    }),
  ).not.toMatch(MARK);
});

test.each([plan, prd, issue, feedback, open])('with all of it at once it is at most 600 characters: %o', (source) => {
  const prompt = [PROTECTED_FILES, OF_THE_FIRST, WITH_STEPS, WITH_STORIES].join('\n');
  const text = renderPrecedenceRules({ prompt, task: { source }, standing: 'listed', notesPath: NOTES, aim: 'task' });
  expect(text.length).toBeGreaterThan(200);
  expect(text.length).toBeLessThanOrEqual(600);
});

test('stands directly behind the text of the user, which is not changed; the built-in prompt needs none', () => {
  const parts = { ...promptParts, promptTemplate: PROTECTED_FILES, promptPath: 'PROMPT.md', task: task(1) };
  const prompt = composePrompt(parts);
  expect(prompt).toContain(`${PROTECTED_FILES}\n\n# What takes precedence\n`);
  expect(prompt.indexOf('# What takes precedence')).toBeLessThan(prompt.indexOf('# Your task: issue-1'));
  expect(composePrompt({ ...parts, promptPath: null })).not.toContain('# What takes precedence');
});

test('a long prompt takes no time', () => {
  const cost = cpuMs(() =>
    renderPrecedenceRules({
      prompt: `no ${'not pick '.repeat(100_000)}`,
      task: { source: plan },
      standing: 'listed',
      notesPath: NOTES,
      aim: 'task',
    }),
  );
  expect(cost).toBeLessThan(2_000);
});
