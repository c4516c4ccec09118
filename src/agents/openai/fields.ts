import { asObject, type JsonObject } from '../reading/json.ts';
import type { OpenAiApi } from './endpoints.ts';

/** How the model is to answer: the same for both APIs, and what other providers add to that. */
const COMMON = [
  ...['model', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'metadata', 'user'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_logprobs', 'repetition_penalty', 'service_tier', 'reasoning'],
  ...['safety_identifier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
  ...['thinking', 'enable_thinking', 'thinking_budget', 'preserve_thinking', 'chat_template_kwargs'],
  // Whom a gateway may hand the request on to, and what those may keep of it.
  'provider',
];

/** Fields that a request may have. Others are left out: among them are the ones by which some provider searches, stores or runs something. */
const FIELDS: Readonly<Record<OpenAiApi, ReadonlySet<string>>> = {
  responses: new Set([
    ...COMMON,
    ...['input', 'instructions', 'include', 'text', 'truncation', 'context_management', 'client_metadata'],
    ...['max_output_tokens', 'max_tool_calls'],
  ]),
  chat: new Set([
    ...COMMON,
    ...['messages', 'functions', 'function_call', 'response_format', 'reasoning_effort', 'verbosity', 'prediction'],
    ...['max_tokens', 'max_completion_tokens', 'n', 'stop', 'seed', 'logit_bias', 'logprobs'],
    ...['frequency_penalty', 'presence_penalty', 'usage', 'tool_stream', 'vl_high_resolution_images'],
  ]),
};

/** The body as it is sent on. `mayWebSearch`: the user allows the provider's search. */
export function sentBody(api: OpenAiApi, body: JsonObject, mayWebSearch: boolean): JsonObject {
  const isKept = (name: string): boolean =>
    FIELDS[api].has(name) || (mayWebSearch && api === 'chat' && name === 'web_search_options');
  const kept = Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) =>
      isKept(name) ? [[name, name === 'messages' ? withoutNotes(value) : value]] : [],
    ),
  );
  // Stored, it could be asked for later, by whoever has the key.
  if (api === 'responses') return { ...kept, store: false };
  // Without, a stream does not tell what it comes to.
  return isGiven(body['stream']) && body['stream'] !== false
    ? { ...kept, stream_options: { ...asObject(body['stream_options']), include_usage: true } }
    : kept;
}

/** Copilot CLI (1.0.102) leaves in a conversation that goes on what it has noted on its messages for itself. */
function withoutNotes(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  return (messages as readonly unknown[]).map((item) => {
    const given = asObject(item);
    return given === null
      ? item
      : Object.fromEntries(Object.entries(given).filter(([name]) => !name.startsWith('__copilot')));
  });
}

/** Whether there is anything in a field. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}
