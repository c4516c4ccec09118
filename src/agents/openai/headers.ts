import type { AgentRequest } from '../../ports/broker.ts';

/**
 * What Codex, OpenCode, Qwen Code and Copilot CLI say of themselves, of their session and of the form of a request.
 * Everything else stays here: what could be a credential, and what says on whose account the request is made.
 */
const PASSED = new RegExp(
  `^(?:${[
    'accept|user-agent|originator|version|http-referer|x-title|x-initiator|x-interaction-type|x-client-request-id',
    '(?:session|thread|conversation)[_-]id|x-session-(?:id|affinity)',
    '(?:x-stainless|x-codex)-[a-z0-9-]+|x-openai-subagent|x-openai-internal-codex-responses-lite',
    'x-dashscope-(?:cachecontrol|useragent)',
  ].join('|')})$`,
);

/** The request's headers with the real key; null: it holds no placeholder. `own`: the user's, which win. */
export function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
  own: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const placeholder = /^Bearer (\S+)$/i.exec(textOf(given['authorization']))?.[1];
  const key = placeholder === undefined ? null : secretFor(placeholder);
  if (key === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, textOf(value)]] : [],
  );
  return {
    ...Object.fromEntries(passed),
    ...own,
    authorization: `Bearer ${key}`,
    // What the agent says of the body's encoding could make a gateway read another one than was checked.
    'content-type': 'application/json',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}
