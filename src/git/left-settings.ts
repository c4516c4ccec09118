import { join } from 'node:path';
import { readRegular, writeRegular } from './regular-files.ts';

/** What versions up to November 2026 wrote at the end of a checkout's settings while their agent worked. */
const LEFT = '\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n';
const MAX_BYTES = 1024 * 1024;

/** Removes from a checkout what a run left in its settings whose machine went down: git and actions/checkout stumble over a second value. Never throws. */
export async function removeLeftSettings(checkout: string): Promise<void> {
  const path = join(checkout, '.git', 'config');
  const found = await readRegular(path, MAX_BYTES).catch(() => null);
  const text = found?.bytes.toString('latin1') ?? '';
  if (found === null || !text.includes(LEFT)) return;
  const { mode } = found;
  await writeRegular(path, Buffer.from(text.replaceAll(LEFT, ''), 'latin1'), { mode }).catch(() => undefined);
}
