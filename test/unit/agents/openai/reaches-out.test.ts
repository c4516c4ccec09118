import { describe, expect, test } from 'vitest';
import type { AgentRequest } from '../../../../src/ports/broker.ts';
import { asked, chat, cliBodies, forwarded, read, responses } from './fixtures.ts';

const said = (...parts: readonly unknown[]) =>
  responses({ input: [{ type: 'message', role: 'user', content: parts }] });
const chatted = (...parts: readonly unknown[]) => chat({ messages: [{ role: 'user', content: parts }] });
const item = (one: unknown) => responses({ input: [one] });
const tools = (...list: readonly unknown[]) => responses({ tools: list });
const EVIL = 'https://evil.example/x';
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const own = { type: 'function', name: 'f', parameters: {} };

describe('refused', () => {
  test.each<[string, Partial<AgentRequest>, RegExp]>([
    ['no JSON', { body: '{"model":' }, /not a JSON object/],
    ['no object', { body: '[]' }, /not a JSON object/],
    ['nothing', { body: '' }, /not a JSON object/],
    ['null', { body: 'null' }, /not a JSON object/],
    ['packed', { body: '\u001f\ufffd\b' }, /not a JSON object/],
    // Content stored by the provider
    ['an answer that is stored', responses({ previous_response_id: 'resp_1' }), /a stored response/],
    ['a conversation that is stored', responses({ conversation: 'conv_1' }), /a stored conversation/],
    ['one as an object', responses({ conversation: { id: 'conv_1' } }), /a stored conversation/],
    ['a prompt that is stored', responses({ prompt: { id: 'pmpt_1', variables: {} } }), /a stored prompt/],
    ['work in the background', responses({ background: true }), /in the background/],
    ['an item that is stored', item({ type: 'item_reference', id: 'msg_1' }), /an item "item_reference"/],
    ['one without its type', item({ id: 'msg_1' }), /an item without a type/],
    ['one of type null', item({ type: null, id: 'msg_1' }), /an item without a type/],
    ['one that is a text', item('msg_1'), /an item without a type/],
    [
      'an approval of a server of tools',
      item({ type: 'mcp_approval_response', approve: true }),
      /"mcp_approval_response"/,
    ],
    ['an image that was made', item({ type: 'image_generation_call', id: 'ig_1' }), /"image_generation_call"/],
    ['code that ran there', item({ type: 'code_interpreter_call', container_id: 'c' }), /"code_interpreter_call"/],
    ['a computer there', item({ type: 'computer_call_output' }), /"computer_call_output"/],
    ['a program there', item({ type: 'program', code: 'x' }), /"program"/],
    ['an item that nobody knows', item({ type: 'x'.repeat(500) }), /^an item "x{60}" of a conversation$/],
    ['an item whose type is not a text', item({ type: { a: 1 } }), /of an unknown form/],
    [
      'a conversation in another form',
      responses({ input: { type: 'item_reference' } }),
      /conversation in an unknown form/,
    ],
    // Tools
    [
      'a search',
      tools(own, { type: 'web_search', external_web_access: false }),
      /the tool "web_search" of the provider's/,
    ],
    ['a search of old', tools({ type: 'web_search_preview' }), /"web_search_preview"/],
    ['a search of a day', tools({ type: 'web_search_2025_08_26' }), /"web_search_2025_08_26"/],
    ['files', tools({ type: 'file_search', vector_store_ids: ['vs'] }), /"file_search"/],
    ['code', tools({ type: 'code_interpreter', container: { type: 'auto' } }), /"code_interpreter"/],
    ['a computer', tools({ type: 'computer_use_preview' }), /"computer_use_preview"/],
    ['images', tools({ type: 'image_generation' }), /"image_generation"/],
    ['servers of tools', tools({ type: 'mcp', server_url: EVIL, server_label: 'x' }), /"mcp"/],
    ['programs', tools({ type: 'programmatic_tool_calling' }), /"programmatic_tool_calling"/],
    ['a shell in a container', tools({ type: 'shell', environment: { type: 'container_auto' } }), /"shell"/],
    ['a shell somewhere', tools({ type: 'shell' }), /"shell"/],
    ['a search for tools there', tools({ type: 'tool_search' }), /"tool_search"/],
    ['one that says so', tools({ type: 'tool_search', execution: 'server' }), /"tool_search"/],
    ['a tool of a gateway', tools({ type: 'openrouter:web_search' }), /"openrouter:web_search"/],
    [
      'a tool of Moonshot',
      chat({ tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }),
      /"builtin_f/,
    ],
    ['a tool of Google', chat({ tools: [{ googleSearch: {} }] }), /the tool without a type/],
    ['a tool in another spelling', tools({ type: 'Web_Search' }), /"Web_Search"/],
    ['a tool without a type', tools({ name: 'f' }), /the tool without a type/],
    ['a tool that is a text', tools('web_search'), /the tool without a type/],
    ['tools in another form', responses({ tools: { type: 'mcp' } }), /tools in an unknown form/],
    ['one in a namespace', tools({ type: 'namespace', name: 'n', tools: [own, { type: 'mcp' }] }), /"mcp"/],
    [
      'one in a namespace in one',
      tools({ type: 'namespace', tools: [{ type: 'namespace', tools: [{ type: 'mcp' }] }] }),
      /"mcp"/,
    ],
    [
      'one in the conversation',
      item({ type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp' }] }),
      /"mcp"/,
    ],
    ['one that was found', item({ type: 'tool_search_output', tools: [{ type: 'web_search' }] }), /"web_search"/],
    ['one that is chosen', responses({ tool_choice: { type: 'mcp', server_label: 'x' } }), /"mcp"/],
    [
      'one of those that are allowed',
      responses({ tool_choice: { type: 'allowed_tools', tools: [{ type: 'file_search' }] } }),
      /"file_search"/,
    ],
    ['the search of Chat Completions', chat({ web_search_options: {} }), /a web search/],
    ['a model that searches', chat({ model: 'gpt-5-search-api' }), /the model "gpt-5-search-api", which searches/],
    ['one of old', chat({ model: 'gpt-4o-search-preview-2025-03-11' }), /which searches/],
    ['one of a gateway', chat({ model: 'openai/gpt-5.5:online' }), /which searches/],
    ['one that researches', responses({ model: 'o3-deep-research' }), /which searches/],
    ['plugins of a gateway', chat({ plugins: [{ id: 'web' }] }), /plugins/],
    ['servers of tools of a gateway', chat({ mcp_servers: [{ url: EVIL }] }), /MCP servers/],
    ['a container', responses({ container: 'cntr_1' }), /a container/],
    // Content from another address
    ['an image', said({ type: 'input_image', image_url: EVIL }), /content from an address/],
    ['an image in capitals', said({ type: 'input_image', image_url: 'DATA:image/png;base64,AA' }), /from an address/],
    ['an image as in Chat Completions', said({ type: 'image_url', image_url: { url: EVIL } }), /from an address/],
    [
      'an image in a result',
      item({ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: EVIL }] }),
      /from an address/,
    ],
    ['an image that is stored', said({ type: 'input_image', file_id: 'file-1' }), /a stored file/],
    ['a file', said({ type: 'input_file', file_url: EVIL }), /from an address/],
    ['a file that is stored', said({ type: 'input_file', file_id: 'file-1' }), /a stored file/],
    ['files that are stored', said({ type: 'input_file', file_ids: ['file-1'] }), /a stored file/],
    ["Chat's image", chatted({ type: 'image_url', image_url: { url: 'http://169.254.169.254/' } }), /from an address/],
    ["Chat's image as a text", chatted({ type: 'image_url', image_url: EVIL }), /from an address/],
    ["Chat's image in a bucket", chatted({ type: 'image_url', image_url: { url: 'oss://b/k' } }), /from an address/],
    ["Chat's image in another form", chatted({ type: 'image_url', image_url: { uri: EVIL } }), /from an address/],
    ["Chat's images", chatted({ type: 'image_url', image_url: [EVIL] }), /from an address/],
    ["Chat's film", chatted({ type: 'video_url', video_url: { url: EVIL } }), /from an address/],
    ["Chat's sound", chatted({ type: 'input_audio', input_audio: { data: EVIL, format: 'wav' } }), /from an address/],
    ["Chat's stored sound", chat({ messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }), /a stored sound/],
    ["Chat's file", chatted({ type: 'file', file: { file_id: 'file-1' } }), /a stored file/],
    ["Chat's file by address", chatted({ type: 'file', file: { filename: 'a', file_data: EVIL } }), /from an address/],
    ['an image of another provider', chatted({ image: EVIL }), /content without a type/],
    ['content that nobody knows', chatted({ type: 'document', source: { type: 'url' } }), /content "document"/],
    ['a name in another spelling', said({ type: 'input_image', Image_URL: EVIL }), /the field "Image_URL"/],
    [
      'a name with a letter that folds',
      item({ type: 'additional_tools', 'tool\u017f': [{ type: 'mcp' }] }),
      /the field/,
    ],
    ['too deep', chat({ messages: deep(100) }), /too deep/],
    ['too deep where nobody looks', { body: `{"metadata":${'['.repeat(200_000)}${']'.repeat(200_000)}}` }, /too deep/],
  ])('%s', (_what, request, why) => {
    const reading = read(request);
    expect(reading).toMatchObject({ kind: 'refused', answer: { headers: { 'x-should-retry': 'false' } } });
    expect(reading.kind === 'refused' && reading.why).toMatch(why);
    expect(reading.kind === 'refused' && reading.answer.status).toBe(400);
  });
});

describe('passed on', () => {
  test.each(cliBodies)('%s, as it was sent', (_cli, api, body) => {
    expect(JSON.parse(forwarded(asked(api, body)).body)).toEqual(body);
  });

  test.each<[string, Partial<AgentRequest>]>([
    ['a question that is a text', responses({ input: 'hi' })],
    ['tools for the machine', tools({ type: 'local_shell' }, { type: 'apply_patch' })],
    ['a shell on the machine', tools({ type: 'shell', environment: { type: 'local' } })],
    ['a choice', responses({ tool_choice: { type: 'function', name: 'f' } })],
    ['choices', responses({ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function' }] } })],
    ["Chat's choice", chat({ tool_choice: { type: 'function', function: { name: 'f' } } })],
    [
      'fields with nothing in them',
      responses({ previous_response_id: null, conversation: null, prompt: null, tools: [] }),
    ],
    ['not in the background', responses({ background: false })],
    ['a file in the request', said({ type: 'input_file', file_data: 'data:application/pdf;base64,AA==' })],
    ['one in base64', chatted({ type: 'file', file: { file_data: 'AA==' } })],
    ['sound in the request', chatted({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } })],
    ['a search of the past', item({ type: 'web_search_call', action: { type: 'open_page', url: EVIL } })],
    [
      'addresses in what was said',
      item({
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: EVIL, annotations: [{ type: 'url_citation', url: EVIL, file_id: 'f' }] },
        ],
      }),
    ],
    [
      'addresses in what a tool was called with',
      item({ type: 'tool_search_call', arguments: { tools: { image_url: EVIL } } }),
    ],
    ['a form for the answer', responses({ text: { format: { type: 'json_schema', schema: { tools: {} } } } })],
    ['legacy functions', chat({ functions: [{ name: 'f', parameters: { tools: 1 } }] })],
  ])('%s', (_what, request) => {
    expect(forwarded(request).kind).toBe('forwarded');
  });

  test('a search that the user allows, and nothing else', () => {
    const allowed = { mayWebSearch: true };
    for (const request of [
      tools({ type: 'web_search' }),
      tools({ type: 'web_search_preview_2025_03_11' }),
      chat({ model: 'openai/gpt-5.5:online' }),
    ]) {
      expect(read(request, allowed).kind).toBe('forwarded');
    }
    const search = forwarded(chat({ web_search_options: { search_context_size: 'low' } }), allowed);
    expect(JSON.parse(search.body)).toMatchObject({ web_search_options: { search_context_size: 'low' } });
    for (const type of ['mcp', 'file_search', 'web_search_2025', 'web_search_premium', 'x_web_search']) {
      expect(read(tools({ type }), allowed).kind).toBe('refused');
    }
  });
});

describe('sent on', () => {
  test('what Copilot CLI notes on its messages for itself is not, and the rest of a message is', () => {
    const message = { role: 'tool', tool_call_id: 'c1', content: 'Created file a' };
    const noted = { ...message, __copilotMessageSource: { kind: 'tool', name: 'create', summary: 'create a' } };
    const { body } = forwarded(chat({ messages: [noted, 'odd', { role: 'user', content: 'go on' }] }));
    expect(JSON.parse(body)).toMatchObject({ messages: [message, 'odd', { role: 'user', content: 'go on' }] });
    expect(body).not.toContain('__copilot');
  });

  const sent = (request: Partial<AgentRequest>): unknown => JSON.parse(forwarded(request).body);

  test.each([{}, { store: true }, { store: null }, { store: 'true' }])('answers are not stored: %j', (given) => {
    expect(sent(responses(given))).toEqual({ model: 'gpt-5.5', input: [], store: false });
    expect(sent(chat(given))).toEqual({ model: 'gpt-5.5', messages: [] });
  });

  test.each<[object, object]>([
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [
      { stream: true, stream_options: { include_usage: false, include_obfuscation: false } },
      { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
    ],
    [
      { stream: true, stream_options: 'x' },
      { stream: true, stream_options: { include_usage: true } },
    ],
    [{ stream: 'true' }, { stream: 'true', stream_options: { include_usage: true } }],
    [{ stream: false }, { stream: false }],
    [{ stream: null }, { stream: null }],
    [{}, {}],
  ])('Chat Completions asked with %j say what they come to', (given, expected) => {
    expect(sent(chat(given))).toEqual({ model: 'gpt-5.5', messages: [], ...expected });
  });

  test('a stream of the Responses API does so unasked', () => {
    expect(sent(responses({ stream: true }))).toEqual({ model: 'gpt-5.5', input: [], stream: true, store: false });
  });

  test.each([
    'enable_search',
    'search_parameters',
    'extra_body',
    'models',
    'Tools',
    'tool_resources',
    'modalities',
    '__proto__',
  ])('the field %s is left out', (field) => {
    const body = `{"model":"gpt-5.5","messages":[],${JSON.stringify(field)}:[{"type":"mcp"}]}`;
    expect(forwarded({ ...chat({}), body }).body).toBe('{"model":"gpt-5.5","messages":[]}');
  });

  test.each(['__copilotMessageSource', '__copilotUserShellOutput'])(
    'the mark %s that Copilot CLI leaves on messages is taken off',
    (mark) => {
      const message = { role: 'user', content: 'hi' };
      const conversation = [{ ...message, [mark]: { tools: [{ type: 'mcp' }] } }, message];
      expect(sent(chat({ messages: conversation }))).toMatchObject({ messages: [message, message] });
      expect(sent(responses({ input: conversation }))).toMatchObject({ input: [message, message] });
    },
  );

  test('a key that comes twice is sent once, as it was checked', () => {
    const body = '{"tools":[{"type":"mcp"}],"model":"m","input":"hi","tools":[]}';
    expect(forwarded({ body }).body).toBe('{"tools":[],"model":"m","input":"hi","store":false}');
  });
});
