import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startSandbox } from '../sandbox/sandbox.ts';
import { measureBundleSize } from './bundle-size.ts';
import { measureColdStart } from './cold-start.ts';
import { measureDecisions } from './decisions.ts';
import { measureEvidence } from './evidence.ts';
import type { Row } from './measure.ts';
import { measureOrchestration } from './orchestration.ts';
import { measurePublishing } from './publishing.ts';
import { measureRefState } from './ref-state.ts';
import { countRequests } from './requests.ts';
import { measureSeal } from './seal.ts';
import { measureTranscript } from './transcript.ts';

const USAGE = `npm run bench -- [--check]

Measures what a run costs beside the agent, against goals. With --check, exits with 1 when a goal is missed.`;

const args = process.argv.slice(2);
if (args.some((arg) => arg !== '--check')) {
  console.error(USAGE);
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'ralph-bench-'));
try {
  const rows = await measureAll();
  print(rows);
  console.log(`\nRatios are medians (min–max) of alternating pairs A B A B in this one run. ${await machine()}`);
  if (args.includes('--check') && rows.some((row) => row.isMet === false)) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measureAll(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const add = async (what: string, measure: () => Promise<readonly Row[]>): Promise<void> => {
    console.error(`measuring: ${what} …`);
    rows.push(...(await measure()));
  };
  await add('bundle', measureBundleSize);
  {
    await using sandbox = await startSandbox(join(folder, 'sandbox'));
    await add('cold start', () => measureColdStart(sandbox, join(folder, 'cold-start')));
    await add('requests', () => countRequests(sandbox));
  }
  await add('orchestration', () => measureOrchestration(join(folder, 'orchestration')));
  await add('transcript', measureTranscript);
  await add('decisions', measureDecisions);
  await add('state', () => measureRefState(join(folder, 'state')));
  await add('encryption', measureSeal);
  await add('publishing', () => measurePublishing(join(folder, 'publishing')));
  await add('evidence', () => measureEvidence(join(folder, 'evidence')));
  return rows;
}

function print(rows: readonly Row[]): void {
  const verdict = ({ isMet }: Row): string => (isMet === null ? '' : isMet ? 'ok' : 'OVER');
  const table = [
    ['measure', 'value', 'goal', ''],
    ...rows.map((row) => [row.measure, row.value, row.goal, verdict(row)]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((cells) => (cells[column] ?? '').length)));
  for (const cells of table)
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

async function machine(): Promise<string> {
  const git = await promisify(execFile)('git', ['--version']);
  return `Node ${process.versions.node}, ${git.stdout.trim()}, ${process.platform} ${process.arch}, ${String(availableParallelism())} × ${cpus()[0]?.model ?? 'unknown CPU'}.`;
}
