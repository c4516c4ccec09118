import { randomUUID } from 'node:crypto';
import type { ModelAnswer, Dialect, OfferedTool, ServerEvent, Stream, TypedData } from './exchange.ts';
import type { Conversation, StepError, ToolResult } from './step.ts';
import { extractPrompt } from './prompt-text.ts';
import { findNamedFolder } from './tools.ts';

/** The OpenAI Responses API. */
export const openaiResponses: Dialect = {
  name: 'openai-responses',
  path: /\/responses$/,
  read: (_path, given) => {
    const body: ResponseBody = given;
    const tools = toolsOf(body);
    return {
      conversation: conversationOf(itemsOf(body)),
      isSide: tools.length === 0,
      tools,
      folder: findNamedFolder(JSON.stringify(body)),
      form: body.stream === true ? 'events' : 'whole',
      whole: (answer) => responseOf(body, { status: 'completed', output: outputOf(answer) }),
      stream: (answer) => streamOf(body, answer),
      errorBody: ({ type, message }) => ({ error: { message, type, param: null, code: type } }),
      errorEvents: (error) => [failed(body, error)],
    };
  },
};

interface ResponseBody {
  readonly stream?: boolean;
  readonly model?: string;
  readonly input?: string | readonly Item[];
  readonly tools?: readonly Tool[];
}

interface Tool {
  readonly type: string;
  readonly name?: string;
  readonly tools?: readonly Tool[];
}

interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: string | readonly Part[];
  readonly output?: string | readonly Part[];
  readonly tools?: readonly Tool[];
}

interface Part {
  readonly text?: string;
}

function itemsOf({ input = [] }: ResponseBody): readonly Item[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}

/** Returns the offered tools; Codex's newest models get them in groups within the input. */
function toolsOf(body: ResponseBody): readonly OfferedTool[] {
  const added = itemsOf(body).flatMap((item) => (item.type === 'additional_tools' ? (item.tools ?? []) : []));
  return [...(body.tools ?? []), ...added].flatMap((tool) =>
    tool.type === 'namespace'
      ? (tool.tools ?? []).map((inner) => toolOf(inner, tool.name ?? null))
      : [toolOf(tool, null)],
  );
}

function toolOf({ type, name = type }: Tool, namespace: string | null): OfferedTool {
  return { name, namespace, isText: type === 'custom' };
}

function conversationOf(items: readonly Item[]): Conversation {
  const lastPrompt = items.findLastIndex((item) => promptOf(item) !== null);
  const results = items.slice(lastPrompt + 1).filter(({ type }) => type?.endsWith('_call_output') === true);
  return {
    prompts: items.map(promptOf).filter((prompt) => prompt !== null),
    results: results.map(({ output }) => resultOf(textOf(output))),
  };
}

function promptOf({ role, content }: Item): string | null {
  return role === 'user' ? extractPrompt(textOf(content)) : null;
}

/** Reads a tool's result; a failure is recognized by its text. */
function resultOf(text: string): ToolResult {
  return {
    text,
    isError: /(?:\bexit(?:ed with)? code:? |"exit_code":)[1-9]|^(?:execution error|failed|error)\b/i.test(text),
  };
}

function textOf(content: string | readonly Part[] | undefined): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map(({ text = '' }) => text).join('\n');
}

function responseOf({ model = 'scripted' }: ResponseBody, more: object): object {
  return {
    id: `resp_${randomUUID()}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    model,
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 10 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 150,
    },
    ...more,
  };
}

function outputOf({ text, use }: ModelAnswer): readonly TypedData[] {
  const said: TypedData[] =
    text === null
      ? []
      : [
          {
            type: 'message',
            id: `msg_${randomUUID()}`,
            status: 'completed',
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ];
  if (use === null) return said;
  const namespace = use.namespace === null ? {} : { namespace: use.namespace };
  const call = { status: 'completed', call_id: `call_${randomUUID()}`, name: use.tool, ...namespace };
  return [
    ...said,
    typeof use.input === 'string'
      ? { type: 'custom_tool_call', id: `ctc_${randomUUID()}`, ...call, input: use.input }
      : { type: 'function_call', id: `fc_${randomUUID()}`, ...call, arguments: JSON.stringify(use.input) },
  ];
}

function streamOf(body: ResponseBody, answer: ModelAnswer): Stream {
  const output = outputOf(answer);
  return {
    said: [
      event({ type: 'response.created', response: responseOf(body, { status: 'in_progress', output: [] }) }),
      ...output.flatMap((item, index) => itemEvents(item, index, answer.text ?? '')),
    ],
    end: [event({ type: 'response.completed', response: responseOf(body, { status: 'completed', output }) })],
  };
}

function itemEvents(item: TypedData, index: number, text: string): readonly ServerEvent[] {
  const at = { output_index: index, item_id: item['id'] };
  const added = { output_index: index, item: { ...item, status: 'in_progress', ...emptied(item) } };
  const part = { ...at, content_index: 0 };
  const pieces =
    item.type === 'message'
      ? [
          { type: 'response.content_part.added', ...part, part: { type: 'output_text', text: '', annotations: [] } },
          { type: 'response.output_text.delta', ...part, delta: text },
          { type: 'response.output_text.done', ...part, text },
          { type: 'response.content_part.done', ...part, part: { type: 'output_text', text, annotations: [] } },
        ]
      : item.type === 'function_call'
        ? [
            { type: 'response.function_call_arguments.delta', ...at, delta: item['arguments'] },
            { type: 'response.function_call_arguments.done', ...at, arguments: item['arguments'] },
          ]
        : [{ type: 'response.custom_tool_call_input.done', ...at, input: item['input'] }];
  return [
    { type: 'response.output_item.added', ...added },
    ...pieces,
    { type: 'response.output_item.done', output_index: index, item },
  ].map(event);
}

function emptied({ type }: TypedData): object {
  return type === 'message' ? { content: [] } : type === 'function_call' ? { arguments: '' } : { input: '' };
}

function failed(body: ResponseBody, { type, message }: StepError): ServerEvent {
  const response = responseOf(body, { status: 'failed', output: [], error: { code: type, message } });
  return event({ type: 'response.failed', response });
}

function event(data: TypedData): ServerEvent {
  return { name: data.type, data };
}
