import { lstat, readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { UserError } from '../../errors.ts';
import type { CliPlace } from '../cli/cli.ts';
import { readPlainFile } from '../cli/plain-files.ts';

/**
 * Throws where the repository holds a plugin, or may name one: OpenCode (1.18.33) runs it in spite of all flags, and so it
 * would run what an agent has written that may edit files but run nothing.
 */
export async function refusePlugins({
  workFolder,
  alsoFolder,
  tree,
}: Pick<CliPlace, 'workFolder' | 'alsoFolder' | 'tree'>): Promise<void> {
  const within = relative(alsoFolder ?? workFolder, workFolder);
  for (const folder of foldersUp(join(tree, within), tree)) {
    const found = await pluginIn(folder);
    if (found !== null)
      throw new UserError(
        'configuration',
        `The repository has plugins for OpenCode, or a file that may name some: \`${relative(tree, found)}\`. OpenCode would run them whatever its settings are. Remove it from the branch, or use another agent.`,
      );
  }
}

const SETTINGS = ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'];
const PLUGINS = ['.opencode/plugin', '.opencode/plugins'];
const MAX_SETTINGS_BYTES = 1024 * 1024;

function foldersUp(from: string, to: string): readonly string[] {
  const parent = dirname(from);
  return from === to || parent === from ? [from] : [from, ...foldersUp(parent, to)];
}

async function pluginIn(folder: string): Promise<string | null> {
  for (const path of PLUGINS.map((name) => join(folder, name))) {
    const names = await readdir(path).catch(() => []);
    if (names.some((name) => /\.[jt]s$/.test(name))) return path;
  }
  for (const path of SETTINGS.map((name) => join(folder, name))) if (await mayNamePlugins(path)) return path;
  return null;
}

/** What is not a plain file of a usual size is not looked at, and may. */
async function mayNamePlugins(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return false;
  const text = await readPlainFile(path, async (file, size) =>
    size > MAX_SETTINGS_BYTES ? null : (await file.readFile()).toString('utf8'),
  );
  // A name may be written with escapes.
  return text === null ? found.size > 0 : /plugin|\\u/i.test(text);
}
