import type { AgentRequest } from '../../../ports/broker.ts';

/** What the CLI says of itself. Everything else stays here: what could be a credential, name another method or project, or leave the usage out of the answer. */
const PASSED = /^(?:user-agent|x-goog-api-client|x-server-timeout|x-gemini-[a-z0-9-]+)$/;

/** The request's headers with the real key; null: it holds no placeholder. */
export function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
): Record<string, string> | null {
  const key = secretFor(textOf(given['x-goog-api-key']));
  if (key === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, textOf(value)]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    'x-goog-api-key': key,
    // What is agreed on here is what the request was checked as, and what the answer is read as.
    'content-type': 'application/json',
    accept: '*/*',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}
