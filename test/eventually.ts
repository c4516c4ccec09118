import { vi } from 'vitest';

/** Waits until `check` passes: for what other processes and sockets bring about. Its limit is for what never comes, not for a busy machine. */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: 30_000, interval: 20 });
}
