import { z } from 'zod';
import { doctorChecks, type Finding, findingKinds } from '../../core/doctor/finding.ts';
import type { ReportedSettings } from '../../core/settings/effective.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { describeSetUp, summarizeSetUp } from '../../report/sentences/set-up.ts';
import { answeredSettingsSchema, parseArguments, toPlainLine, buildPrintedSettings } from '../arguments.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';

/** A checkout to examine. `remote` is null for origin; `verify` means that the verify commands also run. */
export interface AskedExamination {
  readonly folder: string;
  readonly remote: string | null;
  readonly verify: boolean;
  readonly log: (line: string) => void;
}

/**
 * The result of an examination. `repository` is a name such as `acme/shop`, or null if GitHub was not asked. `missing`
 * means that there is no checkout; `why` is a sentence.
 */
type Examination =
  | {
      readonly kind: 'examined';
      readonly repository: string | null;
      readonly findings: readonly Finding[];
      readonly settings: readonly ReportedSettings[];
    }
  | { readonly kind: 'missing'; readonly why: string };

/** Examines a checkout, this machine and the repository on GitHub, and changes nothing. */
export type ExamineCheckout = (asked: AskedExamination) => Promise<Examination>;

/** The output of `ralph doctor --json`. A change that breaks readers needs a new major version. */
export const doctorSchema = z.object({
  at: z.iso.datetime(),
  repository: z.string().nullable().describe('`owner/name`; null: GitHub was not asked.'),
  findings: z.array(
    z.object({
      check: z.enum(doctorChecks),
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

type Diagnosis = z.infer<typeof doctorSchema>;

const MAX_LINE_CHARS = 1_000;

const HELP = `Usage: ralph doctor [--dir FOLDER] [--remote NAME] [--verify] [--json]

Lists what would stop a run: the workflow file (inputs, triggers, permissions,
checkout), the committed pipeline, the settings of the repository (pull requests
of GitHub Actions, secret, label, disabled workflow, rulesets, branch
protection), the agent, its key and its tool rules, verify, and today's cost.
Each line is ✓ fine, ⚠ could be better or was not checked, or ✗ a run fails, and
says how to fix it: a page to open, lines to paste, or a command. It changes
nothing.

GitHub is queried with GITHUB_TOKEN, GH_TOKEN, or the login of the gh command.
What that token cannot see is not checked. If ANTHROPIC_API_KEY is set, one free
request tries the key. The comment /ralph doctor does the same in a run.

  --dir FOLDER   the checkout (default: the current folder)
  --remote NAME  the remote that names the repository (default: origin)
  --verify       also runs the verify commands, in a temporary clone of HEAD,
                 for at most 15 minutes
  --json         prints one JSON object instead, described by
                 schemas/ralph-doctor.schema.json

Exit codes: 0 there is no ✗, 1 there is one, 2 wrong arguments or no checkout.
`;

/** Creates `ralph doctor`, which lists what would stop a run and how to fix it. */
export function createDoctorCommand(examine: ExamineCheckout): CliCommand {
  return { ...COMMAND_LIST.doctor, help: HELP, run: (args, terminal) => diagnose(args, terminal, examine) };
}

async function diagnose(args: readonly string[], terminal: Terminal, examine: ExamineCheckout): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { dir: 'value', remote: 'value', verify: 'flag', json: 'flag' },
    { name: 'FOLDER', min: 0, max: 0 },
  );
  if (given.problems.length > 0) throw new UsageError(given.problems);
  const [folder = '.'] = given.values('dir');
  const [remote = null] = given.values('remote');
  const examined = await examine({
    folder,
    remote,
    verify: given.has('verify'),
    log: (line) => {
      terminal.error(`${toPlainLine(line, 300)}\n`);
    },
  });
  if (examined.kind === 'missing') throw new UsageError([examined.why]);
  const diagnosis: Diagnosis = {
    at: new Date(terminal.now()).toISOString(),
    repository: examined.repository,
    findings: examined.findings.map(({ remedy, ...found }) => ({ ...found, fix: remedy })),
    settings: examined.settings.map(buildPrintedSettings),
  };
  const isJson = given.has('json');
  const clean = mapTexts(diagnosis, (text) =>
    text
      .split('\n')
      .map((line) => line.replace(/\S.*$/, (words) => toPlainLine(words, isJson ? Infinity : MAX_LINE_CHARS)))
      .join('\n'),
  );
  terminal.out(isJson ? `${JSON.stringify(clean, null, 2)}\n` : renderDiagnosis(clean));
  return clean.findings.some(({ kind }) => kind === 'problem') ? 'different' : 'done';
}

/** Renders the diagnosis as text: a line for each check, followed by its fix. */
function renderDiagnosis({ repository, findings }: Diagnosis): string {
  return [
    ...(repository === null ? [] : [repository, '']),
    ...describeSetUp(findings.map(({ fix, ...found }) => ({ ...found, remedy: fix }))),
    '',
    summarizeSetUp(findings),
    '',
  ].join('\n');
}
