import type { AgentRequest } from '../../../ports/broker.ts';

/** What the CLI says of itself and of the form of its request. Everything else stays here, above all what could be a credential. */
const PASSED = /^(?:accept|user-agent|x-app|x-client-request-id|(?:anthropic|x-stainless|x-claude)-[a-z0-9-]+)$/;
/** By which the provider's servers would be asked to fetch or run something. */
const REACHING_BETAS = /^(?:mcp-|files-api|code-execution|web-fetch|skills-|container|managed-agents|environments)/;
const OAUTH_BETA = 'oauth-2025-04-20';

/** The request's headers with the real key; null: it holds no placeholder. `own`: the user's, which win. */
export function forwardedHeaders(
  given: AgentRequest['headers'],
  secretFor: (placeholder: string) => string | null,
  own: Readonly<Record<string, string>>,
): Record<string, string> | null {
  const key = secretFor(textOf(given['x-api-key']));
  const bearer = /^Bearer (\S+)$/i.exec(textOf(given['authorization']))?.[1];
  const token = bearer === undefined ? null : secretFor(bearer);
  if (key === null && token === null) return null;
  const passed = Object.entries(given).flatMap(([name, value]): [string, string][] =>
    PASSED.test(name) && value !== undefined ? [[name, textOf(value)]] : [],
  );
  const betas = passedBetas(textOf(given['anthropic-beta']).split(','));
  // A token of a subscription is refused without it; the CLI sends it where it knows that it holds one.
  if (token?.startsWith('sk-ant-oat') === true && !betas.includes(OAUTH_BETA)) betas.push(OAUTH_BETA);
  return {
    ...Object.fromEntries(passed.filter(([name]) => name !== 'anthropic-beta')),
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    ...own,
    ...(key === null ? {} : { 'x-api-key': key }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    // What the agent says of the body's encoding could make a gateway read another one than was checked.
    'content-type': 'application/json',
    // An answer that passes as it comes must not be packed.
    'accept-encoding': 'identity',
  };
}

/** Those that may pass, without spaces. */
export function passedBetas(names: readonly string[]): string[] {
  return names.map((beta) => beta.trim()).filter((beta) => beta !== '' && !REACHING_BETAS.test(beta));
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ');
}
