import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startTestbed, type Testbed } from '../testbed/testbed.ts';
import { measureBroker } from './brokered/broker.ts';
import { measureBundleSize } from './counted/bundle-size.ts';
import { measureColdStart } from './cold-start.ts';
import { measureCiLog } from './ci-log.ts';
import { measureCommandLine } from './command-line.ts';
import { measureDecisions } from './decisions.ts';
import { measureEvidence } from './work-tree/evidence.ts';
import { measureIsolation } from './isolation.ts';
import { measureLightEvent } from './light-event.ts';
import type { Row } from './measure.ts';
import { measureOrchestration } from './orchestration.ts';
import { measurePublishing } from './publishing.ts';
import { measureRefState } from './ref-state.ts';
import { compareManyPulls } from './counted/open-pulls.ts';
import { countGitProcesses } from './counted/git-processes.ts';
import { measurePredictions } from './counted/predictions.ts';
import { countRequests } from './counted/requests.ts';
import { measureSeal } from './seal.ts';
import { measureTree } from './work-tree/tree.ts';
import { measureTranscript } from './transcript/transcript.ts';

const parts: Readonly<Record<string, (folder: string) => Promise<readonly Row[]>>> = {
  bundle: measureBundleSize,
  'cold-start': (at) => inTestbed(at, (testbed) => measureColdStart(testbed, join(at, 'cold-start'))),
  'light-event': (at) => inTestbed(at, (testbed) => measureLightEvent(testbed, join(at, 'light-event'))),
  'command-line': measureCommandLine,
  requests: countRequests,
  'git-processes': countGitProcesses,
  'open-pulls': compareManyPulls,
  predictions: measurePredictions,
  orchestration: measureOrchestration,
  transcript: measureTranscript,
  'ci-log': measureCiLog,
  decisions: measureDecisions,
  state: measureRefState,
  encryption: measureSeal,
  publishing: measurePublishing,
  evidence: measureEvidence,
  tree: measureTree,
  broker: measureBroker,
  isolation: measureIsolation,
};

const USAGE = `npm run bench -- [--check] [<part> …]

Measures what a run costs beside the agent, against goals. With --check, exits with 1 when a goal is missed.
Parts, of which all are measured when none is named: ${Object.keys(parts).join(', ')}.`;

const args = process.argv.slice(2);
const named = args.filter((arg) => arg !== '--check');
if (named.some((name) => !Object.hasOwn(parts, name))) {
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
  for (const [name, measure] of Object.entries(parts)) {
    if (named.length > 0 && !named.includes(name)) continue;
    console.error(`measuring: ${name} …`);
    rows.push(...(await measure(join(folder, name))));
  }
  return rows;
}

async function inTestbed(at: string, measure: (testbed: Testbed) => Promise<readonly Row[]>): Promise<readonly Row[]> {
  await using testbed = await startTestbed(join(at, 'sandbox'));
  return await measure(testbed);
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
