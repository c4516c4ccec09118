import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openAgentSandbox } from '../src/isolation/namespaces/open-sandbox.ts';
import type { AgentSandboxOptions } from '../src/isolation/namespaces/sandbox-of.ts';
import { runProgram, type ProcessFamily } from '../src/processes/run-program.ts';
import { spread, type Row } from './measure.ts';

const START_GOAL_MS = 250;
const SANDBOX_GOAL_MS = 1_000;
const HAND_OVER_GOAL_MS = 200;
const FILES = 20_000;
const CALLS = 15;
const REPEATS = 5;

/**
 * Measures the cost of an agent's sandbox of namespaces: per call, per run, and for a work tree of 20,000 files. Needs
 * root.
 */
export async function measureIsolation(folder: string): Promise<readonly Row[]> {
  if (process.getuid?.() !== 0)
    return [row('isolation: a call in a sandbox (not measured: needs root)', [0], START_GOAL_MS)];
  const options = agentSandboxIn(folder);
  const opening: number[] = [];
  for (let nth = 0; nth < REPEATS; nth += 1)
    opening.push(await timed(async () => (await openAgentSandbox('namespace', options)).close()));

  const opened = await openAgentSandbox('namespace', options);
  try {
    const { agentSandbox } = opened;
    const tree = options.checkout;
    const call = (family: ProcessFamily) => () =>
      runProgram({
        ...{ file: 'true', args: [], cwd: '/', environment: { PATH: '/usr/bin:/bin' }, input: '', timeoutMs: 10_000 },
        ...{ signal: null, family, outputs: [() => undefined, () => undefined] },
      });
    const added: number[] = [];
    for (let nth = 0; nth < CALLS; nth += 1) {
      const inside = await timed(call({ kind: 'sandbox', agentSandbox }));
      const outside = await timed(call({ kind: 'run', runTag: '0' }));
      added.push(inside - outside);
    }
    const handing: number[] = [];
    for (let nth = 0; nth < REPEATS; nth += 1) {
      handing.push(await timed(() => agentSandbox.give(tree)), await timed(() => agentSandbox.takeBack(tree)));
    }
    return [
      row('isolation: a program starts later in a sandbox by', added, START_GOAL_MS),
      row('isolation: a sandbox is made and removed in', opening, SANDBOX_GOAL_MS),
      row(`isolation: ${String(FILES)} files change hands in`, handing, HAND_OVER_GOAL_MS),
    ];
  } finally {
    await opened.close();
  }
}

function agentSandboxIn(folder: string): AgentSandboxOptions {
  const at = (...names: readonly string[]): string => {
    const path = join(folder, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };
  const tree = at('work', 'shop');
  for (let nth = 0; nth < FILES; nth += 1) {
    const within = join(tree, `f${String(nth % 200)}`);
    if (nth < 200) mkdirSync(within);
    writeFileSync(join(within, `${String(nth)}.txt`), `file ${String(nth)}\n`);
  }
  return {
    environment: { PATH: process.env['PATH'], HOME: at('home') },
    runFolder: at('run'),
    checkout: tree,
    hidden: [],
    localPorts: [],
    visible: [tmpdir()],
    worker: { file: process.execPath, args: [fileURLToPath(new URL('../dist/sandbox-worker.js', import.meta.url))] },
    places: { agentSandboxes: at('sandboxes'), reservations: at('reservations') },
  };
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
}

function row(measure: string, times: readonly number[], goal: number): Row {
  const { median, min, max } = spread(times);
  return {
    measure,
    value: `${median.toFixed(0)} ms (${min.toFixed(0)}–${max.toFixed(0)})`,
    goal: `≤ ${String(goal)} ms`,
    isMet: median <= goal,
  };
}
