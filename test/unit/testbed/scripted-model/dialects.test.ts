import { describe, expect, test } from 'vitest';
import { startScriptedModel } from '../../../../testbed/scripted-model/server.ts';
import type { Conversation, Script, ModelStep } from '../../../../testbed/scripted-model/step.ts';

interface Spoken {
  readonly name: string;
  readonly path: string;
  /** A request with a prompt and one tool. */
  readonly asked: object;
  /** A request with a prompt and without a tool. */
  readonly bare: object;
  /** A request with an earlier prompt and the result of a failed tool. */
  readonly later: object;
  readonly said: RegExp;
  readonly called: RegExp;
  readonly end: RegExp;
  readonly error: object;
  readonly streamError: RegExp;
}

const responsesTool = { type: 'function', name: 'exec_command' };
const chatTool = { type: 'function', function: { name: 'bash' } };
const geminiTool = { functionDeclarations: [{ name: 'run_shell_command' }] };
const says = (role: string, content: string) => ({ role, content });
const parts = (role: string, ...texts: readonly string[]) => ({ role, parts: texts.map((text) => ({ text })) });

const dialects: readonly Spoken[] = [
  {
    name: 'anthropic',
    path: '/v1/messages',
    asked: { stream: true, tools: [{ name: 'Bash' }], messages: [says('user', 'now')] },
    bare: { stream: true, messages: [says('user', 'now')] },
    later: {
      stream: true,
      tools: [{ name: 'Bash' }],
      messages: [
        says('user', 'before'),
        says('assistant', 'yes'),
        says('user', 'now'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'exit code: 3', is_error: true }] },
      ],
    },
    said: /"text_delta","text":"Hi"/,
    called: /"name":"Bash".*"partial_json":"\{\\"command\\":\\"ls\\"/s,
    end: /message_stop/,
    error: { type: 'error', error: { type: 'limit', message: 'no more' } },
    streamError: /^event: error\ndata: \{"type":"error","error":\{"type":"limit","message":"no more"\}\}$/m,
  },
  {
    name: 'openai-responses',
    path: '/v1/responses',
    asked: { stream: true, tools: [responsesTool], input: [says('user', 'now')] },
    bare: { stream: true, input: 'now' },
    later: {
      stream: true,
      input: [
        // The newest models of Codex get their tools in this form.
        { type: 'additional_tools', tools: [{ type: 'namespace', name: 'functions', tools: [responsesTool] }] },
        says('user', '<environment_context>\n<cwd>/work</cwd>\n</environment_context>'),
        says('user', 'before'),
        says('assistant', 'yes'),
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'now' }] },
        { type: 'function_call', call_id: 'c', name: 'exec_command', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'exit code: 3' },
      ],
    },
    said: /"response.output_text.delta".*"delta":"Hi"/,
    called: /"function_call".*"name":"exec_command".*"arguments":"\{\\"cmd\\":\\"ls\\"\}"/,
    end: /response\.completed/,
    error: { error: { message: 'no more', type: 'limit', param: null, code: 'limit' } },
    streamError: /response\.failed.*"error":\{"code":"limit","message":"no more"\}/,
  },
  {
    name: 'openai-chat',
    path: '/v1/chat/completions',
    asked: { stream: true, tools: [chatTool], messages: [says('system', 'you are'), says('user', 'now')] },
    bare: { stream: true, messages: [says('user', 'now')] },
    later: {
      stream: true,
      tools: [chatTool],
      messages: [
        says('system', 'you are'),
        says('user', '<system-reminder>skills</system-reminder>\n\nbefore'),
        says('assistant', 'yes'),
        { role: 'user', content: [{ type: 'text', text: 'now' }] },
        { role: 'assistant', content: null, tool_calls: [] },
        { role: 'tool', tool_call_id: 'c', content: 'exit code: 3' },
      ],
    },
    said: /"delta":\{"role":"assistant","content":"Hi"\}/,
    called: /"tool_calls":\[\{"index":0,.*"name":"bash","arguments":"\{\\"command\\":\\"ls\\"/,
    end: /^data: \[DONE\]$/m,
    error: { error: { message: 'no more', type: 'limit', param: null, code: 'limit' } },
    streamError: /^data: \{"error":\{"message":"no more","type":"limit"/m,
  },
  {
    name: 'gemini',
    path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent',
    asked: { tools: [geminiTool], contents: [parts('user', 'now')] },
    bare: { contents: [parts('user', 'now')] },
    later: {
      tools: [geminiTool],
      contents: [
        parts('user', '<session_context>\nwhere\n</session_context>', 'before'),
        parts('model', 'yes'),
        parts('user', 'now'),
        { role: 'model', parts: [{ functionCall: { name: 'run_shell_command', args: {} } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name: 'run_shell_command', response: { error: 'exit code: 3' } } }],
        },
      ],
    },
    said: /"parts":\[\{"text":"Hi"\}\]/,
    called: /"functionCall":\{"name":"run_shell_command","args":\{"command":"ls"/,
    end: /"finishReason":"STOP"/,
    error: { error: { code: 429, message: 'no more', status: 'limit' } },
    streamError: /^data: \{"error":\{"code":503,"message":"no more","status":"limit"\}\}$/m,
  },
];

describe.each(dialects)('$name', (dialect) => {
  const { path, asked, bare, later } = dialect;

  test.each<[string, ModelStep, (spoken: Spoken) => readonly RegExp[], (spoken: Spoken) => readonly RegExp[]]>([
    ['a reply', { kind: 'reply', text: 'Hi' }, ({ said, end }) => [said, end], ({ called }) => [called]],
    ['a command', { kind: 'run', command: 'ls', text: 'Hi' }, ({ said, called, end }) => [said, called, end], () => []],
    ['nothing', { kind: 'empty' }, ({ end }) => [end], ({ said, called }) => [said, called]],
    [
      'an error in the stream',
      { kind: 'stream-error', text: 'Hi', type: 'limit', message: 'no more' },
      ({ said, streamError }) => [said, streamError],
      ({ end }) => [end],
    ],
  ])('%s', async (_what, step, wanted, unwanted) => {
    const { status, text } = await ask([step], path, asked);
    expect(status).toBe(200);
    for (const form of wanted(dialect)) expect(text).toMatch(form);
    for (const form of unwanted(dialect)) expect(text).not.toMatch(form);
  });

  test('an error has its status, its headers and the body that the provider sends', async () => {
    const error = { kind: 'error', status: 429, type: 'limit', message: 'no more' } as const;
    const plain = await ask([{ ...error, headers: { 'retry-after': '7' } }], path, asked);
    expect(plain).toMatchObject({ status: 429, retryAfter: '7' });
    expect(JSON.parse(plain.text)).toEqual(dialect.error);
    expect((await ask([{ ...error, body: { own: 1 } }], path, asked)).text).toBe('{"own":1}');
  });

  test('a connection is cut after what was said', async () => {
    await using model = await startScriptedModel({ script: [{ kind: 'cut', text: 'Hi' }] });
    const { body } = await fetch(`${model.url}${path}`, { method: 'POST', body: JSON.stringify(asked) });
    const heard: string[] = [];
    const listening = (async () => {
      for await (const chunk of body ?? []) heard.push(new TextDecoder().decode(chunk as Uint8Array));
    })();
    await expect(listening).rejects.toThrow('terminated');
    expect(heard.join('')).toMatch(dialect.said);
    expect(heard.join('')).not.toMatch(dialect.end);
  });

  test.each(['stall', 'hang'] as const)('%s: the answer does not end', async (kind) => {
    await using model = await startScriptedModel({ script: [{ kind, text: 'Hi' }] });
    const stop = new AbortController();
    const request = { method: 'POST', body: JSON.stringify(asked), signal: stop.signal };
    const answer = fetch(`${model.url}${path}`, request);
    if (kind === 'stall') {
      const reader = (await answer).body?.getReader();
      let heard = '';
      while (!dialect.said.test(heard)) heard += new TextDecoder().decode((await reader?.read())?.value as Uint8Array);
      const more = reader?.read();
      stop.abort();
      await expect(more).rejects.toThrow('aborted');
    } else {
      await expect.poll(() => model.requests.length).toBe(1);
      stop.abort();
      await expect(answer).rejects.toThrow('aborted');
    }
  });

  test('a script sees the prompts and the results since the last', async () => {
    const seen: Conversation[] = [];
    const script: Script = (conversation) => {
      seen.push(conversation);
      return { kind: 'reply', text: 'Hi' };
    };
    await ask(script, path, asked);
    await ask(script, path, later);
    expect(seen).toEqual([
      { prompts: ['now'], results: [] },
      { prompts: ['before', 'now'], results: [{ text: 'exit code: 3', isError: true }] },
    ]);
  });

  test('every request is kept, and one on the side takes no step', async () => {
    await using model = await startScriptedModel({
      script: [
        { kind: 'reply', text: 'one' },
        { kind: 'reply', text: 'two' },
      ],
    });
    const texts: string[] = [];
    for (const body of [bare, asked]) texts.push((await post(model.url, path, body)).text);
    // The test of Anthropic's key uses no tools.
    const isSide = dialect.name !== 'anthropic';
    expect(texts[0]).toMatch(isSide ? /A title/ : /one/);
    expect(texts[1]).toMatch(isSide ? /one/ : /two/);
    const kept = { at: expect.any(Number), method: 'POST', path, dialect: dialect.name };
    expect(model.requests).toMatchObject([
      { ...kept, body: bare, isSide },
      { ...kept, body: asked, isSide: false },
    ]);
  });

  test('a model that is offered no tool for it says so', async () => {
    const useless = JSON.parse(
      JSON.stringify(asked).replace(/"(?:Bash|exec_command|bash|run_shell_command)"/, '"look"'),
    ) as object;
    expect((await ask([{ kind: 'run', command: 'ls' }], path, useless)).text).toMatch(
      /offered no tool to run with, only: look/,
    );
  });
});

test.each([
  ['/v1/messages', { messages: [] }, { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }],
  ['/v1/responses', { tools: [responsesTool] }, { status: 'completed', output: [{ content: [{ text: 'Hi' }] }] }],
  ['/v1/chat/completions', { tools: [chatTool] }, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }],
  ['/m:generateContent', { tools: [geminiTool] }, { candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }],
  ['/m:countTokens', {}, { totalTokens: 100 }],
])('without a stream %s answers as a whole', async (path, body, answer) => {
  expect(JSON.parse((await ask([{ kind: 'reply', text: 'Hi' }], path, body)).text)).toMatchObject(answer);
});

test('anything else is not found', async () => {
  expect((await ask([{ kind: 'reply', text: 'Hi' }], '/v1/models', {})).status).toBe(404);
});

async function ask(script: Script, path: string, body: object) {
  await using model = await startScriptedModel({ script });
  return await post(model.url, path, body);
}

async function post(url: string, path: string, body: object) {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
}
