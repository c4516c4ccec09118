import { z } from 'zod';

const command = z.string().nullable().describe('Null: none was found.');

/** The output of `ralph init --json`. */
export const setupReportSchema = z.object({
  written: z.boolean().describe('False: this is what would happen.'),
  project: z.object({
    stacks: z.array(
      z.object({
        language: z.string(),
        folder: z.string().describe('Empty: the whole repository.'),
        packageManager: z.string(),
        frameworks: z.array(z.string()),
        install: command,
        build: command,
        test: command,
        lint: command,
      }),
    ),
    layout: z.enum(['single', 'packages', 'services']),
    defaultBranch: z.string().nullable(),
    taskFiles: z.array(z.string()).describe('Plans and prd files that runs read.'),
    ralphWorkflow: z
      .string()
      .describe('The workflow that uses the action; init writes none where another file already does.'),
    workflows: z.array(z.string()).describe('Other workflows of the repository.'),
    ci: z
      .object({
        from: z.array(z.string()).describe('Jobs that set-up steps and verify come from; empty: none has a test.'),
        offered: z.array(z.string()).describe('Other checks of CI, which could be added to verify.'),
        unread: z.array(z.object({ what: z.string(), why: z.string() })).describe('Lines that are not proposed.'),
      })
      .describe('Facts from the workflows that check pull requests and pushes.'),
    packages: z.array(z.object({ folder: z.string(), name: z.string() })).describe('Packages of a workspace.'),
    otherRalphs: z.array(z.object({ name: z.string(), path: z.string(), advice: z.string() })),
  }),
  leftToFile: z
    .object({ path: z.string(), inputs: z.array(z.string()) })
    .nullable()
    .describe('The settings file of another Ralph, and the inputs that it sets: the workflow leaves them to it.'),
  files: z.array(
    z.object({
      path: z.string(),
      change: z
        .enum(['create', 'extend', 'shorten', 'delete', 'same', 'absent', 'left'])
        .describe('`left`: the file exists and differs, so it stays as it is. `same`, `absent`: nothing to do.'),
      text: z
        .string()
        .nullable()
        .describe('The file afterwards; for `left` what init would have written; null: it is gone, or stays.'),
    }),
  ),
  byHand: z
    .array(z.object({ what: z.string(), url: z.string().nullable() }))
    .describe('Steps left to a person; `url` is the page for the step, null without a remote on a GitHub server.'),
  maxCostUsd: z.object({ run: z.number().describe('0: no limit.'), day: z.number().describe('0: no limit.') }),
});

export type SetupReport = z.infer<typeof setupReportSchema>;
