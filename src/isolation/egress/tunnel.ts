import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { parseTarget } from '../../core/isolation/hosts.ts';
import { endWith, UNREADABLE, type Admit, type Admitted } from './answer.ts';

interface Tunnel {
  readonly request: IncomingMessage;
  /** What the client sent right after its request. */
  readonly head: Buffer;
  readonly lingerMs: number;
}

/** Answers CONNECT: opens a tunnel, or says why not. */
export async function connectTunnel({ request, head, lingerMs }: Tunnel, admit: Admit): Promise<void> {
  const client = request.socket;
  const left = new AbortController();
  client.once('close', () => left.abort());
  // The target of the request counts; a Host header may name whatever it likes.
  const target = parseTarget(request.url ?? '', null);
  const admitted: Admitted =
    target === null
      ? { kind: 'answered', answer: UNREADABLE }
      : await admit({ target, use: 'tunnel', signal: left.signal });
  if (admitted.kind === 'answered') {
    endWith(client, admitted.answer, lingerMs);
    return;
  }
  const { socket: remote } = admitted;
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) remote.write(head);
  joinSockets(client, remote, lingerMs);
}

/** Bytes pass both ways until both sides have ended; each side's end reaches the other, and what was sent before it. */
export function joinSockets(client: Socket, remote: Socket, lingerMs: number): void {
  for (const [one, other] of [
    [client, remote],
    [remote, client],
  ] as const) {
    one.pipe(other);
    one.once('end', () => one.setTimeout(lingerMs, () => one.destroy()));
    one.once('end', () => other.setTimeout(lingerMs, () => other.destroy()));
    one.once('close', (hasFailed: boolean) => {
      if (hasFailed) other.destroy();
      else other.destroySoon();
      other.setTimeout(lingerMs, () => other.destroy());
    });
    // It may be gone before anybody listens.
    if (one.destroyed) other.destroy();
  }
}
