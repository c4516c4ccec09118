import type { Agent } from '../ports/agent.ts';
import type { Forge } from '../ports/forge.ts';
import type { Remote } from '../ports/repository.ts';
import type { BudgetStore, StateStore } from '../ports/state.ts';
import type { PublishDeps } from '../publish/deps.ts';
import type { RunDeps } from './deps.ts';

/** What the stages have in common; each names in its own bag what it takes of it. */
interface StageDeps extends Pick<RunDeps, 'config' | 'context' | 'mark' | 'clock' | 'log' | 'redact'> {
  readonly forge: Forge;
  readonly remote: Remote;
  readonly store: StateStore;
  readonly budget: BudgetStore | null;
}

/** What the gate and the publisher need, and the loop in part; `agent` (null: none at hand) knows where the session's transcript is. */
export async function connectStages(
  { config, context, mark, clock, log, redact, sessionFolder, connect }: RunDeps,
  { agent, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly agent: Agent | null },
): Promise<StageDeps & PublishDeps> {
  const [forge, remote, store, budget] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.budget(),
  ]);
  const exportSession = async (id: string): Promise<string | null> =>
    agent !== null && (await agent.exportSession(id, sessionFolder)) ? sessionFolder : null;
  return { config, context, mark, forge, remote, store, budget, clock, log, redact, exportSession, stepWithinMs };
}
