import { Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { createLogTail, type LogWindow } from '../../core/feedback/checks/log-tail.ts';
import type { Annotation, CheckDetails, CheckNow } from '../../core/feedback/pull-request-now.ts';
import { cutText, flattenText, completeSentence } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { type Client, type ForgeOptions, type Octokit, usualPace } from '../client.ts';
import { fetchFor } from '../proxied-fetch.ts';

/** An error for an archive that cannot be read; its message is a sentence. */
class UnreadableArchive extends Error {
  constructor(why: string) {
    super(`The log of the job is an archive that cannot be read: ${why}.`);
    this.name = 'UnreadableArchive';
  }
}

/** The signature of an entry: `PK` and two more bytes. */
const SIGNATURE = 0x04034b50;

const HEADER_BYTES = 30;

const METHODS = { stored: 0, deflated: 8 };

/** The flag for sizes that follow the content instead of coming before it. */
const SIZES_FOLLOW = 1 << 3;

const ENCRYPTED = 1;

interface Source {
  /** Returns the next `count` bytes without removing them, or fewer at the end. */
  peek(count: number): Promise<Buffer>;
  skip(count: number): Promise<void>;
  next(count: number): AsyncGenerator<Uint8Array>;
  rest(): AsyncGenerator<Uint8Array>;
}

/** Maximum size of a log; the end of a larger log is not worth the time. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

const MEBIBYTE = 1024 * 1024;

/** A log that GitHub keeps on another server. */
interface LogDownload extends Pick<ForgeOptions, 'apiUrl' | 'pace'> {
  /** The address of the log, or null if GitHub does not state it. */
  readonly address: string | null;
}

/** Maximum number of annotations; further ones only repeat the first ones. */
const MAX_CHECK_ANNOTATIONS = 50;

/** Options for a single attempt: a part that cannot be read at once is reported as missing. */
const WITHOUT_RETRIES = { request: { retries: 0 } };

interface Job extends LogWindow {
  readonly name: string;
  readonly step: string | null;
}

/**
 * Reads the job, the step, the annotations and the end of the log of a failed check. Never throws if GitHub does not
 * provide one of them.
 */
export async function loadCheckDetails(
  client: Client,
  { of, id, app }: CheckNow,
  options: Pick<ForgeOptions, 'apiUrl' | 'pace'>,
): Promise<CheckDetails> {
  if (of !== 'check-run' || id === null) return { job: null, step: null, annotations: [], log: null, missing: null };
  const annotations = await tryRead(() => readAnnotations(client, id));
  if (app !== 'github-actions')
    return { job: null, step: null, annotations: annotations.got ?? [], log: null, missing: annotations.missing };
  const job = await tryRead(() => readJob(client, id));
  const log = await tryRead(() =>
    readLog(client, { job: id, window: job.got ?? { from: null, to: null }, ...options }),
  );
  const missing = [annotations.missing, job.missing, log.missing, log.got?.missing].filter((why) => why != null);
  return {
    job: job.got?.name ?? null,
    step: job.got?.step ?? null,
    annotations: annotations.got ?? [],
    log: log.got?.text ?? null,
    // Two parts may be missing for the same reason, such as a permission, so give it only once.
    missing: missing.length === 0 ? null : [...new Set(missing)].join(' '),
  };
}

/** Returns the result of `read`, or as `missing` the reason why it failed. */
async function tryRead<T>(
  read: () => Promise<T>,
): Promise<{ readonly got: T | null; readonly missing: string | null }> {
  try {
    return { got: await read(), missing: null };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { got: null, missing: error.message };
  }
}

function readAnnotations({ ask }: Client, id: number): Promise<readonly Annotation[]> {
  return ask({ doing: 'read the annotations of a check', needs: ['checks: read'] }, async (octokit, at) => {
    const { data } = await octokit.rest.checks.listAnnotations({
      ...at,
      check_run_id: id,
      per_page: MAX_CHECK_ANNOTATIONS,
      ...WITHOUT_RETRIES,
    });
    return data.map(({ path, start_line: line, annotation_level: level, message }) => ({
      path,
      line,
      level: level ?? '',
      message: message ?? '',
    }));
  });
}

function readJob({ ask }: Client, id: number): Promise<Job> {
  return ask({ doing: 'read a failed job', needs: ['actions: read'] }, async (octokit, at) => {
    const { data } = await octokit.rest.actions.getJobForWorkflowRun({ ...at, job_id: id, ...WITHOUT_RETRIES });
    const failed = failedStep(data.steps ?? []);
    return {
      name: data.name,
      step: failed?.name ?? null,
      from: instant(failed?.started_at),
      to: instant(failed?.completed_at),
    };
  });
}

type Step = NonNullable<
  Awaited<ReturnType<Octokit['rest']['actions']['getJobForWorkflowRun']>>['data']['steps']
>[number];

/**
 * Returns the first failed step, because later steps fail as a consequence. A step that ran out of time is shown as
 * cancelled.
 */
function failedStep(steps: readonly Step[]): Step | null {
  const first = (conclusion: string): Step | undefined => steps.find((step) => step.conclusion === conclusion);
  return first('failure') ?? first('cancelled') ?? null;
}

function instant(text: string | null | undefined): number | null {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? null : at;
}

interface Log {
  readonly text: string;
  readonly missing: string | null;
}

/**
 * Reads the end of a job's log. GitHub answers with the log's address on another server, from which it is read without
 * the token.
 */
async function readLog(
  { ask }: Client,
  asked: Pick<ForgeOptions, 'apiUrl' | 'pace'> & { readonly job: number; readonly window: LogWindow },
): Promise<Log> {
  const { job, window, ...options } = asked;
  const doing = 'read the log of a failed job';
  const address = await ask({ doing, needs: ['actions: read'] }, async (octokit, at) => {
    const { headers } = await octokit.request('GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs', {
      ...at,
      job_id: job,
      request: { retries: 0, redirect: 'manual' },
    });
    return headers.location ?? null;
  });
  const tail = createLogTail(window);
  const missing = await downloadLog({ address, ...options }, (text) => tail.push(text));
  return { text: tail.end(), missing };
}

/**
 * Downloads a log without the token and passes it on piece by piece. Returns null if the log is complete, or a sentence
 * with the reason why it is not.
 */
async function downloadLog(
  { address, apiUrl, pace = usualPace }: LogDownload,
  take: (text: string) => void,
): Promise<string | null> {
  const url = URL.parse(address ?? '');
  // Refuse to download a log unencrypted that GitHub serves encrypted.
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
  // Leaving this loop early ends the download.
  for await (const chunk of unpacked(body)) {
    take(decoder.decode(chunk, { stream: true }));
    bytes += chunk.length;
    if (bytes > MAX_LOG_BYTES)
      return `The log of the job is larger than ${String(MAX_LOG_BYTES / MEBIBYTE)} MiB: its end is missing.`;
  }
  take(decoder.decode());
  return null;
}

/** Explains a failed download without the log's address, which works like a key while it is valid. */
function whyBroken(error: unknown, limitMs: number): string {
  if (error instanceof UnreadableArchive) return error.message;
  if (!(error instanceof Error)) throw error;
  if (error.name === 'TimeoutError')
    return `The log of the job did not arrive within ${String(limitMs / 1000)} s: its end is missing.`;
  const { message } = error.cause instanceof Error ? error.cause : error;
  const words = flattenText(message).replace(/https?:\/\/\S+/g, 'its storage');
  return `The log of the job could not be downloaded: ${completeSentence(cutText(words, 200))}`;
}

/**
 * Yields the bytes unchanged or, for a zip archive, those of its first entry, which is the log of one job. Only the
 * next bytes are held in memory.
 */
async function* unpacked(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = createByteSource(bytes);
  const start = await source.peek(HEADER_BYTES);
  if (start.length < HEADER_BYTES || start.readUInt32LE(0) !== SIGNATURE) {
    yield* source.rest();
    return;
  }
  const flags = start.readUInt16LE(6);
  const method = start.readUInt16LE(8);
  const size = start.readUInt32LE(18);
  if ((flags & ENCRYPTED) !== 0) throw new UnreadableArchive('it is encrypted');
  await source.skip(HEADER_BYTES + start.readUInt16LE(26) + start.readUInt16LE(28));
  if (method === METHODS.deflated) yield* inflated(source.rest());
  else if (method === METHODS.stored && (flags & SIZES_FOLLOW) === 0) yield* source.next(size);
  else throw new UnreadableArchive('it is packed in an unusual way');
}

/** Yields decompressed content; ignores bytes after the compressed content, such as the archive's table. */
async function* inflated(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw();
  const packed = Readable.from(bytes, { objectMode: false });
  packed.on('error', (error) => inflate.destroy(error));
  packed.pipe(inflate);
  try {
    for await (const chunk of inflate) yield chunk as Uint8Array;
  } catch (error) {
    const isCorrupt = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
    throw isCorrupt ? new UnreadableArchive('its content is damaged') : error;
  } finally {
    packed.destroy();
    inflate.destroy();
  }
}

function createByteSource(bytes: AsyncIterable<Uint8Array>): Source {
  const chunks = bytes[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  /** Reads another chunk; returns false at the end. */
  async function more(): Promise<boolean> {
    const next = await chunks.next();
    if (next.done === true) return false;
    held = Buffer.concat([held, next.value]);
    return true;
  }

  const source: Source = {
    async peek(count) {
      while (held.length < count && (await more()));
      return held.subarray(0, count);
    },
    async skip(count) {
      await source.peek(count);
      held = held.subarray(count);
    },
    async *next(count) {
      let left = count;
      for await (const chunk of source.rest()) {
        yield chunk.subarray(0, left);
        left -= chunk.length;
        if (left <= 0) return;
      }
    },
    async *rest() {
      try {
        do {
          const chunk = held;
          held = Buffer.alloc(0);
          if (chunk.length > 0) yield chunk;
        } while (await more());
      } finally {
        await chunks.return?.();
      }
    },
  };
  return source;
}
