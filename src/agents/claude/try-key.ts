/** The provider's answer to a key. */
type TriedKey =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly why: string };

/**
 * Tries an API key with one free request through `send`; neither the key nor the answer's text is repeated anywhere.
 */
export async function tryKey(
  key: string,
  { url, timeoutMs, send }: { readonly url: string; readonly timeoutMs: number; readonly send: typeof fetch },
): Promise<TriedKey> {
  try {
    const { status, body } = await send(url, {
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await body?.cancel();
    if (status === 401 || status === 403) return { kind: 'refused', status };
    return status === 200
      ? { kind: 'accepted' }
      : { kind: 'unanswered', why: `the provider answered with HTTP ${String(status)}.` };
  } catch {
    // Do not use the error's message: for a key with a line break it quotes the header.
    return {
      kind: 'unanswered',
      why: 'the provider did not answer: check the network, the proxy and its certificate.',
    };
  }
}

/** Returns the URL at which a key is tried; `base` is as in ANTHROPIC_BASE_URL, empty for the provider's own. */
export function buildTrialUrl(base: string): string {
  return `${(base.trim() || 'https://api.anthropic.com').replace(/\/+$/, '')}/v1/models?limit=1`;
}

/**
 * Returns the name of the folder in which Claude Code (2.1.197 and 2.1.330) keeps the transcripts of `folder`, a path
 * without symbolic links.
 */
export function buildProjectSlug(folder: string): string {
  const slug = folder.replace(/[^A-Za-z0-9]/g, '-');
  if (slug.length <= 200) return slug;
  let hash = 0;
  for (let index = 0; index < folder.length; index++) hash = (hash * 31 + folder.charCodeAt(index)) | 0;
  return `${slug.slice(0, 200)}-${Math.abs(hash).toString(36)}`;
}
