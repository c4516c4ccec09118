import { z } from 'zod';
import { QUEUE, type LaneId } from '../../core/tasks/ids.ts';
import {
  agentProgressSchema,
  laneOfStatus,
  otherRunSchema,
  runStatusSchema,
} from '../../core/local/status-document.ts';
import type { Immutable } from '../../core/policy.ts';
import { laneReportSchema } from '../lane/lane-schema.ts';
import { overviewSchema } from '../../report/overview/lane-waits.ts';

const instant = z.iso.datetime();

const run = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ours'),
    status: runStatusSchema.describe('The key `run` of `.ralph/status.json`.'),
    isAlive: z.boolean().describe('Whether its process is still there.'),
  }),
  z.object({
    kind: z.literal('other').describe('A run of another Ralph, as far as its files describe it.'),
    status: otherRunSchema,
    circuit: z.enum(['closed', 'half-open', 'open']).nullable(),
  }),
  z.object({ kind: z.literal('none') }),
  z.object({ kind: z.literal('unreadable'), why: z.string() }),
]);

const local = z.object({
  folder: z.string().describe('The folder that holds `.ralph/`.'),
  run,
  beside: z
    .array(z.object({ status: runStatusSchema, isAlive: z.boolean() }))
    .describe('The other branches that the same run works on at once; empty: it works on one branch.'),
  agent: agentProgressSchema.nullable().describe('`.ralph/progress.json`; null: it says nothing.'),
  output: z
    .object({ file: z.string(), at: instant.describe('When it was written last.'), lines: z.array(z.string()) })
    .nullable()
    .describe('The last 20 lines of the newest file in `.ralph/logs/`.'),
  state: laneReportSchema
    .nullable()
    .describe('What `.ralph/state/` keeps of the same run and its branch; null: the folder keeps nothing.'),
});

/**
 * The output of `ralph monitor --json`, and the content of every picture. A change that breaks readers needs a new
 * major version.
 */
export const pictureSchema = z.object({
  at: instant,
  name: z
    .string()
    .describe(
      'The folder of the checkout and, within it, the one that the local run is for; or `owner/name` when GitHub was asked.',
    ),
  shows: z.enum(['local', 'all']).describe('The local run, or all branches.'),
  local: local.nullable().describe('null: all branches are shown.'),
  all: overviewSchema.nullable().describe('null: the local run is shown, or nothing is read yet.'),
  problems: z.array(z.string()).describe('What could not be read, as sentences.'),
});

export type Picture = Immutable<z.infer<typeof pictureSchema>>;
export type LocalPicture = NonNullable<Picture['local']>;

/** Returns the lane that the local run works on; the queue for a run of another Ralph, or if it is unknown. */
export function laneOfLocalRun(run: LocalPicture['run']): LaneId {
  return run.kind === 'ours' ? laneOfStatus(run.status) : QUEUE;
}
