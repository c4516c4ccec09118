import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';

/** One answer of the model. */
export type Step =
  | { readonly kind: 'reply'; readonly text: string }
  | {
      readonly kind: 'use';
      readonly text?: string;
      readonly tool: string;
      readonly input: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly type: string;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'hang' };

/** A list answers the n-th request with its n-th step and every later one with its last; a function answers by the conversation. */
export type Script = readonly Step[] | ((conversation: Conversation) => Step);

/** What a request says, as far as a script needs it. */
export interface Conversation {
  /** Text of every turn of the user that is not a tool's result, oldest first. */
  readonly prompts: readonly string[];
  /** Results of tools since the last prompt. */
  readonly results: readonly ToolResult[];
}

interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}

/** A request as it came in. `conversation` is null for anything but a message. */
interface ModelRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly conversation: Conversation | null;
}

export interface ScriptedModel {
  /** For ANTHROPIC_BASE_URL. */
  readonly url: string;
  /** Grows while the model runs. */
  readonly requests: readonly ModelRequest[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a stand-in for the Anthropic Messages API on loopback. It is a script, not a model. */
export async function startScriptedModel({ script }: { readonly script: Script }): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  let answered = 0;
  const next = (conversation: Conversation): Step => {
    if (typeof script === 'function') return script(conversation);
    const step = script[Math.min(answered++, script.length - 1)];
    if (step === undefined) throw new Error('a script needs at least one step');
    return step;
  };
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const path = new URL(request.url ?? '/', 'http://model').pathname;
      const isMessage = request.method === 'POST' && MESSAGE_PATH.test(path);
      const conversation = isMessage ? conversationOf(body) : null;
      requests.push({ method: request.method ?? '', path, headers: request.headers, conversation });
      if (conversation === null)
        sendJson(response, {
          status: request.method === 'HEAD' ? 200 : 404,
          body: { type: 'error', error: { type: 'not_found_error', message: path } },
        });
      else answer(response, next(conversation), { ...body, ...streamOf(path, body) });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** Anthropic's own, Amazon Bedrock's, Google Vertex's. */
const MESSAGE_PATH =
  /^(?:\/v1\/messages|\/model\/[^/]+\/invoke(?:-with-response-stream)?|\/.*:(?:streamR|r)awPredict)$/;

function streamOf(path: string, { stream = false }: MessageBody): Pick<MessageBody, 'stream' | 'frames'> {
  const frames = path.endsWith('/invoke-with-response-stream');
  return { stream: stream || frames || path.endsWith(':streamRawPredict'), frames };
}

interface MessageBody {
  readonly stream?: boolean;
  /** Amazon's way to stream. */
  readonly frames?: boolean;
  readonly model?: string;
  readonly messages?: readonly { readonly role: string; readonly content: string | readonly Block[] }[];
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: string | readonly Block[];
  readonly is_error?: boolean;
}

function answer(response: ServerResponse, step: Step, body: MessageBody): void {
  if (step.kind === 'hang') return;
  if (step.kind === 'error') {
    sendJson(response, {
      status: step.status,
      headers: step.headers,
      body: { type: 'error', error: { type: step.type, message: step.message } },
    });
    return;
  }
  const content = contentOf(step);
  const message = {
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model: body.model ?? 'scripted',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
  };
  const end = { stop_reason: step.kind === 'use' ? 'tool_use' : 'end_turn', stop_sequence: null };
  if (body.stream !== true) {
    sendJson(response, { status: 200, body: { ...message, ...end, content } });
    return;
  }
  const type = body.frames === true ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': type, 'request-id': `req_${randomUUID()}` });
  const send = (event: ServerEvent): void => {
    response.write(
      body.frames === true ? eventFrame(event) : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    );
  };
  send({ type: 'message_start', message });
  content.forEach((block, index) => {
    for (const event of blockEvents(block, index)) send(event);
  });
  send({ type: 'message_delta', delta: end, usage: { output_tokens: 50 } });
  send({ type: 'message_stop' });
  response.end();
}

const frameHeaders = Buffer.concat(
  Object.entries({ ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }).flatMap(
    ([name, value]) => [
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, 0, value.length]),
      Buffer.from(value),
    ],
  ),
);

/** One event as Amazon frames it: lengths, their checksum, headers, JSON with the event in base64, checksum of all. */
export function eventFrame(event: object): Buffer {
  const payload = Buffer.from(
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abc' }),
  );
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(16 + frameHeaders.length + payload.length, 0);
  lengths.writeUInt32BE(frameHeaders.length, 4);
  const begin = Buffer.concat([lengths, checksum(lengths), frameHeaders, payload]);
  return Buffer.concat([begin, checksum(begin)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

type ServerEvent = Readonly<Record<string, unknown>> & { readonly type: string };

type Content =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

function contentOf(step: Extract<Step, { kind: 'reply' | 'use' }>): Content[] {
  if (step.kind === 'reply') return [{ type: 'text', text: step.text }];
  const use: Content = {
    type: 'tool_use',
    id: `toolu_${randomUUID().replaceAll('-', '')}`,
    name: step.tool,
    input: step.input,
  };
  return step.text === undefined ? [use] : [{ type: 'text', text: step.text }, use];
}

function blockEvents(block: Content, index: number): ServerEvent[] {
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

async function readBody(request: IncomingMessage): Promise<MessageBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as MessageBody);
}

function sendJson(
  response: ServerResponse,
  {
    status,
    headers,
    body,
  }: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>> | undefined;
    readonly body: object;
  },
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${randomUUID()}`, ...headers });
  response.end(JSON.stringify(body));
}
