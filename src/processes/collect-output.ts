import { describeEnd, runProgram, type ProgramCall, type ProgramEnd } from './run-program.ts';

/** How a program ended whose output is wanted whole. */
export type CollectedEnd = ProgramEnd | { readonly kind: 'too-much-output'; readonly maxBytes: number };

/** `stdout` and `stderr` are whole unless `end` says that they are too much; then they are cut. */
export interface CollectedOutput {
  readonly end: CollectedEnd;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** Runs a program and keeps what it prints; one that prints more than `maxBytes` to either output is ended. Without `signal` nobody cancels it. Never rejects. */
export async function collectOutput(
  call: Omit<ProgramCall, 'signal' | 'outputs'> & Partial<Pick<ProgramCall, 'signal'>>,
  maxBytes: number,
): Promise<CollectedOutput> {
  const overflow = new AbortController();
  const [stdout, stderr] = [collector(maxBytes, overflow), collector(maxBytes, overflow)];
  const signal = AbortSignal.any([overflow.signal, ...(call.signal == null ? [] : [call.signal])]);
  const end = await runProgram({ ...call, signal, outputs: [stdout.take, stderr.take] });
  return {
    end: overflow.signal.aborted ? { kind: 'too-much-output', maxBytes } : end,
    stdout: Buffer.concat(stdout.chunks),
    stderr: Buffer.concat(stderr.chunks),
  };
}

/** Continues a sentence whose subject is the program. */
export function describeCollected(end: CollectedEnd): string {
  return end.kind === 'too-much-output' ? `printed more than ${end.maxBytes / 1024 / 1024} MiB` : describeEnd(end);
}

function collector(maxBytes: number, overflow: AbortController): { chunks: Buffer[]; take: (chunk: Buffer) => void } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const take = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > maxBytes) overflow.abort();
    else chunks.push(chunk);
  };
  return { chunks, take };
}
