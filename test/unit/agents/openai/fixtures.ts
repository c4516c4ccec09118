import { createOpenAiProtocol } from '../../../../src/agents/openai/protocol.ts';
import type { OpenAiApi } from '../../../../src/agents/openai/usage.ts';
import type { AgentRequest, Reading } from '../../../../src/ports/broker.ts';

export const PLACEHOLDER = 'ralph-placeholder-1';
export const KEY = 'sk-proj-real';

type Options = Parameters<typeof createOpenAiProtocol>[0];

export const options: Options = {
  apis: ['responses', 'chat'],
  basePath: '/v1',
  headers: {},
  mayWebSearch: false,
  prices: { 'gpt-5.5': { input: 5, cachedInput: 0.5, output: 30 } },
};

/** Reads a request; by default it asks for an answer with the call's placeholder. */
export function read(request: Partial<AgentRequest>, more: Partial<Options> = {}): Reading {
  return createOpenAiProtocol({ ...options, ...more }).read(
    {
      method: 'POST',
      target: '/v1/responses',
      headers: { authorization: `Bearer ${PLACEHOLDER}` },
      body: '{}',
      ...request,
    },
    (placeholder) => (placeholder === PLACEHOLDER ? KEY : null),
  );
}

export type Forwarded = Extract<Reading, { kind: 'forwarded' }>;

/** Returns a request that is passed on. */
export function forwarded(request: Partial<AgentRequest>, more: Partial<Options> = {}): Forwarded {
  const reading = read(request, more);
  if (reading.kind !== 'forwarded') throw new Error(JSON.stringify(reading));
  return reading;
}

/** Returns the request of the agent's CLI to one of the APIs. */
export function asked(api: OpenAiApi, body: object): Partial<AgentRequest> {
  return { target: api === 'chat' ? '/v1/chat/completions' : '/v1/responses', body: JSON.stringify(body) };
}

export const responses = (more: object): Partial<AgentRequest> =>
  asked('responses', { model: 'gpt-5.5', input: [], ...more });
export const chat = (more: object): Partial<AgentRequest> => asked('chat', { model: 'gpt-5.5', messages: [], ...more });

const schema = { type: 'object', properties: { file_id: { type: 'string' }, image_url: { type: 'string' } } };
const shell = { type: 'function', name: 'exec_command', description: 'Runs', strict: false, parameters: schema };
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits',
  format: { type: 'grammar', syntax: 'lark' },
};
const message = (role: string, text: string) => ({
  type: 'message',
  id: `msg_${role}`,
  role,
  content: [{ type: 'input_text', text }],
});
const codex = {
  stream: true,
  tool_choice: 'auto',
  parallel_tool_calls: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '01a2152c-1859-7c90-8559-191d75bbbcc1',
  text: { verbosity: 'low' },
  client_metadata: { session_id: '01a2152c', 'x-codex-turn-metadata': '{"Sandbox":"seccomp"}' },
};

/**
 * Bodies as the CLIs sent them to a server on loopback, shortened: codex 0.169.0, qwen 0.24.4, copilot 1.0.102,
 * opencode 1.18.33.
 */
export const cliBodies: readonly (readonly [cli: string, api: OpenAiApi, body: Readonly<Record<string, unknown>>])[] = [
  [
    'codex with gpt-5.5',
    'responses',
    {
      model: 'gpt-5.5',
      ...codex,
      reasoning: { effort: 'medium' },
      input: [message('developer', 'You are Codex'), message('user', 'hi\n')],
      tools: [shell, patch, { type: 'tool_search', execution: 'client', description: 'Finds', parameters: schema }],
    },
  ],
  [
    'codex with gpt-6-sol: its tools are in the conversation',
    'responses',
    {
      model: 'gpt-6-sol',
      ...codex,
      reasoning: { effort: 'medium', context: 'all_turns' },
      input: [
        {
          type: 'additional_tools',
          id: 'at_1',
          role: 'developer',
          tools: [
            { type: 'namespace', name: 'functions', description: '', tools: [{ ...patch, name: 'exec' }, shell] },
            { type: 'namespace', name: 'collaboration', description: '', tools: [shell] },
          ],
        },
        message('user', 'hi\n'),
      ],
    },
  ],
  [
    'codex, later in a conversation',
    'responses',
    {
      model: 'gpt-5.5',
      ...codex,
      tools: [shell],
      input: [
        message('user', 'look'),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'gAAA' },
        { type: 'function_call', id: 'fc_1', name: 'exec_command', arguments: '{"cmd":"ls"}', call_id: 'call_1' },
        { type: 'function_call_output', call_id: 'call_1', output: 'README.md\nhttps://example.com' },
        { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin Patch' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'Done' }] },
        { type: 'function_call', name: 'view_image', arguments: '{"path":"a.png"}', call_id: 'call_3' },
        {
          type: 'function_call_output',
          call_id: 'call_3',
          output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==', detail: 'high' }],
        },
        { type: 'tool_search_call', call_id: 'call_4', execution: 'client', arguments: { query: 'tools' } },
        { type: 'tool_search_output', call_id: 'call_4', execution: 'client', status: 'completed', tools: [shell] },
        { type: 'local_shell_call', call_id: 'call_5', status: 'completed', action: { type: 'exec', command: ['ls'] } },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'There is a README.' }] },
        { type: 'compaction_trigger' },
      ],
    },
  ],
  [
    'opencode with Responses',
    'responses',
    {
      model: 'gpt-5.5',
      max_output_tokens: 32_000,
      text: { verbosity: 'low' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'ses_1',
      reasoning: { effort: 'medium', summary: 'auto' },
      tool_choice: 'auto',
      stream: true,
      input: [
        { role: 'developer', content: 'You are OpenCode' },
        { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      ],
      tools: [{ ...shell, name: 'bash' }],
    },
  ],
  [
    'copilot with Responses, not streamed',
    'responses',
    {
      model: 'gpt-5.5',
      reasoning: { effort: 'medium', summary: 'auto' },
      prompt_cache_key: '5b99',
      max_output_tokens: 128_000,
      store: false,
      include: ['reasoning.encrypted_content'],
      parallel_tool_calls: true,
      instructions: 'You are the GitHub Copilot CLI',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }], type: 'message' }],
      tools: [{ ...shell, name: 'bash' }, patch],
    },
  ],
  [
    'copilot with Chat Completions, not streamed',
    'chat',
    {
      model: 'gpt-5.5',
      reasoning_effort: 'medium',
      temperature: 1,
      max_tokens: 128_000,
      messages: [
        { role: 'system', content: 'You are the GitHub Copilot CLI' },
        { role: 'user', content: 'hi' },
      ],
      tools: [
        { type: 'function', function: { name: 'bash', parameters: schema } },
        { type: 'custom', custom: { name: 'apply_patch', format: { type: 'grammar' } } },
      ],
    },
  ],
  [
    'qwen, after a call of a tool',
    'chat',
    {
      model: 'qwen3-coder',
      max_tokens: 32_768,
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'You are Qwen Code', cache_control: { type: 'ephemeral' } }],
        },
        { role: 'user', content: [{ type: 'text', text: 'look' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read_file', arguments: '{"path":"a"}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'text' },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
      ],
      tools: [{ type: 'function', function: { name: 'read_file', description: 'Reads', parameters: schema } }],
    },
  ],
  [
    'opencode with Chat Completions',
    'chat',
    {
      model: 'gpt-5.5',
      max_tokens: 32_000,
      reasoning_effort: 'medium',
      tool_choice: 'auto',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: 'You are OpenCode' },
        { role: 'user', content: 'hi\n' },
      ],
      tools: [{ type: 'function', function: { name: 'bash', parameters: schema } }],
    },
  ],
];
