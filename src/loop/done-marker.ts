import { PROGRESS_PLACES } from '../core/prompt/places.ts';
import type { FileTexts } from '../ports/repository.ts';
import type { LoopDeps } from './deps.ts';

/** Files of the work tree that count neither as content nor as tasks, as they are before a call. */
interface Aside {
  /** Logs in which an agent keeps what it learns. */
  readonly notes: FileTexts;
  /** Markers that existed before the call: nobody knows who made them, and when. */
  readonly standing: readonly string[];
}

/** Reads all of them at once. */
export async function readAside({ files, prompt }: Pick<LoopDeps, 'files' | 'prompt'>): Promise<Aside> {
  const texts = Object.entries(await files.read([...prompt.signals.markers, ...PROGRESS_PLACES]));
  return {
    notes: Object.fromEntries(texts.filter(([path]) => PROGRESS_PLACES.includes(path))),
    standing: texts.map(([path]) => path).filter((path) => prompt.signals.markers.includes(path)),
  };
}

/** Removes the marker by which the agent said in this call that everything is done, so that it must say so again. Returns its path, or null if the agent made none. */
export async function takeDoneMarker(
  { files, prompt, log, redact }: Pick<LoopDeps, 'files' | 'prompt' | 'log' | 'redact'>,
  { standing }: Aside,
): Promise<string | null> {
  const made = Object.keys(await files.read(prompt.signals.markers)).filter((path) => !standing.includes(path));
  for (const path of made)
    await files.remove(path).catch(() => {
      log.warning(`${redact(path)} says that everything is done and cannot be removed, so it counts only once.`);
    });
  return made[0] ?? null;
}
