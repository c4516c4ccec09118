import { z } from 'zod';
import { doneSignalsSchema, KNOWN_SIGNALS, type DoneSignals } from '../../analysis/done-signals.ts';
import { hasSteps, parseFileData } from './file-data.ts';
import { isSharedFileName, PIPELINE_FILES } from '../pipeline.ts';

const settingSchema = z.looseObject({ signals: doneSignalsSchema.optional() });

/**
 * Returns the known signals and those that pipeline files add. Files after the first one with steps are ignored,
 * because that one is in effect. `texts` is keyed by path. `problems` are sentences that begin with file, line, column
 * and key.
 */
export function parseSignalFiles(texts: Readonly<Record<string, string>>): {
  readonly signals: DoneSignals;
  readonly problems: readonly string[];
} {
  const done = new Set(KNOWN_SIGNALS.done);
  const markers = new Set(KNOWN_SIGNALS.markers);
  const problems: string[] = [];
  for (const file of PIPELINE_FILES.filter((place) => Object.hasOwn(texts, place))) {
    const read = parseFileData(file, texts[file] ?? '');
    // `parsePipeline` reports files that cannot be parsed, so they are skipped here.
    if (read.kind === 'malformed') continue;
    const isPipeline = hasSteps(file, read.data);
    const isOurs = isPipeline || !isSharedFileName(file);
    if (isOurs && typeof read.data === 'object' && read.data !== null && !Array.isArray(read.data)) {
      const parsed = settingSchema.safeParse(read.data);
      for (const text of parsed.data?.signals?.done ?? []) done.add(text);
      for (const path of parsed.data?.signals?.markers ?? []) markers.add(path);
      for (const { path, message } of parsed.error?.issues ?? []) {
        const { line, column } = read.at(path, 'value');
        problems.push(
          `${file}:${line}:${column} ${formatKey(path)} ${message.replace(/^Invalid input: /, 'is invalid: ')}.`,
        );
      }
    }
    if (isPipeline) break;
  }
  if (problems.length > 0) return { signals: KNOWN_SIGNALS, problems };
  return { signals: { done: [...done], markers: [...markers] }, problems };
}

/** Formats a path such as `signals.done[2]`. */
function formatKey(path: readonly PropertyKey[]): string {
  return path
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`))
    .join('');
}
