import type { AnsweredSettings } from '../../core/settings/effective.ts';

/** The settings with which the runs of a checkout's workflows work, or `ralph run` where there are none. `folder`: its top. */
export type ReadEffective = (folder: string) => Promise<readonly AnsweredSettings[]>;
