import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic } from './anthropic.ts';
import type { Dialect } from './exchange.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { send, sendJson } from './sending.ts';
import type { Conversation, Script, ModelStep } from './step.ts';

/** A request as it came in. `conversation` is null unless the request asks for an answer. */
export interface ModelRequest {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: object;
  readonly dialect: Dialect['name'] | null;
  readonly conversation: Conversation | null;
  /** Set for a side request, which used no step. */
  readonly isSide: boolean;
}

export interface ScriptedModel {
  /** The base URL for ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL; OpenAI's is its `/v1`. */
  readonly url: string;
  /** The requests so far; the list grows while the model runs. */
  readonly requests: readonly ModelRequest[];
  [Symbol.asyncDispose](): Promise<void>;
}

const dialects: readonly Dialect[] = [anthropic, openaiResponses, openaiChat, gemini];

/** The answer to a request that uses no step. */
const TITLE: ModelStep = { kind: 'reply', text: 'A title' };

/**
 * Starts a stand-in for the providers' APIs on loopback; the path of a request selects the API. A script takes the
 * place of a model.
 */
export async function startScriptedModel({ script }: { readonly script: Script }): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  let answered = 0;
  const next = (conversation: Conversation): ModelStep => {
    if (typeof script === 'function') return script(conversation);
    const step = script[Math.min(answered++, script.length - 1)];
    if (step === undefined) throw new Error('a script needs at least one step');
    return step;
  };
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { method = '', url = '/', headers } = request;
      const path = new URL(url, 'http://model').pathname;
      const dialect = method === 'POST' ? dialects.find((one) => one.path.test(path)) : undefined;
      const read = dialect?.read(path, body) ?? null;
      const exchange = read !== null && 'conversation' in read ? read : null;
      const [conversation, isSide] = [exchange?.conversation ?? null, exchange?.isSide ?? false];
      requests.push({
        at: Date.now(),
        method,
        path,
        headers,
        body,
        dialect: dialect?.name ?? null,
        conversation,
        isSide,
      });
      if (exchange !== null) send(response, isSide ? TITLE : next(exchange.conversation), exchange);
      else if (read !== null && 'body' in read)
        sendJson(response, { status: 200, headers: undefined, body: read.body });
      else
        sendJson(response, {
          status: method === 'HEAD' ? 200 : 404,
          headers: undefined,
          body: { type: 'error', error: { type: 'not_found_error', message: path } },
        });
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

async function readBody(request: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as object);
}
