import { mapTexts } from '../../core/text/redact.ts';
import { parseArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { plainLine } from '../plain-line.ts';
import type { Diagnosis } from './doctor-schema.ts';
import { renderDiagnosis } from './doctor-text.ts';
import type { Examine } from './examine.ts';
import { LISTED } from '../listing.ts';
import { printedSettings } from '../settings-schema.ts';

const MAX_LINE_CHARS = 1_000;

const HELP = `Usage: ralph doctor [--dir FOLDER] [--remote NAME] [--verify] [--json]

Says what would stop a run: the workflow file (inputs, triggers, permissions, checkout), the pipeline as it is committed,
the settings of the repository (pull requests of GitHub Actions, secret, label, disabled workflow, rulesets, branch
protection), the agent, its key and its tool rules, verify, and today's cost. Each line is ✓ fine, ⚠ not as good as it could be or not checked, or
✗ a run fails, with what to do about it: a page to open, lines to paste, or a command. It changes nothing.

GitHub is asked with GITHUB_TOKEN, GH_TOKEN, or the login of the gh command. What that token cannot see is not
checked. If ANTHROPIC_API_KEY is set, one free request tries the key. The comment /ralph doctor does the same in a run.

  --dir FOLDER   the checkout (default: the current folder)
  --remote NAME  the remote that names the repository (default: origin)
  --verify       also runs the verify commands, in a temporary clone of HEAD, for at most 15 minutes
  --json         prints one JSON object instead, described by schemas/ralph-doctor.schema.json

Exit codes: 0 there is no ✗, 1 there is one, 2 wrong arguments or no checkout.
`;

/** `ralph doctor`: what would stop a run, and what to do about it. */
export function createDoctorCommand(examine: Examine): Command {
  return { ...LISTED.doctor, help: HELP, run: (args, terminal) => diagnose(args, terminal, examine) };
}

async function diagnose(args: readonly string[], terminal: Terminal, examine: Examine): Promise<CommandEnd> {
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
      terminal.error(`${plainLine(line, 300)}\n`);
    },
  });
  if (examined.kind === 'missing') throw new UsageError([examined.why]);
  const diagnosis: Diagnosis = {
    at: new Date(terminal.now()).toISOString(),
    repository: examined.repository,
    findings: examined.findings.map(({ cure, ...found }) => ({ ...found, fix: cure })),
    settings: examined.settings.map(printedSettings),
  };
  const isJson = given.has('json');
  const clean = mapTexts(diagnosis, (text) =>
    text
      .split('\n')
      .map((line) => line.replace(/\S.*$/, (words) => plainLine(words, isJson ? Infinity : MAX_LINE_CHARS)))
      .join('\n'),
  );
  terminal.out(isJson ? `${JSON.stringify(clean, null, 2)}\n` : renderDiagnosis(clean));
  return clean.findings.some(({ kind }) => kind === 'problem') ? 'different' : 'done';
}
