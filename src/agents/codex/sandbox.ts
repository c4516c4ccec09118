import { join } from 'node:path';
import { UserError } from '../../errors.ts';
import { describeCollected } from '../../processes/collect-output.ts';
import { sentence } from '../../core/text/sentence.ts';
import type { CliCall, CliPlace } from '../cli/cli.ts';
import { SANDBOX_PROBE } from './command-line.ts';
import { mapRules, type CodexSandbox } from './tool-rules.ts';

/** The sandbox of a call by its rules; null: Codex can have none here, and the room around it is the limit. Throws UserError where that is no limit either. */
export async function sandboxFor(
  { allowedTools }: Pick<CliCall, 'allowedTools'>,
  environment: CliCall['environment'],
  place: Omit<CliPlace, 'inbox'>,
): Promise<CodexSandbox | null> {
  const { configFolder, workFolder, alsoFolder, isolated, run } = place;
  const { own } = mapRules(allowedTools, { gitFolder: join(alsoFolder ?? workFolder, '.git') });
  const problem = await (probes.get(configFolder) ?? remember(configFolder, probe(environment, run)));
  if (problem === null) return own;
  if (isolated && own.mode === 'workspace-write') return null;
  throw new UserError('configuration', problemText(problem, isolated));
}

/** What is wrong with the sandbox here, found once for each run, whose config folder is its own. */
const probes = new Map<string, Promise<string | null>>();

function remember(configFolder: string, probing: Promise<string | null>): Promise<string | null> {
  probes.set(configFolder, probing);
  return probing;
}

async function probe(environment: CliCall['environment'], run: CliPlace['run']): Promise<string | null> {
  const { end, stderr } = await run(SANDBOX_PROBE, environment);
  // Nothing is asked where the call is only shown.
  if (end.kind === 'cancelled' || (end.kind === 'exited' && end.code === 0)) return null;
  return `it ${sentence(describeCollected(end))} ${stderr.toString().trim().slice(-300)}`.trim();
}

function problemText(problem: string, isolated: boolean): string {
  const what = `Codex cannot bound its commands on this machine: its sandbox does not start (${problem}).`;
  return isolated
    ? `${what} Where the agent may only read, the isolation of the action cannot take its place. Run \`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\` in a step before this one, or allow the agent to edit files.`
    : `${what} Run \`sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\` in a step before this one, or set \`isolation: user\`, which bounds the agent in its place.`;
}
