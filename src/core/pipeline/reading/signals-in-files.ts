import { z } from 'zod';
import { doneSignalsSchema, KNOWN_SIGNALS, type DoneSignals } from '../../analysis/done-signals.ts';
import { hasSteps, readFileData } from './file-data.ts';
import { isAnybodys, PIPELINE_FILES } from '../pipeline.ts';

const settingSchema = z.looseObject({ signals: doneSignalsSchema.optional() });

/** What the files of a pipeline add to the known signals: each up to the first with steps, which is the one that counts. `texts`: by path. `problems`: sentences that begin with file, line, column and key. */
export function signalsInFiles(texts: Readonly<Record<string, string>>): {
  readonly signals: DoneSignals;
  readonly problems: readonly string[];
} {
  const done = new Set(KNOWN_SIGNALS.done);
  const markers = new Set(KNOWN_SIGNALS.markers);
  const problems: string[] = [];
  for (const file of PIPELINE_FILES.filter((place) => Object.hasOwn(texts, place))) {
    const read = readFileData(file, texts[file] ?? '');
    // A file that cannot be read, and whatever else it holds, is for the reader of the pipeline to judge.
    if (read.kind === 'malformed') continue;
    const isPipeline = hasSteps(file, read.data);
    const isOurs = isPipeline || !isAnybodys(file);
    if (isOurs && typeof read.data === 'object' && read.data !== null && !Array.isArray(read.data)) {
      const parsed = settingSchema.safeParse(read.data);
      for (const text of parsed.data?.signals?.done ?? []) done.add(text);
      for (const path of parsed.data?.signals?.markers ?? []) markers.add(path);
      for (const { path, message } of parsed.error?.issues ?? []) {
        const { line, column } = read.at(path, 'value');
        problems.push(
          `${file}:${line}:${column} ${keyOf(path)} ${message.replace(/^Invalid input: /, 'is invalid: ')}.`,
        );
      }
    }
    if (isPipeline) break;
  }
  if (problems.length > 0) return { signals: KNOWN_SIGNALS, problems };
  return { signals: { done: [...done], markers: [...markers] }, problems };
}

/** `signals.done[2]` */
function keyOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`))
    .join('');
}
