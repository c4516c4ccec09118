/** So many calls of tools are remembered until their denial is reported. */
const MAX_PENDING_CALLS = 256;

/** What is known of the newest calls of tools, by their id. */
export interface PendingCalls<Call> {
  add(id: string, call: Call): void;
  of(id: string | null): Call | null;
}

export function createPendingCalls<Call>(): PendingCalls<Call> {
  const calls = new Map<string, Call>();
  return { add, of: (id) => calls.get(id ?? '') ?? null };

  function add(id: string, call: Call): void {
    calls.set(id, call);
    const [oldest] = calls.keys();
    if (calls.size > MAX_PENDING_CALLS && oldest !== undefined) calls.delete(oldest);
  }
}
