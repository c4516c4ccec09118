import { z } from 'zod';
import type { ObjectId } from '../core/evidence.ts';
import { foundSettingSchema, type FoundSetting } from '../core/settings/found-setting.ts';
import type { TaskId } from '../core/tasks/ids.ts';
import { tryJson } from '../core/text/try-json.ts';
import type { Intake } from './intake.ts';

export type WorkIntake = Extract<Intake, { readonly kind: 'work' }>;

/** What the gate's job hands over to the jobs of the loop and of publishing. Whoever takes it knows its hash from the gate itself. */
export interface HandedIntake {
  readonly version: 1;
  readonly kind: 'intake';
  /** Under which the lane is claimed and its use reserved. */
  readonly runTag: string;
  readonly intake: WorkIntake;
  /** Tip of the lane's branch, which the gate has made where there was none; null: there is none yet. */
  readonly remoteHead: ObjectId | null;
  /** The task whose issue says that the run is at work; null: none does. */
  readonly shown: TaskId | null;
  /** The transcript of the lane's session, encrypted, in a file beside it; null: there is none. */
  readonly session: HandedFile | null;
  /** What the environment of the gate's job and the base branch's settings file say in place of inputs. */
  readonly settings: readonly FoundSetting[];
}

export const handedFileSchema = z.object({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().min(0),
});

/** A file beside a parcel that names it. */
export type HandedFile = z.infer<typeof handedFileSchema>;

const headSchema = z.object({
  version: z.number(),
  kind: z.literal('intake'),
  runTag: z.string(),
  intake: z.object({}),
  settings: z.array(foundSettingSchema).default([]),
});

/** Reads a parcel whose hash was checked, so that it is what a gate has written; null: not one of this version. */
export function parseHandedIntake(text: string): HandedIntake | null {
  const json = tryJson(text);
  const head = headSchema.safeParse(json);
  return head.success && head.data.version === 1 ? { ...(json as HandedIntake), settings: head.data.settings } : null;
}
