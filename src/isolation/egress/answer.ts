import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isModelHost, isPublicHost, nameOfTarget, type EgressRules, type Target } from '../../core/isolation/hosts.ts';
import type { Opened, Wanted } from './connection.ts';

export const HTTPS_PORT = 443;

/** What comes of a request: its connection, or an answer of our own. */
export type Admitted = Extract<Opened, { kind: 'open' }> | { readonly kind: 'answered'; readonly answer: Answer };
/** What every request passes. */
export interface Gate {
  /** Decides on what is wanted, and opens it. */
  readonly admit: (wanted: Wanted) => Promise<Admitted>;
  /** Counts a connection to a target that was used for another one; `stranger`: see `strangerIn`. */
  readonly refuse: (target: Target, stranger: string) => Answer;
}

/** What the proxy itself answers: one line. */
export interface Answer {
  readonly status: 400 | 403 | 502;
  readonly text: string;
}

/** For a request that cannot be read, or that no proxy passes on. */
export const UNREADABLE: Answer = {
  status: 400,
  text: 'The proxy of ralph-action takes CONNECT host:port, and requests for http:// URLs without a user name or an upgrade.',
};

/** For a target that may be reached and is not. */
export function unreachable(target: Target, why: string): Answer {
  return { status: 502, text: `The proxy of ralph-action cannot reach ${nameOfTarget(target)}: ${why}.` };
}

/** For a target that may not be reached, or, though it `isAllowed`, leads to no public address. */
export function refusal(rules: EgressRules, target: Target, isAllowed: boolean): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run reach ${nameOfTarget(target)}: ${why()}.`,
  };
  function why(): string {
    if (isModelHost(rules, target.host)) return 'the model is reached through the action only';
    if (isAllowed || !isPublicHost(target.host)) return 'it is not a public address';
    return `to allow it, add ${target.port === HTTPS_PORT ? target.host : nameOfTarget(target)} to the input allowed-hosts`;
  }
}

/** Refuses a connection to an allowed target that asks for another host. */
export function misuse(target: Target, stranger: string): Answer {
  return {
    status: 403,
    text: `ralph-action does not let programs of this run use ${nameOfTarget(target)}${stranger}: on a connection to a host, only this host may be named.`,
  };
}

/** Headers of an answer of our own. */
function headersOf({ status, text }: Answer): Readonly<Record<string, string>> {
  return {
    ...(status === 403 ? { 'x-proxy-error': 'blocked-by-ralph' } : {}),
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(Buffer.byteLength(text) + 1),
    connection: 'close',
  };
}

/** The answer to a request that has a response. */
export function reply(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, headersOf(answer));
  response.end(`${answer.text}\n`);
}

/** The answer to CONNECT, which has only its socket. */
export function endWith(client: Socket, answer: Answer, lingerMs: number): void {
  const { status, text } = answer;
  const reason = { 400: 'Bad Request', 403: 'Forbidden', 502: 'Bad Gateway' }[status];
  const lines = Object.entries(headersOf(answer)).map(([name, value]) => `${name}: ${value}\r\n`);
  client.setTimeout(lingerMs, () => client.destroy());
  client.end(`HTTP/1.1 ${String(status)} ${reason}\r\n${lines.join('')}\r\n${text}\n`);
  // Read to its end: closing a socket with unread bytes would take the answer back.
  client.resume();
}
