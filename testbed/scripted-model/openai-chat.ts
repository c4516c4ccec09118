import { randomUUID } from 'node:crypto';
import type { ModelAnswer, Dialect, OfferedTool, ServerEvent, Stream } from './exchange.ts';
import type { Conversation, StepError, ToolResult } from './step.ts';
import { extractPrompt } from './prompt-text.ts';
import { findNamedFolder } from './tools.ts';

/** The OpenAI Chat Completions API, which other providers offer too. */
export const openaiChat: Dialect = {
  name: 'openai-chat',
  path: /\/chat\/completions$/,
  read: (_path, given) => {
    const body: ChatBody = given;
    const tools = (body.tools ?? []).map(toolOf);
    return {
      conversation: conversationOf(body.messages ?? []),
      isSide: tools.length === 0,
      tools,
      folder: findNamedFolder(JSON.stringify(body.messages ?? [])),
      form: body.stream === true ? 'events' : 'whole',
      whole: (answer) => wholeOf(body, answer),
      stream: (answer) => streamOf(body, answer),
      errorBody,
      errorEvents: (error) => [unnamed(errorBody(error))],
    };
  },
};

interface ChatBody {
  readonly stream?: boolean;
  readonly model?: string;
  readonly messages?: readonly Message[];
  readonly tools?: readonly Tool[];
}

interface Tool {
  readonly type: string;
  readonly function?: { readonly name: string };
  readonly custom?: { readonly name: string };
}

interface Message {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[] | null;
}

function toolOf(tool: Tool): OfferedTool {
  return { name: tool.function?.name ?? tool.custom?.name ?? '', namespace: null, isText: tool.type === 'custom' };
}

function conversationOf(messages: readonly Message[]): Conversation {
  const lastPrompt = messages.findLastIndex((message) => promptOf(message) !== null);
  const results = messages.slice(lastPrompt + 1).filter(({ role }) => role === 'tool');
  return {
    prompts: messages.map(promptOf).filter((prompt) => prompt !== null),
    results: results.map((message) => resultOf(textOf(message))),
  };
}

function promptOf(message: Message): string | null {
  return message.role === 'user' ? extractPrompt(textOf(message)) : null;
}

/** Reads a tool's result; each CLI words a failure differently, so it is recognized by its text. */
function resultOf(text: string): ToolResult {
  return {
    text,
    isError: /^(?:error|failed)\b|^Parent directory .* does not exist|\bexit(?:ed with)? code:? [1-9]/i.test(text),
  };
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('\n');
}

function errorBody({ type, message }: StepError): object {
  return { error: { message, type, param: null, code: type } };
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

function messageOf({ text, use }: ModelAnswer): object {
  if (use === null) return { role: 'assistant', content: text };
  const input = typeof use.input === 'string' ? { input: use.input } : use.input;
  const call = { name: use.tool, arguments: JSON.stringify(input) };
  const id = `call_${randomUUID().replaceAll('-', '')}`;
  return { role: 'assistant', content: text, tool_calls: [{ index: 0, id, type: 'function', function: call }] };
}

function endOf({ use }: ModelAnswer): string {
  return use === null ? 'stop' : 'tool_calls';
}

function headOf({ model = 'scripted' }: ChatBody, object: string) {
  return { id: `chatcmpl-${randomUUID()}`, object, created: Math.floor(Date.now() / 1000), model };
}

function wholeOf(body: ChatBody, answer: ModelAnswer): object {
  const choice = { index: 0, message: messageOf(answer), finish_reason: endOf(answer) };
  return { ...headOf(body, 'chat.completion'), choices: [choice], usage: USAGE };
}

function streamOf(body: ChatBody, answer: ModelAnswer): Stream {
  const head = headOf(body, 'chat.completion.chunk');
  const chunk = (delta: object, end: string | null): ServerEvent =>
    unnamed({ ...head, choices: [{ index: 0, delta, finish_reason: end }] });
  return {
    said: piecesOf(answer).map((piece) => chunk(messageOf(piece), null)),
    end: [chunk({}, endOf(answer)), unnamed({ ...head, choices: [], usage: USAGE }), unnamed('[DONE]')],
  };
}

/** Splits an answer: the text comes before the tool call. */
function piecesOf({ text, use }: ModelAnswer): readonly ModelAnswer[] {
  return text === null || use === null
    ? [{ text, use }]
    : [
        { text, use: null },
        { text: null, use },
      ];
}

function unnamed(data: object | string): ServerEvent {
  return { name: null, data };
}
