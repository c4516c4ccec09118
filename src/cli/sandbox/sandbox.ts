import { resolve } from 'node:path';
import { PACKAGED_AGENTS } from '../../core/agent-names.ts';
import { parseArguments } from '../arguments.ts';
import { type CliCommand, type CommandEnd, COMMAND_LIST, type Terminal, UsageError } from '../command.ts';

/** The end of the sandbox; `missing` gives the reason why it cannot be started, as a sentence. */
type SandboxEnd =
  | { readonly kind: 'ended'; readonly code: number }
  | { readonly kind: 'missing'; readonly why: string };

/** Starts the sandbox with these arguments, in a separate folder. */
export type PlaySandbox = (args: readonly string[], terminal: Pick<Terminal, 'out' | 'error'>) => Promise<SandboxEnd>;

const HELP = `Usage: ralph sandbox --repo DIR [--commands] [--out FOLDER]
       ralph sandbox [--agent NAME [--scripted-model]] [--out FOLDER]

Tries the workflow of your own repository on this machine, against stand-ins of
GitHub: a scheduled run, a labelled issue and "/ralph status", with a scripted
agent. It needs no account and no key, and costs nothing. It works on a copy of
HEAD, with uncommitted files of ralph init, and removes the copy at the end.
Without --repo it plays the product on a sample project, and leaves the pull
requests, comments and summaries to look at.

It needs Node 24 and the npm packages with which this package is developed,
about 550 MB on disk, fetched once: into the clone if you started it from one,
or with npx into a clone of the same commit in ~/.cache/ralph-action.

  --repo DIR        a checkout with a workflow that uses ralph-action
  --commands        with --repo: also runs the steps of your workflow and its
                    verify, on this machine
  --out FOLDER      where to put the results (default: nowhere with --repo,
                    otherwise sandbox-output)
  --agent NAME      without --repo: scripted (default), or the real CLI of an
                    agent, installed from npm, with your key from the
                    environment, which costs money:
                    ${PACKAGED_AGENTS.join(', ')}
  --scripted-model  with --agent NAME: a scripted model behind the real CLI,
                    without a key

Exit codes: 0 everything went well, 1 something failed, 2 wrong arguments or
nothing to try.
`;

/** Creates `ralph sandbox`, which starts the stand-ins as a separate program. */
export function createSandboxCommand(play: PlaySandbox): CliCommand {
  return { ...COMMAND_LIST.sandbox, help: HELP, run: (args, terminal) => sandbox(args, terminal, play) };
}

async function sandbox(args: readonly string[], terminal: Terminal, play: PlaySandbox): Promise<CommandEnd> {
  const given = parseArguments(
    args,
    { repo: 'value', commands: 'flag', out: 'value', agent: 'value', 'scripted-model': 'flag' },
    { name: 'an argument', min: 0, max: 0 },
  );
  if (given.problems.length > 0) throw new UsageError(given.problems);
  // The sandbox starts in another folder, so it needs absolute paths.
  const folders = ['repo', 'out'].flatMap((name) => given.values(name).map((path) => `--${name}=${resolve(path)}`));
  const flags = ['commands', 'scripted-model'].flatMap((name) => (given.has(name) ? [`--${name}`] : []));
  const agent = given.values('agent').map((kind) => `--agent=${kind}`);
  const end = await play([...folders, ...agent, ...flags], terminal);
  if (end.kind === 'missing') throw new UsageError([end.why]);
  // The sandbox has already printed the problems of the arguments, so list none here.
  if (end.code === 2) throw new UsageError([]);
  return end.code === 0 ? 'done' : 'different';
}
