import { createHash } from 'node:crypto';
import type { GateDeps } from '../gate/deps.ts';
import type { Agent } from '../ports/agent.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { PublishDeps } from '../publish/deps.ts';
import type { RunDeps } from './deps.ts';

/** What the stages have in common, and the publisher's part; `agent` (null: none at hand) knows where the session's transcript is. */
export async function connectStages(
  { config, context, runTag, clock, log, redact, sessionFolder, connect }: RunDeps,
  { agent, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly agent: Agent | null },
): Promise<PublishDeps & Omit<GateDeps, 'repository' | 'claiming'> & Pick<LoopDeps, 'remote'>> {
  const [forge, remote, store, budget] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.budget(),
  ]);
  const exportSession = async (id: string): Promise<string | null> =>
    agent !== null && (await agent.exportSession(id, sessionFolder)) ? sessionFolder : null;
  const ports = { forge, remote, store, budget, clock, log, redact, sha256 };
  return { config, context, runTag, ...ports, exportSession, stepWithinMs };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
