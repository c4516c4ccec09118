import { createOpenAiUsage, type OpenAiApi } from '../../../../src/agents/openai/usage.ts';

export const event = (data: Readonly<Record<string, unknown>> & { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
export const begun = event({
  type: 'response.created',
  response: { id: 'resp_1', status: 'in_progress', usage: null },
});
export const text = (delta: string): string =>
  event({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta });
export const used = {
  input_tokens: 1_000,
  input_tokens_details: { cached_tokens: 800 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 40 },
  total_tokens: 1_050,
};
export const ended = (type: string, usage: unknown, more: object = {}): string =>
  event({ type, sequence_number: 9, response: { id: 'resp_1', ...more, usage } });
export const completed = ended('response.completed', used);
export const whole = { input: 1_000, cached: 800, output: 50 };

export const chunk = (delta: unknown, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta }], usage: null, ...more })}\n\n`;
export const chatUsed = { prompt_tokens: 1_000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 800 } };
export const last = (usage: unknown): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [], usage })}\n\n`;
export const DONE = 'data: [DONE]\n\n';

/** Returns the account of an answer that arrives in these chunks. */
export function accountOf(api: OpenAiApi, chunks: readonly string[], type = 'text/event-stream; charset=utf-8') {
  const reader = createOpenAiUsage(api, type);
  for (const one of chunks) reader.push(one);
  return reader.counts();
}
