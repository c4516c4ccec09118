import { vi } from 'vitest';

/**
 * Waits until `check` passes, for effects of other processes and sockets. The limit ends a wait for an effect that
 * never comes; it does not judge speed.
 */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 });
}
