import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { runProgram } from '../../processes/run-program.ts';

const CHANGE_MS = 20_000;

/** Removes a folder, also one with subfolders that nobody may enter. Links are not followed. */
export async function removeAll(path: string): Promise<void> {
  if (!existsSync(path)) return;
  const isGone = await rm(path, { recursive: true, force: true }).then(
    () => true,
    () => false,
  );
  if (isGone) return;
  await runProgram({
    ...{ file: '/bin/chmod', args: ['-R', 'u+rwX', '--', path], cwd: '/', environment: {}, input: '' },
    ...{ timeoutMs: CHANGE_MS, signal: null, outputs: [() => undefined, () => undefined] },
    family: { kind: 'group', graceMs: 0, leftover: 'end' },
  });
  await rm(path, { recursive: true, force: true });
}
