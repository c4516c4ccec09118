/** OpenAI's two APIs for conversations; other providers have the second one, and some both. */
export type OpenAiApi = 'responses' | 'chat';

/** What the agent's CLI was given. */
export interface Served {
  readonly apis: readonly OpenAiApi[];
  /** Path of the address that it was given, without a slash at the end. */
  readonly basePath: string;
}

/** Behind the provider's address. */
export const TARGETS: Readonly<Record<OpenAiApi, string>> = { responses: '/responses', chat: '/chat/completions' };

/** The API that a request is for; null: none that the agent's CLI needs. */
export function apiAt(method: string, target: string, { apis, basePath }: Served): OpenAiApi | null {
  if (method !== 'POST') return null;
  return apis.find((api) => target === `${basePath}${TARGETS[api]}`) ?? null;
}

/** Whether it asks what models there are, which every CLI can do without: the user names the model. */
export function asksForModels(method: string, target: string, { basePath }: Served): boolean {
  return method === 'GET' && target.startsWith(basePath) && /^\/models(?:[/?]|$)/.test(target.slice(basePath.length));
}
