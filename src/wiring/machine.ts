import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { toRootPath } from '../core/folder.ts';
import type { Machine } from '../run/deps.ts';
import { writeRunRecord } from '../run/run-record.ts';
import type { WorkTreeFiles } from '../ports/repository.ts';
import { digestSteering } from '../runner/run-context.ts';
import { endAgent } from './isolation/isolated.ts';
import type { World } from './world.ts';
import type { Sleep } from '../ports/machine.ts';

/** Maximum size in bytes; the prompt shows the last 2,000 characters, each of at most four bytes. */
const MAX_LEARNINGS_BYTES = 8_000;

/** Creates main's access to this machine. */
export function createMachine(
  world: World,
  { startedAt, workFiles }: { readonly startedAt: number; readonly workFiles: () => Promise<WorkTreeFiles> },
): Machine {
  const { context, config, actionFolder, log, runFolder, runTag, runKey, environment } = world;
  const steering = digestSteering(environment, runKey);
  return {
    readPrompt: async () => {
      const { readPrompt } = await import('../runner/prompt-file.ts');
      const { promptFile, workingDirectory: folder } = config;
      return readPrompt({ workspace: context.workspace, folder, promptFile, actionFolder }, log);
    },
    readLearnings: async (lane) => {
      const { ISSUE_NOTES, LEARNINGS_PATH, locateNotebook, selectShownNotes } =
        await import('../core/prompt/learnings.ts');
      const files = await workFiles();
      const { path } = locateNotebook(lane);
      const ofIssues = Object.entries(await files.read([ISSUE_NOTES])).filter(([name]) => name !== path);
      const end = async (name: string): Promise<string> => (await files.readEnd(name, MAX_LEARNINGS_BYTES)) ?? '';
      const shared = path === LEARNINGS_PATH ? [] : [{ path: LEARNINGS_PATH, text: await end(LEARNINGS_PATH) }];
      const others = ofIssues.map(([name, text]) => ({ path: name, text })).reverse();
      return selectShownNotes(await end(path), [...shared, ...others]);
    },
    readLeftCircuit: async () => {
      const [{ readEnd }, { LEFT_CIRCUIT_PATHS, MAX_LEFT_CIRCUIT_BYTES }] = await Promise.all([
        workFiles(),
        import('../core/others/left-circuit.ts'),
      ]);
      for (const path of LEFT_CIRCUIT_PATHS) {
        const text = await readEnd(path, MAX_LEFT_CIRCUIT_BYTES);
        if (text !== null) return { path: toRootPath(config.workingDirectory, path), text };
      }
      return null;
    },
    sleep: sleepFor,
    files: {
      read: async (paths) => (await workFiles()).read(paths),
      replace: async (change) => (await workFiles()).replace(change),
      remove: async (path) => (await workFiles()).remove(path),
    },
    record: (record) => {
      const settings = config.settings.found;
      writeRunRecord(runFolder, { version: 2, startedAt, ...steering, settings, ...record }, runKey);
    },
    loss: () =>
      existsSync(runFolder)
        ? null
        : `The run's own folder ${runFolder} was removed while it ran, by the agent or by another program on this machine. Work finished before that is published.`,
    onCancel: listenForCancel,
    endAgent: () => endAgent(runTag),
  };
}

/** Waits on this machine. */
const sleepFor: Sleep = async (ms, signal) => {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
};

/** GitHub's runner sends SIGINT, SIGTERM 7.5 s later and SIGKILL 2.5 s after that, to this process only. */
const FIRST_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Time after the first signal at which the run gives up, in ms. Main must end within 7 s of that signal, and ending the
 * agent's processes takes up to 3 s of that time.
 */
const GIVE_UP_AFTER_MS = 5_000;

/**
 * Returns a signal that is aborted when the run is cancelled. Calls `giveUp` if this process still runs
 * GIVE_UP_AFTER_MS later.
 */
export function listenForCancel(giveUp: (why: string) => Promise<void>): AbortSignal {
  const controller = new AbortController();
  for (const name of FIRST_SIGNALS) {
    process.on(name, () => {
      if (controller.signal.aborted) return;
      controller.abort(new Error(`the run was cancelled (${name})`));
      setTimeout(() => {
        giveUp(name).catch(() => process.exit(1));
      }, GIVE_UP_AFTER_MS).unref();
    });
  }
  return controller.signal;
}
