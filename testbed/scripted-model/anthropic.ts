import { randomUUID } from 'node:crypto';
import type { ModelAnswer, Dialect, OfferedTool, ServerEvent, Stream, TypedData } from './exchange.ts';
import type { Conversation, StepError } from './step.ts';
import { findNamedFolder } from './tools.ts';

/** The Anthropic Messages API, as Anthropic, Amazon Bedrock and Google Vertex offer it. */
export const anthropic: Dialect = {
  name: 'anthropic',
  path: /^(?:\/v1\/messages|\/model\/[^/]+\/invoke(?:-with-response-stream)?|\/.*:(?:streamR|r)awPredict)$/,
  read: (path, given) => {
    const body: MessageBody = given;
    return {
      conversation: conversationOf(body),
      // Even the test of a key, which offers no tools, uses a step.
      isSide: false,
      tools: (body.tools ?? []).map(toolOf),
      folder: findNamedFolder(JSON.stringify(body.system ?? '')),
      form: formOf(path, body),
      whole: (answer) => ({ ...messageOf(body), ...endOf(answer), content: contentOf(answer) }),
      stream: (answer) => streamOf(body, answer),
      errorBody,
      errorEvents: (error) => [named({ ...errorBody(error) })],
    };
  },
};

interface MessageBody {
  readonly stream?: boolean;
  readonly model?: string;
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages?: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: string | readonly Block[];
  readonly is_error?: boolean;
}

function toolOf({ name }: { readonly name: string }): OfferedTool {
  return { name, namespace: null, isText: false };
}

function formOf(path: string, { stream = false }: MessageBody): 'whole' | 'events' | 'frames' {
  if (path.endsWith('/invoke-with-response-stream')) return 'frames';
  return stream || path.endsWith(':streamRawPredict') ? 'events' : 'whole';
}

function errorBody({ type, message }: StepError): { readonly type: string; readonly error: object } {
  return { type: 'error', error: { type, message } };
}

function messageOf({ model = 'scripted' }: MessageBody) {
  return {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
  };
}

function endOf({ use }: ModelAnswer) {
  return { stop_reason: use === null ? 'end_turn' : 'tool_use', stop_sequence: null };
}

function streamOf(body: MessageBody, answer: ModelAnswer): Stream {
  return {
    said: [
      named({ type: 'message_start', message: messageOf(body) }),
      ...contentOf(answer).flatMap((block, index) => blockEvents(block, index).map(named)),
    ],
    end: [
      named({ type: 'message_delta', delta: endOf(answer), usage: { output_tokens: 50 } }),
      named({ type: 'message_stop' }),
    ],
  };
}

function named(data: TypedData): ServerEvent {
  return { name: data.type, data };
}

type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object | string };

function contentOf({ text, use }: ModelAnswer): Content[] {
  const said: Content[] = text === null ? [] : [{ type: 'text', text }];
  if (use === null) return said;
  const id = `toolu_${randomUUID().replaceAll('-', '')}`;
  return [...said, { type: 'tool_use', id, name: use.tool, input: use.input }];
}

function blockEvents(block: Content, index: number): TypedData[] {
  const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta =
    block.type === 'text'
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  return [
    { type: 'content_block_start', index, content_block: start },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ];
}

function conversationOf(body: MessageBody): Conversation {
  const turns = (body.messages ?? [])
    .filter((message) => message.role === 'user')
    .map((message) => blocksOf(message.content));
  const isResult = (turn: readonly Block[]): boolean => turn.some((block) => block.type === 'tool_result');
  const lastPrompt = turns.findLastIndex((turn) => !isResult(turn));
  const results = turns.slice(lastPrompt + 1).flatMap((turn) => turn.filter((block) => block.type === 'tool_result'));
  return {
    prompts: turns.filter((turn) => !isResult(turn)).map((turn) => turn.map(textOf).join('\n')),
    results: results.map((block) => ({
      text: blocksOf(block.content ?? '')
        .map(textOf)
        .join('\n'),
      isError: block.is_error === true,
    })),
  };
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function textOf(block: Block): string {
  return block.text ?? '';
}
