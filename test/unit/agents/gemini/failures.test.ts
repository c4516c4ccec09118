import { expect, test } from 'vitest';
import { geminiDialect } from '../../../../src/agents/gemini/events/dialect.ts';
import { createAgentReader } from '../../../../src/agents/reading/reader.ts';

const result = (message: string) =>
  JSON.stringify({ type: 'result', status: 'error', error: { type: 'unknown', message }, stats: { total_tokens: 0 } });

test.each([
  {
    what: 'its own words behind an answer of 429',
    printed: result(
      '[API Error: no]\nPlease wait and try again later. To increase your limits, request a quota increase',
    ),
    kind: 'rate-limit',
  },
  {
    what: 'words of the provider that only look like it',
    printed: result('[API Error: Please wait and try again later. To increase your limits, ask]'),
    kind: 'other',
  },
  {
    what: 'a session among others',
    printed: 'Error resuming session: Invalid session identifier "x".',
    kind: 'unknown-session',
  },
  {
    what: 'a session where there is none at all',
    printed: 'Error resuming session: No previous sessions found for this project.',
    kind: 'unknown-session',
  },
])('$what', ({ printed, kind }) => {
  const reader = createAgentReader({ dialect: geminiDialect, now: 0, tokensBefore: null, onEvent: null });
  reader.push(new TextEncoder().encode(`${printed}\n`));
  expect(reader.end().agentError).toMatchObject({ kind });
});
