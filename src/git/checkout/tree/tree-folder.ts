import { basename, join } from 'node:path';
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts';

/**
 * `work`: the agent works in it until the run ends. `clean`: one verification runs in it, which the agent cannot reach.
 */
export type TreeKind = 'work' | 'clean';

/** Returns the folder of a tree: in a run's work folder, or where the sandbox's user can reach it. */
export function locateTreeFolder(
  kind: TreeKind,
  options: {
    readonly top: string;
    readonly workFolder: string;
    readonly agentSandbox: Pick<AgentSandbox, 'folders'> | null;
  },
): string {
  const { top, workFolder, agentSandbox } = options;
  return join(agentSandbox?.folders.trees ?? join(workFolder, 'trees'), kind, basename(top));
}
