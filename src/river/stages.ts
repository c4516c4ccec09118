import { createHash } from 'node:crypto';
import type { GateDeps } from '../gate/deps.ts';
import { findStart } from '../gate/lane/start.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { requesterOf } from '../gate/event/intent.ts';
import type { Remote } from '../ports/repository.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { PublishDeps } from '../publish/deps.ts';
import { sessionExport, type Exporters } from './agents.ts';
import type { RunDeps } from './deps.ts';

/** What the stages have in common, and the publisher's part. */
export type Stages = PublishDeps &
  Pick<LoopDeps, 'seal' | 'store'> &
  Omit<GateDeps, 'repository' | 'examine' | 'readLeftCircuit' | 'claiming'> & { readonly remote: Remote };

/** `exporters` (null: none at hand) know where the transcripts of conversations are. */
export async function connectStages(
  { config, context, runTag, clock, log, redact, connect, variables }: RunDeps,
  { exporters, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly exporters: Exporters | null },
): Promise<Stages> {
  const [forge, remote, store, seal] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.seal(),
  ]);
  const first = connect.agents[0].name;
  const exportSessions = exporters === null ? nothing : sessionExport({ exporters, first, seal, store, log });
  const asked = requesterOf(meaningOfRun({ context, config }));
  const ports = { forge, remote, store, clock, log, redact, sha256, seal };
  const begins: GateDeps['findStart'] = (lane) => findStart({ forge, ...lane });
  return {
    ...{ config, context, asked, runTag, variables, ...ports },
    findStart: begins,
    exportSessions,
    stepWithinMs,
    unsaved: null,
  };
}

function nothing(): Promise<null> {
  return Promise.resolve(null);
}

/** Hash of a text, in hex digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
