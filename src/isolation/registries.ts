import { sortUniqueHosts, type HostRule } from '../core/isolation/hosts.ts';
import { packageManagers, parseRegistryHosts, type PackageManager } from '../core/isolation/registries.ts';

interface Asking {
  /**
   * Runs a program and returns its output, or null if it is missing, fails or takes too long. It must run outside the
   * workspace: package managers read settings of the folder that they start in, and some run code that these settings
   * name.
   */
  readonly run: (file: string, args: readonly string[]) => Promise<string | null>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A shell script that prints those of its arguments that are programs on PATH, one per line. */
const WHICH = 'for name; do command -v "$name" >/dev/null 2>&1 && echo "$name"; done; true';

/**
 * Returns the public hosts of the registries that the machine's package managers use, sorted and without duplicates;
 * never throws.
 */
export async function detectRegistryHosts({ run, environment }: Asking): Promise<readonly HostRule[]> {
  const ask = async (file: string, args: readonly string[]): Promise<string | null> => {
    try {
      return await run(file, args);
    } catch {
      return null;
    }
  };
  const names = [...new Set(packageManagers.flatMap(({ programs }) => programs))];
  const listed = ask('sh', ['-c', WHICH, 'sh', ...names]);
  const found = async (manager: PackageManager): Promise<readonly HostRule[]> => {
    const [file, ...args] = manager.question ?? [];
    const [answer, programs] = await Promise.all([file === undefined ? null : ask(file, args), listed]);
    const there = new Set(programs?.split('\n'));
    const isThere = answer !== null || manager.programs.some((name) => there.has(name));
    return parseRegistryHosts(manager, { isThere, answer }, environment);
  };
  return sortUniqueHosts((await Promise.all(packageManagers.map(found))).flat());
}
