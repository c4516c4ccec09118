import { Readable } from 'node:stream';
import { runProgram } from '../../../src/processes/run-program.ts';

// Runs one program after another while it is interrupted, and prints how each ended and how much of its input arrived.
const INPUT = 'x'.repeat(20_000);

process.on('SIGINT', () => undefined);
console.log('begun');
for (let count = 0; count < 40; count += 1) {
  let size = '';
  const end = await runProgram({
    file: '/bin/sh',
    args: ['-c', 'wc -c'],
    cwd: '/',
    environment: { PATH: process.env['PATH'] ?? '' },
    input: count % 2 === 0 ? INPUT : Readable.from([INPUT]),
    timeoutMs: 60_000,
    signal: null,
    family: { kind: 'group', graceMs: 0, leftover: 'keep' },
    outputs: [(chunk) => (size += chunk.toString().trim()), () => undefined],
  });
  console.log(`${JSON.stringify(end)}: ${size}`);
}
process.exit(0);
