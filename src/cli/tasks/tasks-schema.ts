import { z } from 'zod';
import { taskSourceKinds } from '../../core/tasks/task-sources.ts';
import { taskStates } from '../../core/tasks/task.ts';

const taskRow = z.object({
  id: z.string(),
  title: z.string(),
  source: z.enum(taskSourceKinds),
  state: z
    .enum(taskStates)
    .describe('As the file has it, `todo` for an issue; `ralph status` says what runs made of it.'),
  priority: z.int().positive().describe('1 is highest.'),
  optional: z.boolean().describe('Never blocks completion.'),
  dependsOn: z.array(z.string()).describe('Ids; those of issues are `issue-N`.'),
});

const problem = z.object({
  file: z
    .string()
    .describe('Relative to the checkout; `issues` for those on GitHub, `settings` for what runs are set to.'),
  line: z.int().positive().nullable().describe('From 1; null: of the file as a whole.'),
  message: z.string(),
});

/** What `ralph tasks --json` prints. A change that breaks readers needs a new major version. */
const tasksReportSchema = z.object({
  tasks: z.array(taskRow).describe('In the order in which they would be worked.'),
  problems: z.array(problem).describe('What a person should correct.'),
});

export type TasksReport = z.infer<typeof tasksReportSchema>;

/** The published JSON Schema of `TasksReport`. */
export function tasksJsonSchema(): object {
  return { title: 'ralph tasks --json', ...z.toJSONSchema(tasksReportSchema) };
}
