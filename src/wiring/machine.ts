import { existsSync } from 'node:fs';
import { toRootPath } from '../core/folder.ts';
import { ISSUE_NOTES, LEARNINGS_PATH, locateNotebook, selectShownNotes } from '../core/prompt/learnings.ts';
import type { Machine } from '../run/deps.ts';
import { writeRunRecord } from '../run/run-record.ts';
import type { WorkTreeFiles } from '../ports/repository.ts';
import { listenForCancel, sleepFor } from '../runner/cancellation.ts';
import { readPrompt } from '../runner/prompt-file.ts';
import { digestSteering } from '../runner/steering.ts';
import type { World } from './world.ts';

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
    readPrompt: () => {
      const { promptFile, workingDirectory: folder } = config;
      return readPrompt({ workspace: context.workspace, folder, promptFile, actionFolder }, log);
    },
    readLearnings: async (lane) => {
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
    endAgent: async () => (await import('./agent.ts')).endAgent(runTag),
    exit: (code) => process.exit(code),
  };
}
