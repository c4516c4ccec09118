import { findInputProblems } from '../../config/inputs.ts';
import { parseRunSettings, listSettingsPaths } from '../../config/settings/run-texts.ts';
import { nameSettingPlace } from '../../config/settings/settings.ts';
import type { FoundSetting } from '../../core/settings/effective.ts';
import type { FilesRead } from './checkout-files.ts';

/**
 * The settings file of another Ralph that runs read, and the inputs that it sets. `problems` are sentences with file
 * and line.
 */
export interface LeftToFile {
  readonly path: string;
  readonly settings: readonly FoundSetting[];
  readonly problems: readonly string[];
}

/** The folder that `ralph init` sets up. */
const ROOT = '';

/** Returns the inputs that another Ralph's settings file in the checkout sets, or null if there is no such file. */
export function findSettingsLeftToFile(files: FilesRead): LeftToFile | null {
  const there = listSettingsPaths(ROOT).flatMap((path) => {
    const file = files.get(path);
    return file === undefined || file.kind === 'absent' ? [] : [{ path, file }];
  });
  const [first] = there;
  if (first === undefined) return null;
  const { read } = parseRunSettings(
    {},
    {
      texts: Object.fromEntries(there.flatMap(({ path, file }) => (file.kind === 'text' ? [[path, file.text]] : []))),
      unread: Object.fromEntries(
        there.flatMap(({ path, file }) => (file.kind === 'refused' ? [[path, file.why]] : [])),
      ),
    },
    ROOT,
  );
  const wrong = read.found.flatMap(({ input, text, places }) =>
    findInputProblems({ [input]: text.trim() }).map(
      ({ why }) => `${places.map(nameSettingPlace).join(' and ')} ${why}.`,
    ),
  );
  return { path: first.path, settings: read.found, problems: [...read.problems, ...wrong] };
}
