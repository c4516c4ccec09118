import { z } from 'zod';
import { taskStates } from '../../core/tasks/task.ts';

const position = { file: z.string().describe('Relative to the checkout.'), line: z.int().positive() };

/** What can come of adding one task. */
export const addReportOptions = [
  z.object({ kind: z.literal('added'), id: z.string(), ...position }),
  z
    .object({ kind: z.literal('there'), id: z.string(), ...position, state: z.enum(taskStates) })
    .describe('A task of this title is there already: nothing was written.'),
  z
    .object({
      kind: z.literal('refused'),
      file: position.file,
      line: z.int().positive().nullable(),
      column: z.int().positive().nullable(),
      message: z.string(),
    })
    .describe('The file cannot be added to: nothing was written.'),
] as const;

/** What `ralph add --json` prints. */
const addReportSchema = z.discriminatedUnion('kind', addReportOptions);

export type AddReport = z.infer<typeof addReportSchema>;

/** The published JSON Schema of `AddReport`. */
export function addJsonSchema(): object {
  return { title: 'ralph add --json', ...z.toJSONSchema(addReportSchema) };
}
