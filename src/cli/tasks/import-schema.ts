import { z } from 'zod';
import { addReportOptions } from './add-schema.ts';

const title = z.string();
const [added, there, refused] = addReportOptions;

/** What `ralph import --json` prints. */
const importReportSchema = z.object({
  tasks: z.array(
    z.discriminatedUnion('kind', [
      added.extend({ title }),
      there.extend({ title }),
      refused.extend({ title }),
      z.object({ kind: z.literal('found'), title }).describe('With --dry-run: nothing was written.'),
    ]),
  ),
  problems: z.array(z.string()).describe('What was left out, as sentences.'),
});

export type ImportReport = z.infer<typeof importReportSchema>;
export type ImportedTask = ImportReport['tasks'][number];

/** The published JSON Schema of `ImportReport`. */
export function importJsonSchema(): object {
  return { title: 'ralph import --json', ...z.toJSONSchema(importReportSchema) };
}
