/** Maximum number of bytes that a pipe delivers at once. */
const CHUNK_BYTES = 64 * 1024;
const SESSION = '7c5f6c3e-3f0a-4a53-9a4e-0d2a3c1b5e6f';

/** Splits whole lines into chunks as a pipe delivers them. */
export function* inChunks(lines: Iterable<string>): Generator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for (const text of lines) {
    rest = Buffer.concat([rest, Buffer.from(text)]);
    while (rest.length >= CHUNK_BYTES) {
      // A copy, because a view kept by the reader must not keep the whole buffer alive.
      yield Uint8Array.from(rest.subarray(0, CHUNK_BYTES));
      rest = rest.subarray(CHUNK_BYTES);
    }
  }
  yield rest;
}

/** Generates a stream-json transcript of about `bytes` bytes: turns of text, a tool call and its result. */
export function* streamLines(bytes: number): Generator<string> {
  yield line({
    type: 'system',
    subtype: 'init',
    cwd: '/home/runner/work/sample/sample',
    session_id: SESSION,
    tools: ['Bash', 'Read', 'Edit'],
    model: 'model',
  });
  for (let turn = 0, made = 0; made < bytes; turn += 1) {
    const text = turnOf(turn);
    made += text.length;
    yield text;
  }
  yield line({
    type: 'result',
    subtype: 'success',
    is_error: false,
    num_turns: 1000,
    result: FINAL,
    session_id: SESSION,
    total_cost_usd: 1.5,
    usage: { input_tokens: 1000, output_tokens: 1000 },
    modelUsage: {},
    permission_denials: [],
  });
}

/**
 * Generates about `bytes` bytes of tiny lines, each of which might begin a block: text is most expensive with short
 * lines.
 */
export function* shortLines(bytes: number): Generator<Uint8Array> {
  const text = Buffer.from(TINY_LINES.map((line) => line.repeat(CHUNK_BYTES / 16)).join(''));
  for (let made = 0; made < bytes; made += text.length) {
    for (let at = 0; at < text.length; at += CHUNK_BYTES) yield text.subarray(at, at + CHUNK_BYTES);
  }
}

const TINY_LINES = [
  '\n',
  '\r\n',
  '```\n',
  '{\n',
  '[\n',
  '}\n',
  '"\n',
  '> a\n',
  '`a`\n',
  '<b>\n',
  '\uFEFF\n',
  '1\n',
  '- a\n',
  'I say so.\n',
  'This is a line.\n',
];

export const FINAL =
  'Done.\n\n---RALPH_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 3\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\nRECOMMENDATION: Go on\n---END_RALPH_STATUS---';

/** Sizes of consecutive tool results, in lines of code: most are small, some are whole files. */
export const RESULT_LINES = [3, 40, 12, 220, 8, 90, 1, 25, 600, 15, 60, 2, 140, 30, 6, 1500] as const;

function turnOf(turn: number): string {
  const id = `toolu_${String(turn).padStart(24, '0')}`;
  const path = `src/module-${String(turn % 97)}.ts`;
  const content = code(turn, RESULT_LINES[turn % RESULT_LINES.length] ?? 1);
  return [
    line(
      assistant(turn, {
        type: 'text',
        text: `I look at ${path} next, since the test of step ${String(turn)} names it. ${'It should not change what callers see. '.repeat(turn % 5)}`,
      }),
    ),
    line(
      assistant(
        turn,
        turn % 3 === 0
          ? {
              type: 'tool_use',
              id,
              name: 'Bash',
              input: { command: `npm test -- ${path}`, description: 'Run the test' },
            }
          : { type: 'tool_use', id, name: 'Read', input: { file_path: `/home/runner/work/sample/sample/${path}` } },
      ),
    ),
    // The CLI writes a result twice: once for the model, and once with its parts for people.
    line({
      type: 'user',
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: id, is_error: turn % 11 === 0, content }],
      },
      parent_tool_use_id: null,
      session_id: SESSION,
      uuid: id,
      tool_use_result: { type: 'text', file: { filePath: path, content } },
    }),
  ].join('');
}

function assistant(turn: number, block: object): object {
  return {
    type: 'assistant',
    message: {
      id: `msg_${String(turn)}`,
      type: 'message',
      role: 'assistant',
      model: 'model',
      content: [block],
      stop_reason: null,
      usage: { input_tokens: 4, cache_read_input_tokens: 20_000, output_tokens: 120 },
    },
    parent_tool_use_id: null,
    session_id: SESSION,
    uuid: `${SESSION}-${String(turn)}`,
  };
}

export function code(turn: number, lines: number): string {
  const text: string[] = [];
  for (let at = 1; at <= lines; at += 1)
    text.push(
      `${String(at).padStart(6)}→  if (value${String(turn)} === "näme ${String(at)}") return { kind: 'found', at: ${String(at)} }; // \\d+\tsee above`,
    );
  return text.join('\n');
}

export function line(event: object): string {
  return `${JSON.stringify(event)}\n`;
}
