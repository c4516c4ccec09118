import type { Agent } from 'node:http';

/**
 * Returns `fetch`, or a `fetch` through the proxy that the runner's environment names for this address. The code for
 * proxies is loaded only then.
 */
export async function fetchFor(address: string): Promise<typeof fetch> {
  return (await createProxiedFetch(address)) ?? fetch;
}

/** Returns a `fetch` through the proxy for this address, or null if there is no proxy. */
export async function createProxiedFetch(address: string): Promise<typeof fetch | null> {
  const url = URL.parse(address);
  const { getProxyUrl } = await import('@actions/http-client/lib/proxy');
  if (url === null || getProxyUrl(url) === undefined) return null;
  const [{ HttpClient }, undici] = await Promise.all([import('@actions/http-client'), import('undici')]);
  // The dispatcher works only with the `fetch` of the same undici package, not with Node's.
  const dispatcher = new HttpClient().getAgentDispatcher(address);
  const throughProxy = (input: string, init: object) =>
    undici.fetch(input, { ...init, ...(dispatcher === undefined ? {} : { dispatcher }) });
  return throughProxy as unknown as typeof fetch;
}

/** Returns an agent for `node:http` through the proxy that the runner's environment names for this address, or null. */
export async function createProxyAgent(address: string): Promise<Agent | null> {
  const url = URL.parse(address);
  const { getProxyUrl } = await import('@actions/http-client/lib/proxy');
  if (url === null || getProxyUrl(url) === undefined) return null;
  return new (await import('@actions/http-client')).HttpClient().getAgent(address);
}

/** Returns a function that finds the proxy that the runner's environment names for an address, or null. */
export async function createProxyFinder(): Promise<(url: URL) => URL | null> {
  const { getProxyUrl } = await import('@actions/http-client/lib/proxy');
  return (url) => getProxyUrl(url) ?? null;
}
