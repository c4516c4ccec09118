import type { PublishDeps } from '../publish/deps.ts';
import type { LoopDeps } from '../loop/deps.ts';
import type { GateDeps } from '../gate/deps.ts';
import type { Remote } from '../ports/remote.ts';
import type { RunDeps } from './deps.ts';
import { type Exporters, createSessionExport } from './agents.ts';
import { findRequester } from '../gate/event/intent.ts';
import { meaningOfRun } from '../gate/event/event-table.ts';
import { hashText, packJournal, packReceipt } from './packed-journal.ts';
import { findStart } from '../gate/lane/start.ts';
import type { LaneId } from '../core/tasks/ids.ts';
import type { ReleaseResult } from '../ports/state.ts';
import { releaseLane } from '../gate/lane/claim.ts';

/** The common dependencies of the stages, and those of the publisher. */
export type Stages = PublishDeps &
  Pick<LoopDeps, 'seal' | 'store'> &
  Omit<GateDeps, 'repository' | 'examine' | 'readLeftCircuit' | 'claiming'> & { readonly remote: Remote };

/** Connects the stages. `exporters` export the transcripts of conversations, or are null if none. */
export async function connectStages(
  { config, context, runTag, clock, log, redact, connect, variables, readJournal, keepReceipt }: RunDeps,
  { exporters, stepWithinMs }: Pick<PublishDeps, 'stepWithinMs'> & { readonly exporters: Exporters | null },
): Promise<Stages> {
  const [forge, remote, store, seal] = await Promise.all([
    connect.forge(),
    connect.remote(),
    connect.store(),
    connect.seal(),
  ]);
  const first = connect.agents[0].name;
  const exportSessions = exporters === null ? nothing : createSessionExport({ exporters, first, seal, store, log });
  const asked = findRequester(meaningOfRun({ context, config }));
  const { webhook } = connect;
  const ports = { forge, remote, store, clock, log, redact, sha256: hashText, seal, webhook };
  // The job that publishes has no journal of its own, so use the one that was handed over.
  const journal =
    config.handoff.phase === 'publish'
      ? async () => decodeText(await (await connect.handoff(null)).read('loop/journal.jsonl'))
      : () => Promise.resolve(readJournal());
  const begins: GateDeps['findStart'] = (lane) => findStart({ forge, remote, ...lane });
  return {
    ...{ config, context, asked, runTag, variables, ...ports },
    findStart: begins,
    exportSessions,
    packedJournal: async (lastHash) => packJournal(await journal(), { lastHash, redact }),
    keepReceipt: config.receipts
      ? async (run) => {
          keepReceipt(await packReceipt(run));
        }
      : () => Promise.resolve(),
    stepWithinMs,
    unsaved: null,
  };
}

function decodeText(content: Uint8Array | null): string | null {
  return content === null ? null : Buffer.from(content).toString();
}

function nothing(): Promise<null> {
  return Promise.resolve(null);
}

/**
 * Releases a lane. The reservation of a run that never began is released as well. That of a run that worked is booked
 * as the usage of its calls if those could not be counted.
 */
export async function giveBackLane(
  { connect, ...run }: RunDeps,
  lane: LaneId,
  what: 'claim' | 'claim-and-reservation',
): Promise<ReleaseResult> {
  const store = await connect.store();
  return releaseLane({ ...run, store }, lane, what === 'claim-and-reservation');
}
