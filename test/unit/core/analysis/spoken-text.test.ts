import { describe, expect, test } from 'vitest';
import { renderSpokenText } from '../../../../src/core/analysis/spoken-text.ts';

const BLOCK = `---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
EXIT_SIGNAL: true
SUMMARY: Added the cart,
  with a test.
---END_RALPH_STATUS---`;

describe('renderSpokenText', () => {
  test.each([
    ['no block', 'I read the code.\n\nThen I wrote it.', 'I read the code.\n\nThen I wrote it.'],
    ['a block behind words', `Done.\n\n${BLOCK}`, 'Done.\n\nAdded the cart, with a test.'],
    ['a block alone', BLOCK, 'Added the cart, with a test.'],
    ['words behind the block', `${BLOCK}\nBye.`, 'Added the cart, with a test.\nBye.'],
    ['a block in a fence', `Done.\n\`\`\`\n${BLOCK}\n\`\`\``, 'Done.\nAdded the cart, with a test.'],
    ['a block without an end', 'Done.\n---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true', 'Done.'],
    [
      'a question',
      'RALPH_STATUS:\n  STATUS: BLOCKED\n  EXIT_SIGNAL: false\n  QUESTION: Which tax rate?',
      'Which tax rate?',
    ],
    ['a word of it in prose', 'The RALPH_STATUS block comes last.', 'The RALPH_STATUS block comes last.'],
    ['code in a fence without a block', 'See:\n```\nnpm test\n```', 'See:\n```\nnpm test\n```'],
  ])('%s', (_, said, shown) => {
    expect(renderSpokenText(said)).toBe(shown);
  });
});
