import { describeEnd, runProgram } from '../processes/run-program.ts';
import type { CacheAnswer, CacheRequest, WorkerLine } from './cache-protocol.ts';
import { tryJson } from '../core/text/try-json.ts';
import { cut } from '../core/text/cut.ts';

interface WorkerCall {
  /** Program and arguments that start the worker; the request is added as the last argument. */
  readonly command: readonly [string, ...string[]];
  readonly request: CacheRequest;
  /** Becomes the worker's directory. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Receives what the library and its programs print. */
  readonly debug: (line: string) => void;
}

export type WorkerEnd =
  | { readonly kind: 'answered'; readonly answer: CacheAnswer }
  | { readonly kind: 'hung'; readonly why: string }
  | { readonly kind: 'broken'; readonly why: string };

/** What is known of a worker's work so far. */
interface Heard {
  seen: string;
  answer: CacheAnswer | null;
  lastError: string;
}

/** Runs one worker; when this settles, its whole process group is gone. Never rejects. */
export async function callCacheWorker(call: WorkerCall): Promise<WorkerEnd> {
  const [file, ...args] = call.command;
  const heard: Heard = { seen: 'the service has not answered at all', answer: null, lastError: '' };
  const end = await runProgram({
    file,
    args: [...args, JSON.stringify(call.request)],
    cwd: call.folder,
    environment: call.environment,
    // A worker that outlives the action ends itself.
    input: null,
    timeoutMs: call.timeoutMs,
    signal: null,
    // At once, and with a hung tar or zstd of the library.
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
    outputs: [
      byLine((line) => {
        forward(line, call.debug);
      }),
      byLine((line) => {
        if (!STACK_NOISE.test(line)) heard.lastError = line;
        forward(line, call.debug);
      }),
      // Descriptor `answerDescriptor`.
      byLine((text) => {
        const line = parseLine(text);
        if (line?.kind === 'seen') heard.seen = line.what;
        if (line?.kind === 'answer') heard.answer ??= line.answer;
      }),
    ],
  });
  if (heard.answer !== null) return { kind: 'answered', answer: heard.answer };
  if (end.kind === 'timeout')
    return { kind: 'hung', why: `no result within ${String(call.timeoutMs / 1000)} s; last: ${heard.seen}` };
  if (end.kind === 'not-started') return { kind: 'broken', why: `the cache worker ${describeEnd(end)}` };
  const how =
    end.kind === 'exited' ? `exit code ${String(end.code)}` : end.kind === 'signalled' ? end.signal : end.kind;
  const cause = heard.lastError && `: ${cut(heard.lastError, 200)}`;
  return { kind: 'broken', why: `the cache worker ended (${how}) without an answer${cause}` };
}

/** Lines of a Node crash that do not say what was wrong. */
const STACK_NOISE = /^(\s.*|Node\.js v.*|)$/;

/** Takes chunks and gives whole lines; the worker and the library end each of theirs. */
function byLine(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split(/\r?\n/);
    rest = lines.pop() ?? '';
    lines.forEach(onLine);
  };
}

/** Warnings lose their command form, other commands are dropped: they carry signed addresses. */
function forward(line: string, debug: (line: string) => void): void {
  const text = line.replace(/^::(?:warning|error)[^:]*::/, '').replaceAll('%0A', ' ');
  if (text !== '' && !text.startsWith('::')) debug(`cache: ${text.replace(/(https?:\/\/[^\s?]+)\?\S+/g, '$1?…')}`);
}

function parseLine(text: string): WorkerLine | null {
  return (tryJson(text) as WorkerLine | undefined) ?? null;
}
