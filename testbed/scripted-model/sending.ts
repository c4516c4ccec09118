import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { encodeEventFrame } from './amazon-frames.ts';
import type { ModelAnswer, Exchange, ServerEvent } from './exchange.ts';
import type { ModelStep } from './step.ts';
import { chooseToolUse } from './tools.ts';

/** Answers with a step, in the API format of the request. */
export function send(response: ServerResponse, step: ModelStep, exchange: Exchange): void {
  switch (step.kind) {
    case 'hang':
      return;
    case 'error':
      return sendJson(response, {
        status: step.status,
        headers: step.headers,
        body: step.body ?? exchange.errorBody(step),
      });
    default:
      if (exchange.form === 'whole') sendWhole(response, step, exchange);
      else sendStream(response, step, { exchange, form: exchange.form });
  }
}

type Spoken = Exclude<ModelStep, { kind: 'hang' | 'error' }>;

/** Sends an answer in one body; a partial answer exists only in a stream. */
function sendWhole(response: ServerResponse, step: Spoken, exchange: Exchange): void {
  if (step.kind === 'stall') return;
  if (step.kind === 'cut') response.destroy();
  else if (step.kind === 'stream-error') send(response, { ...step, kind: 'error', status: 500 }, exchange);
  else sendJson(response, { status: 200, headers: undefined, body: exchange.whole(answerOf(step, exchange)) });
}

function sendStream(
  response: ServerResponse,
  step: Spoken,
  { exchange, form }: { readonly exchange: Exchange; readonly form: 'events' | 'frames' },
): void {
  const type = form === 'frames' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': type, 'request-id': `req_${randomUUID()}` });
  const write = (events: readonly ServerEvent[]): void => {
    for (const { name, data } of events)
      response.write(form === 'frames' ? encodeEventFrame(data as object) : eventText(name, data));
  };
  const { said, end } = exchange.stream(answerOf(step, exchange));
  write(said);
  if (step.kind === 'stall') return;
  if (step.kind === 'cut') {
    // The connection is closed only after the written text has been sent.
    response.write('\n', () => response.destroy());
    return;
  }
  write(step.kind === 'stream-error' ? exchange.errorEvents(step) : end);
  response.end();
}

function eventText(name: string | null, data: object | string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`;
}

function answerOf(step: Spoken, { tools, folder }: Exchange): ModelAnswer {
  if (step.kind === 'empty') return { text: null, use: null };
  const text = step.text ?? null;
  if (step.kind === 'use')
    return { text, use: { tool: step.tool, namespace: step.namespace ?? null, input: step.input } };
  if (step.kind !== 'run' && step.kind !== 'read' && step.kind !== 'write') return { text, use: null };
  const use = chooseToolUse(step, tools, folder);
  if (use !== null) return { text, use };
  const offered = tools.map(({ name }) => name).join(', ');
  return { text: `I was offered no tool to ${step.kind} with, only: ${offered}`, use: null };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: Readonly<Record<string, string>> | undefined; readonly body: object },
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${randomUUID()}`, ...headers });
  response.end(JSON.stringify(body));
}
