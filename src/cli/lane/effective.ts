import type { AnsweredSettings } from '../../core/settings/effective.ts';

/** The settings with which the runs of a checkout's workflows work, as far as they differ from the defaults. `folder`: its top. */
export type ReadEffective = (folder: string) => Promise<readonly AnsweredSettings[]>;
