import { code, FINAL, line, RESULT_LINES } from './transcript-chunks.ts';

/** The lines that an agent's CLI prints: the start, a turn of text, a tool call and its result, and the end. */
interface Printed {
  readonly begin: readonly object[];
  turn(turn: number, content: string): readonly object[];
  readonly end: readonly object[];
}

const ID = '7c5f6c3e-3f0a-4a53-9a4e-0d2a3c1b5e6f';
const TIME = '2026-11-22T08:56:37.146Z';
const say = (turn: number): string =>
  `I look at step ${String(turn)} next. ${'It should not change what callers see. '.repeat(turn % 5)}`;

const codex: Printed = {
  begin: [{ type: 'thread.started', thread_id: ID }, { type: 'turn.started' }],
  turn: (turn, output) => {
    const run = { id: `item_${String(turn)}`, type: 'command_execution', command: '/bin/bash -lc ls' };
    return [
      { type: 'item.completed', item: { id: `item_${String(turn)}`, type: 'agent_message', text: say(turn) } },
      { type: 'item.started', item: { ...run, aggregated_output: '', exit_code: null, status: 'in_progress' } },
      { type: 'item.completed', item: { ...run, aggregated_output: output, exit_code: 0, status: 'completed' } },
    ];
  },
  end: [
    { type: 'item.completed', item: { id: 'item_last', type: 'agent_message', text: FINAL } },
    { type: 'turn.completed', usage: { input_tokens: 500, output_tokens: 250 } },
  ],
};

const copilot: Printed = {
  begin: [],
  turn: (turn, content) => {
    const call = { toolCallId: `call_${String(turn)}`, model: 'model', turnId: String(turn) };
    const envelope = { id: ID, timestamp: TIME, parentId: ID };
    return [
      { type: 'assistant.turn_start', data: { turnId: String(turn) }, ...envelope },
      { type: 'assistant.message', data: { model: 'model', content: say(turn), toolRequests: [] }, ...envelope },
      { type: 'tool.execution_start', data: { ...call, toolName: 'bash', arguments: { command: 'ls' } }, ...envelope },
      {
        type: 'tool.execution_complete',
        data: { ...call, rte: false, shellExecution: { exitCode: 0 }, success: true, result: { content } },
        ...envelope,
      },
    ];
  },
  end: [
    { type: 'assistant.message', data: { content: FINAL } },
    { type: 'result', sessionId: ID, exitCode: 0 },
  ],
};

const PRINTED = { codex, copilot };

/** Agents whose output is read line by line. */
export const LINE_AGENTS = ['codex', 'copilot'] as const;

/** Generates whole lines in the format of the agent's CLI, about `bytes` bytes in all. */
export function* agentLines(agent: (typeof LINE_AGENTS)[number], bytes: number): Generator<string> {
  const { begin, turn, end } = PRINTED[agent];
  yield begin.map(line).join('');
  for (let at = 0, made = 0; made < bytes; at += 1) {
    const text = turn(at, code(at, RESULT_LINES[at % RESULT_LINES.length] ?? 1))
      .map(line)
      .join('');
    made += text.length;
    yield text;
  }
  yield end.map(line).join('');
}
