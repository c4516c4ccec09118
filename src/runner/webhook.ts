import { createHmac } from 'node:crypto';
import { setTimeout as sleepMs } from 'node:timers/promises';
import type { SendWebhook } from '../ports/machine.ts';

/** Maximum time in ms for all messages of a run together, the part of it that post has, and that of one attempt. */
const WITHIN_MS = 10_000;
const POST_PART = 0.3;
const ATTEMPT_MS = 4_000;

/** Waits before the second and the third attempt, in ms. */
const WAITS_MS = [500, 2_000];

interface Receiver {
  readonly address: string;
  /** The key of the signatures; empty for messages without a signature. */
  readonly secret: string;
  readonly fetch: typeof fetch;
  /** True in post, which cannot know how much of the run's time a killed main has used. */
  readonly isPost: boolean;
  readonly withinMs?: number;
}

/** Creates the sender of messages to a receiver. Follows no redirects, and reads no body of an answer. */
export function createWebhook({ address, secret, fetch, isPost, withinMs = WITHIN_MS }: Receiver): SendWebhook {
  let leftMs = withinMs * (isPost ? POST_PART : 1 - POST_PART);
  return async ({ id, body }) => {
    const begun = performance.now();
    const left = (): number => Math.floor(leftMs - (performance.now() - begun));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'ralph-action',
      'x-ralph-event': 'notification',
      'x-ralph-delivery': id,
      ...(secret === '' ? {} : { 'x-ralph-signature-256': `sha256=${hmacOf(body, secret)}` }),
    };
    let why: string | null = 'there was no time left for it';
    for (const waitMs of [0, ...WAITS_MS]) {
      if (left() <= waitMs) break;
      await sleepMs(waitMs);
      const signal = AbortSignal.timeout(Math.max(0, Math.min(left(), ATTEMPT_MS)));
      try {
        const answer = await fetch(address, { method: 'POST', body, headers, redirect: 'manual', signal });
        await answer.body?.cancel();
        why = answer.ok ? null : `it answered with HTTP ${answer.status}`;
        if (answer.status < 500 && ![408, 425, 429].includes(answer.status)) break;
      } catch (error) {
        why = causeOf(error);
      }
    }
    leftMs = left();
    return why;
  };
}

function hmacOf(body: string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Returns the reason why a request was not answered, without the error's own message, which would show the address. */
function causeOf(error: unknown): string {
  const { name = '', cause = null } = error instanceof Error ? error : {};
  if (name === 'TimeoutError') return 'it did not answer in time';
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  return `the request failed${typeof code === 'string' ? ` (${code})` : ''}`;
}
