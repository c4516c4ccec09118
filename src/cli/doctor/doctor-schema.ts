import { z } from 'zod';
import { checks, findingKinds } from '../../core/doctor/finding.ts';
import { answeredSettingsSchema } from '../settings-schema.ts';

/** What `ralph doctor --json` prints. A change that breaks readers needs a new major version. */
const doctorSchema = z.object({
  at: z.iso.datetime(),
  repository: z.string().nullable().describe('`owner/name`; null: GitHub was not asked.'),
  findings: z.array(
    z.object({
      check: z.enum(checks),
      kind: z
        .enum(findingKinds)
        .describe(
          '`ok`: ✓. `warning`: ⚠, runs work, but not as well as they could. `problem`: ✗, runs fail. `unchecked`: ⚠, it could not be checked from here.',
        ),
      where: z.string().nullable().describe('The workflow file; null: the repository or this machine.'),
      says: z.string(),
      fix: z
        .object({
          text: z.string(),
          paste: z.string().nullable().describe('A command, or lines for the workflow.'),
          link: z.string().nullable().describe('The page where it is done.'),
        })
        .nullable(),
    }),
  ),
  settings: z.array(answeredSettingsSchema).describe('The settings of each workflow.'),
});

export type Diagnosis = z.infer<typeof doctorSchema>;

/** The published JSON Schema of `Diagnosis`. */
export function doctorJsonSchema(): object {
  return { title: 'ralph doctor --json', ...z.toJSONSchema(doctorSchema) };
}
