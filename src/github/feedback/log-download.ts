import { cut } from '../../core/text/cut.ts';
import { flatten } from '../../core/text/one-line.ts';
import { sentence } from '../../core/text/sentence.ts';
import { type ForgeOptions, usualPace } from '../client.ts';
import { fetchFor } from '../proxied-fetch.ts';
import { unpacked, UnreadableArchive } from './log-archive.ts';

/** Of a log: beyond it, its end is not worth the time. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

interface Kept extends Pick<ForgeOptions, 'apiUrl' | 'pace'> {
  /** Where GitHub says that the log is; null: it said nothing. */
  readonly address: string | null;
}

/** Hands a log over piece by piece, without the token; null when it came whole, or why not, as a sentence. */
export async function downloadLog(
  { address, apiUrl, pace = usualPace }: Kept,
  take: (text: string) => void,
): Promise<string | null> {
  const url = URL.parse(address ?? '');
  // What GitHub encrypts does not go on in the clear.
  if (url === null || (url.protocol !== 'https:' && url.protocol !== new URL(apiUrl).protocol))
    return 'GitHub does not say where the log of the job is.';
  try {
    const send = await fetchFor(url.href);
    const answer = await send(url.href, { signal: AbortSignal.timeout(pace.downloadMs) });
    if (!answer.ok || answer.body === null) {
      await answer.body?.cancel();
      return `The log of the job cannot be downloaded: its storage answers ${String(answer.status)}.`;
    }
    return await read(answer.body, take);
  } catch (error) {
    return whyBroken(error, pace.downloadMs);
  }
}

async function read(body: AsyncIterable<Uint8Array>, take: (text: string) => void): Promise<string | null> {
  const decoder = new TextDecoder();
  let bytes = 0;
  // Leaving the loop ends the download.
  for await (const chunk of unpacked(body)) {
    take(decoder.decode(chunk, { stream: true }));
    bytes += chunk.length;
    if (bytes > MAX_LOG_BYTES)
      return `The log of the job is larger than ${String(MAX_LOG_BYTES / MEBIBYTE)} MiB: its end is missing.`;
  }
  take(decoder.decode());
  return null;
}

/** The address is as good as a key for as long as it holds, so that no message may carry it. */
function whyBroken(error: unknown, limitMs: number): string {
  if (error instanceof UnreadableArchive) return error.message;
  if (!(error instanceof Error)) throw error;
  if (error.name === 'TimeoutError')
    return `The log of the job did not arrive within ${String(limitMs / 1000)} s: its end is missing.`;
  const { message } = error.cause instanceof Error ? error.cause : error;
  const words = flatten(message).replace(/https?:\/\/\S+/g, 'its storage');
  return `The log of the job could not be downloaded: ${sentence(cut(words, 200))}`;
}
