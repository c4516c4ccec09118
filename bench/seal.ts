import { randomBytes } from 'node:crypto';
import { MAX_SESSION_BYTES } from '../src/core/lane/state/state.ts';
import { createSeal, encryptContent } from '../src/state/seal.ts';
import { spread, type Row, type Spread } from './measure.ts';

const GOAL = 200;
const ROUNDS = 15;
const MEGABYTE = 1e6;

/** Measures sealing a transcript of the maximum size: encryption alone, and with compression before it. */
export async function measureSeal(): Promise<readonly Row[]> {
  const content = someTranscript();
  const keys = { key: randomBytes(32), context: Buffer.from('lane'), salt: randomBytes(16), nonce: randomBytes(12) };
  const seal = createSeal({ credential: 'sk-ant-of-the-bench', repository: 'octo/app' });
  const of = { lane: 'queue', sessionId: '0f0e0d0c-1111-4222-8333-444455556666' };
  const encrypted = await throughput(content, () => Promise.resolve(encryptContent(content, keys)));
  const closed = await throughput(content, () => seal.close(content, of));
  return [
    {
      measure: 'encryption: a transcript of 10 MiB, AES-256-GCM',
      value: inMegabytes(encrypted),
      goal: `≥ ${String(GOAL)} MB/s`,
      isMet: encrypted.median >= GOAL,
    },
    { measure: 'encryption: the same, compressed before it', value: inMegabytes(closed), goal: '', isMet: null },
  ];
}

/** Measures throughput in MB/s of content; the first round is a warm-up. */
async function throughput(content: Uint8Array, work: () => Promise<unknown>): Promise<Spread> {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const startedAt = performance.now();
    await work();
    rates.push(content.length / MEGABYTE / ((performance.now() - startedAt) / 1000));
  }
  return spread(rates.slice(1));
}

/** Returns lines of JSON with text and ids, about as compressible as an agent's transcript. */
function someTranscript(): Buffer {
  const lines: string[] = [];
  for (let bytes = 0; bytes < MAX_SESSION_BYTES;) {
    const text = `export function part${String(lines.length)}(): string { return '${randomBytes(64).toString('base64')}'; }`;
    const line = JSON.stringify({
      type: 'assistant',
      uuid: randomBytes(16).toString('hex'),
      message: { content: text },
    });
    lines.push(line);
    bytes += line.length + 1;
  }
  return Buffer.from(lines.join('\n')).subarray(0, MAX_SESSION_BYTES);
}

function inMegabytes({ median, min, max }: Spread): string {
  return `${median.toFixed(0)} MB/s (${min.toFixed(0)}–${max.toFixed(0)})`;
}
