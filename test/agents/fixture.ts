import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startScriptedModel, type ScriptedModel } from '../../testbed/scripted-model/server.ts';
import type { Script } from '../../testbed/scripted-model/step.ts';
import type { AgentEvent } from '../../src/agents/reading/agent-event.ts';
import type { Analysis } from '../../src/core/analysis/analysis.ts';
import { collectOutput, type CollectedEnd } from '../../src/processes/collect-output.ts';
import { readIn } from '../unit/agents/reading/fixtures.ts';
import type { Cli, Start } from './clis.ts';
import { folderOf, programOf } from './install.ts';

/** A real CLI in its own repository and HOME, with a scripted model. */
export interface World {
  readonly model: ScriptedModel;
  readonly workFolder: string;
  /** The run tag of all started processes. */
  readonly runTag: string;
  /** Starts the CLI; `signal` ends it. */
  start(prompt: string, how?: { readonly resume?: string; readonly signal?: AbortSignal }): Promise<Started>;
  git(...args: readonly string[]): string;
  [Symbol.asyncDispose](): Promise<void>;
}

interface Started {
  readonly end: CollectedEnd;
  /** The analysis by the reader of this CLI's output. */
  readonly analysis: Analysis;
  readonly finalMessage: string;
  readonly events: readonly AgentEvent[];
  readonly stderr: string;
}

/** Codex and OpenCode wait forever for a provider that is down. */
const START_MS = 90_000;
const MAX_OUTPUT_BYTES = 16 * 2 ** 20;

export async function createWorld(cli: Cli, script: Script): Promise<World> {
  const root = await realpath(await mkdtemp(join(tmpdir(), `ralph-${cli.name}-`)));
  const [home, workFolder, temporary] = [join(root, 'home'), join(root, 'work'), join(root, 'tmp')];
  const [runTag, cache] = [randomUUID(), join(folderOf(cli), 'unpacked')];
  await Promise.all([home, temporary, cache].map((folder) => mkdir(folder, { recursive: true })));
  for (const [path, content] of Object.entries(cli.files)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), JSON.stringify(content));
  }
  // Nothing is inherited. Codex refuses a HOME below the folder for temporary files, so that folder is separate.
  const surroundings = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: temporary, TZ: 'UTC' };
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { cwd: workFolder, env: surroundings, encoding: 'utf8' });
  await mkdir(workFolder);
  git('init', '-q', '-b', 'main');
  // Gemini CLI hides every other git configuration from its commands.
  git('config', 'user.name', 'Agent');
  git('config', 'user.email', 'agent@example.com');

  const model = await startScriptedModel({ script });
  return {
    model,
    workFolder,
    runTag,
    git,
    start: async (prompt, { resume, signal } = {}) => {
      const session: Start['session'] =
        resume === undefined ? { kind: 'new', id: randomUUID() } : { kind: 'resumed', id: resume };
      const start = { url: model.url, home, workFolder, cache, session };
      const program = programOf(cli);
      const { end, stdout, stderr } = await collectOutput(
        {
          file: program.file,
          args: [...program.args, ...cli.args(start)],
          cwd: workFolder,
          environment: { ...surroundings, ...cli.env(start) },
          input: prompt,
          timeoutMs: START_MS,
          ...(signal && { signal }),
          family: { kind: 'run', runTag },
        },
        MAX_OUTPUT_BYTES,
      );
      return { end, ...readIn(cli.events, stdout, { now: Date.now() }), stderr: stderr.toString() };
    },
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
