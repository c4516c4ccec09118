import { describe, expect, test } from 'vitest';
import { createAcpCli } from '../../../src/agents/acp/cli.ts';
import { parseProtocolFailure } from '../../../src/agents/acp/events/updates.ts';
import { classifyClaudeFailure, findClaudeLimit, parseStatusIn } from '../../../src/agents/claude/events/failure.ts';
import { codexCli } from '../../../src/agents/codex/cli.ts';
import { copilotCli } from '../../../src/agents/copilot/cli.ts';
import { geminiCli } from '../../../src/agents/gemini/cli.ts';
import { opencodeCli } from '../../../src/agents/opencode/cli.ts';
import { qwenCli } from '../../../src/agents/qwen/cli.ts';
import { AGENT_NAMES, AGENTS, type AgentName } from '../../../src/core/agent-names.ts';
import { isSessionSuspect } from '../../../src/core/agents/fresh-call.ts';
import type { Analysis } from '../../../src/core/analysis/analysis.ts';
import { NOW } from './reading/fixtures.ts';

type Failed = Pick<Analysis, 'agentError' | 'usageLimit'>;

/** The rest of a failure that ended a call. */
const GIVEN_UP = { cause: '', since: NOW, waitsUntil: NOW, now: NOW };

/** Returns the reading of a failure with these words by a CLI that speaks the protocol. */
const overAcp =
  ({ judgeStall }: Pick<typeof geminiCli, 'judgeStall'>) =>
  (words: string): Failed => {
    const { text, status } = parseProtocolFailure(-32_603, 'Internal error', { details: words });
    return judgeStall({ ...GIVEN_UP, text, status });
  };

const inText =
  ({ judgeStall }: Pick<typeof codexCli, 'judgeStall'>) =>
  (words: string): Failed => {
    const status = /\b([45]\d\d)\b/.exec(words)?.[1];
    return judgeStall({ ...GIVEN_UP, text: words, status: status === undefined ? null : Number(status) });
  };

const ofClaude = (words: string): Failed => {
  const failure = {
    text: `API Error: ${words}`,
    ...{ subtype: null, error: null, apiError: null, terminalReason: null },
    status: parseStatusIn(`API Error: ${words}`),
  };
  return { agentError: classifyClaudeFailure(failure), usageLimit: findClaudeLimit(failure, null, NOW) };
};

/** The agents that can continue a conversation, and how each reads the provider's words. */
const readers: Readonly<Partial<Record<AgentName, (words: string) => Failed>>> = {
  claude: ofClaude,
  codex: inText(codexCli),
  copilot: inText(copilotCli),
  gemini: overAcp(geminiCli),
  opencode: overAcp(opencodeCli),
  qwen: overAcp(qwenCli),
  acp: overAcp(createAcpCli()),
};

test('each agent that continues conversations has a row', () => {
  expect(Object.keys(readers).sort()).toEqual(AGENT_NAMES.filter((name) => AGENTS[name].resume).sort());
});

const isMadeAgain = (failed: Failed): boolean =>
  isSessionSuspect({ analysis: failed, end: { kind: 'exited', code: 1 } });

describe.each(Object.entries(readers))('a resumed call of %s', (_, read) => {
  test.each([
    '400 messages.1.content.5: `thinking` blocks in the latest assistant message cannot be modified',
    '400 messages.9.content.0: Invalid `signature` in `thinking` block',
    '400 messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01',
    '400 messages.0.content.37.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    '400 input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000',
    "400 Item 'rs_0a1b' of type 'reasoning' was provided without its required following item.",
    '400 No tool output found for function call call_4711.',
    '400 The encrypted content gAAAAABo could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    "404 Previous response with id 'resp_4711' not found.",
    "400 An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    '400 Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    '400 Function call is missing a thought_signature in functionCall parts.',
    '400 Corrupted thought signature.',
    '400 Request payload size exceeds the limit: 20971520 bytes.',
    '400 prompt token count of 140000 exceeds the limit of 128000',
    '400 <400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
    '400 data_inspection_failed: Input data may contain inappropriate content.',
    '413 Request Entity Too Large',
    '500 Internal server error',
    'Connection error.',
  ])('is made again in a new conversation after %s', (words) => {
    expect(isMadeAgain(read(words))).toBe(true);
  });

  test.each([
    '401 Incorrect API key provided: sk-proj-4711.',
    '402 Insufficient credits. Add more using the page of your account.',
    '429 Rate limit reached for requests. Please try again in 20s.',
    '429 You exceeded your current quota, please check your plan and billing details.',
  ])('is not after %s', (words) => {
    expect(isMadeAgain(read(words))).toBe(false);
  });
});
