/** The sources of tasks that are files of the repository. */
export const fileSources = ['plan', 'prd', 'beads'] as const;
export type FileSource = (typeof fileSources)[number];

/** Where a task can come from. */
export const taskSourceKinds = ['issue', ...fileSources] as const;

/** The sources as people list them. */
export const taskSourceNames = ['issues', ...fileSources] as const;
export type TaskSourceName = (typeof taskSourceNames)[number];
