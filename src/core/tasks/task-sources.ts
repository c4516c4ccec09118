/** The sources of tasks that are files of the repository. */
export const fileSources = ['plan', 'prd', 'beads'] as const;
export type FileSource = (typeof fileSources)[number];

/** Whether tasks of the source stand as entries in files. */
export function isFileSource(source: string): source is FileSource {
  return fileSources.some((one) => one === source);
}

/** Where a task can come from; `prompt`: the user's prompt itself, which has no list. */
export const taskSourceKinds = ['issue', ...fileSources, 'prompt'] as const;

/** The sources as people list them. */
export const taskSourceNames = ['issues', ...fileSources, 'prompt'] as const;
export type TaskSourceName = (typeof taskSourceNames)[number];
