import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { openAgentSandbox, type OpenedAgentSandbox } from '../../../src/isolation/namespaces/open-sandbox.ts';
import type { AgentSandboxOptions } from '../../../src/isolation/namespaces/sandbox-of.ts';
import { runProgram, type ProgramEnd } from '../../../src/processes/run-program.ts';

/** A runner's folders, with the agent's sandbox of a run in one of its checkouts. */
export interface SandboxScene extends AsyncDisposable {
  readonly opened: OpenedAgentSandbox;
  readonly options: AgentSandboxOptions;
  /** The runner's `_work`, with two checkouts and the job's temporary folder. */
  readonly work: string;
  readonly checkout: string;
  /** The tree that was given to the sandbox. */
  readonly tree: string;
  /** Runs an sh script in the tree, as the agent is run. */
  run(
    script: string,
    given?: { readonly timeoutMs?: number; readonly input?: string },
  ): Promise<{ readonly end: ProgramEnd; readonly output: string }>;
}

/** Creates the folders of a runner in a separate folder. */
export async function createRunnerFolders(): Promise<AgentSandboxOptions & { readonly base: string }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'ralph-sandbox-test-')));
  const work = join(base, 'runner', '_work');
  const at = (...names: readonly string[]): string => {
    const path = join(work, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };
  for (const name of ['sandboxes', 'reservations']) mkdirSync(join(base, name));
  writeFileSync(join(at('other', 'other'), 'secret.txt'), 'of another job');
  writeFileSync(join(at('_temp'), 'event.json'), '{}');
  writeFileSync(join(at('shop', 'shop'), 'a.txt'), 'hello');
  return {
    base,
    environment: { PATH: process.env['PATH'], HOME: join(base, 'runner') },
    runFolder: at('_temp', 'ralph-run'),
    checkout: join(work, 'shop', 'shop'),
    hidden: [join(base, 'runner'), work],
    visible: [],
    localPorts: [],
    worker: { file: process.execPath, args: [join(inject('programs'), 'sandbox-worker.mjs')] },
    places: { agentSandboxes: join(base, 'sandboxes'), reservations: join(base, 'reservations') },
  };
}

export async function createSandboxScene(
  level: 'namespace' | 'user',
  localPorts: readonly number[] = [],
): Promise<SandboxScene> {
  const { base, ...folders } = await createRunnerFolders();
  const options = { ...folders, localPorts };
  const opened = await openAgentSandbox(level, options);
  const { checkout } = options;
  const { agentSandbox } = opened;
  const tree = join(agentSandbox.folders.trees, 'work', 'shop');
  mkdirSync(tree, { recursive: true });
  for (const folder of [tree, join(tree, '..')]) chmodSync(folder, 0o755);
  writeFileSync(join(tree, 'a.txt'), 'hello');
  await agentSandbox.give(tree);
  return {
    opened,
    options,
    work: join(base, 'runner', '_work'),
    checkout,
    tree,
    run: async (script, { timeoutMs = 20_000, input = '' } = {}) => {
      const chunks: Buffer[] = [];
      const take = (chunk: Buffer): void => void chunks.push(chunk);
      const end = await runProgram({
        file: 'sh',
        args: ['-c', script],
        cwd: agentSandbox.seenAt(tree),
        environment: { PATH: '/usr/bin:/bin', HOME: agentSandbox.folders.home },
        input,
        timeoutMs,
        signal: null,
        family: { kind: 'sandbox', agentSandbox, tree },
        outputs: [take, take],
      });
      return { end, output: Buffer.concat(chunks).toString() };
    },
    [Symbol.asyncDispose]: async () => {
      await opened.close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
