/** `fetch`, through the proxy that the runner's environment names for this address; what a proxy takes is loaded only then. */
export async function fetchFor(address: string): Promise<typeof fetch> {
  return (await proxiedFetch(address)) ?? fetch;
}

/** null: no proxy is on the way. */
export async function proxiedFetch(address: string): Promise<typeof fetch | null> {
  const url = URL.parse(address);
  const { getProxyUrl } = await import('@actions/http-client/lib/proxy');
  if (url === null || getProxyUrl(url) === undefined) return null;
  const [{ HttpClient }, undici] = await Promise.all([import('@actions/http-client'), import('undici')]);
  // It works with the `fetch` of its own undici, not with the one that Node brings.
  const dispatcher = new HttpClient().getAgentDispatcher(address);
  const throughProxy = (input: string, init: object) =>
    undici.fetch(input, { ...init, ...(dispatcher === undefined ? {} : { dispatcher }) });
  return throughProxy as unknown as typeof fetch;
}

/** Which proxy the runner's environment names for an address; null: none. */
export async function proxyFinder(): Promise<(url: URL) => URL | null> {
  const { getProxyUrl } = await import('@actions/http-client/lib/proxy');
  return (url) => getProxyUrl(url) ?? null;
}
