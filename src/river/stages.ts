import { createHash } from 'node:crypto';
import type { GateDeps } from '../gate/deps.ts';
import { findStart } from '../gate/lane/start.ts';
import { parseIntent } from '../gate/event/events.ts';
import type { Agent } from '../ports/agent.ts';
import type { Log } from '../ports/machine.ts';
import type { Remote } from '../ports/repository.ts';
import type { Seal } from '../ports/state.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { askedOf } from './asked.ts';
import type { RunDeps } from './deps.ts';

/** What the stages have in common, and the publisher's part. */
export type Stages = PublishDeps &
  Pick<LoopDeps, 'seal' | 'store'> &
  Omit<GateDeps, 'repository' | 'examine' | 'readLeftCircuit' | 'claiming'> & { readonly remote: Remote };

/** `agent` (null: none at hand) knows where the session's transcript is. */
export async function connectStages(
  { config, context, runTag, clock, log, redact, connect, variables }: RunDeps,
  { agent, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly agent: Agent | null },
): Promise<Stages> {
  const [forge, remote, store, budget, seal] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.budget(),
    connect.seal(),
  ]);
  const exportSession = agent === null ? nothing : sessionExport({ agent, seal, log });
  const asked = askedOf(parseIntent(context.event, config));
  const ports = { forge, remote, store, budget, clock, log, redact, sha256, seal };
  const begins: GateDeps['findStart'] = (lane) => findStart({ forge, ...lane });
  return {
    ...{ config, context, asked, runTag, variables, ...ports },
    findStart: begins,
    exportSession,
    stepWithinMs,
    unsaved: null,
  };
}

/** How a session's transcript gets from the agent to where it is stored: encrypted. */
export function sessionExport({
  agent,
  seal,
  log,
}: {
  readonly agent: Pick<Agent, 'exportSession'>;
  readonly seal: Seal;
  readonly log: Log;
}): PublishDeps['exportSession'] {
  return async (of) => {
    const content = await agent.exportSession(of.sessionId);
    if (content === null) return null;
    const transcript = await seal.close(content, of);
    if (transcript === null)
      log.info('session: its transcript is not kept (there is no key of the agent to encrypt it with)');
    return transcript;
  };
}

function nothing(): Promise<null> {
  return Promise.resolve(null);
}

/** Hash of a text, in hex digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
