import {
  describeLayout,
  describeRoot,
  FIRST_PATHS,
  FURTHER_PATHS,
  ROOT_PATHS,
  SPECS_PATTERNS,
} from '../core/layouts/found-files.ts';
import { layoutOf } from '../core/layouts/layouts.ts';
import { PIPELINE_FILES } from '../core/pipeline/pipeline.ts';
import { textOf, UserError } from '../errors.ts';
import type { GateDeps } from './deps.ts';

/** Lists files and settings of other Ralphs, one line each, for log and summary; empty if there are none. Never throws: an unreadable file must not keep a run from working. */
export async function detectOtherRalphs({
  config,
  repository,
  log,
}: Pick<GateDeps, 'config' | 'repository' | 'log'>): Promise<readonly string[]> {
  const lines = [...config.settings.lines];
  try {
    const { promptFile, taskSources, workingDirectory: folder } = config;
    const found = await repository.readTexts([...new Set([...FIRST_PATHS, promptFile])], null);
    const there = [...Object.keys(found.base), ...Object.keys(found.unread)];
    const links = Object.keys(found.links);
    const layout = layoutOf([...there, ...links]);
    if (layout !== null || links.length > 0) {
      const specs = layout === null ? null : await repository.readTexts(SPECS_PATTERNS, null);
      const further = layout === null ? [] : await repository.namesOf(FURTHER_PATHS);
      const paths = [...there, ...Object.keys(specs?.base ?? {}), ...Object.keys(specs?.unread ?? {}), ...further];
      const steps = await stepsIn(found.base);
      lines.unshift(
        ...describeLayout(layout, { paths, links, texts: found.base, steps, promptFile, taskSources, folder }),
      );
    }
    if (folder !== '') lines.push(...describeRoot(await repository.namesAtRoot(ROOT_PATHS), folder));
  } catch (error) {
    // The gate reports mistakes in the configuration when it looks for tasks.
    if (!(error instanceof UserError && error.kind === 'configuration'))
      log.warning(`Files of other Ralphs could not be looked for: ${textOf(error)}`);
  }
  for (const line of lines) log.info(`found: ${line}`);
  return lines;
}

/** The number of steps in each pipeline file. Loads parsers only if there is one. */
async function stepsIn(texts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, number | null>>> {
  if (!PIPELINE_FILES.some((file) => Object.hasOwn(texts, file))) return {};
  const { stepCounts } = await import('../core/pipeline/reading/file-data.ts');
  return stepCounts(texts);
}
