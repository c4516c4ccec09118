import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** The files by which a step tells the runner what holds for the steps after it. The agent's user can write them as well. */
export interface RunnerFiles {
  /** Makes them hold what we wrote and nothing else; names of the variables whose files did not. */
  readonly putBack: () => readonly string[];
  /** Does a write of ours on files that hold nothing else. */
  readonly write: (act: () => void) => void;
}

const NAMES = ['GITHUB_ENV', 'GITHUB_PATH', 'GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_STEP_SUMMARY'] as const;
/** The runner takes no larger one. */
const MAX_BYTES = 16 * 1024 * 1024;

/** `onForeign` hears of each file that held something else. What the files hold now counts as ours. */
export function createRunnerFiles(
  environment: Readonly<Record<string, string | undefined>>,
  onForeign: (name: string) => void,
): RunnerFiles {
  const files = NAMES.flatMap((name) => {
    const path = environment[name] ?? '';
    return path === '' ? [] : [{ name, path, ours: contentOf(path) }];
  });

  function putBack(): readonly string[] {
    const foreign = files.filter(({ path, ours }) => !isSame(contentOf(path), ours));
    for (const { name, path, ours } of foreign) {
      replace(path, ours);
      onForeign(name);
    }
    return foreign.map(({ name }) => name);
  }

  return {
    putBack,
    write: (act) => {
      putBack();
      try {
        act();
      } finally {
        for (const file of files) file.ours = contentOf(file.path);
      }
    },
  };
}

/** Never opens anything but a file, and waits for nobody; null: no file of a sensible size is there. */
function contentOf(path: string): Buffer | null {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(file);
      return stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(file) : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

/** A new file in the old one's place: who still has the old one open writes to nobody. */
function replace(path: string, content: Buffer | null): void {
  if (content === null) {
    rmSync(path, { recursive: true, force: true });
    return;
  }
  const fresh = `${path}.${randomUUID()}`;
  writeFileSync(fresh, content, { mode: 0o644, flag: 'wx' });
  try {
    renameSync(fresh, path);
  } catch {
    // A folder is in its place.
    rmSync(path, { recursive: true, force: true });
    renameSync(fresh, path);
  }
}
