import { READ_AGENTS, type ReadAgent } from '../../core/agent-names.ts';
import { printedAnalysis } from '../../core/analysis/analysis.ts';
import { z } from 'zod';
import { analyze } from '../../core/analysis/analyze.ts';
import { KNOWN_SIGNALS } from '../../core/analysis/done-signals.ts';
import type { TranscriptReader } from '../../core/analysis/transcript.ts';
import { nearest } from '../../core/text/nearest.ts';
import { renderAnalysis } from './analysis-text.ts';
import { parseArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { openInput, reasonOf } from '../input.ts';
import { LISTED } from '../listing.ts';

const HELP = `Usage: ralph analyze [FILE|-] [--agent NAME] [--json] [--now ISO]

Reads what an agent printed in one call (FILE; stdin for - or without FILE) and shows what the loop reads from it:
its status block, errors, denials, usage limit and usage.

  --agent NAME  the agent that printed it: ${READ_AGENTS.join(', ')} (default: claude)
  --json        prints one JSON object instead, described by schemas/ralph-analysis.schema.json
  --now ISO     the instant from which texts such as "resets 5pm (UTC)" are understood, for example
                2026-11-21T12:00:00Z (default: now, by this machine's clock)

Exit codes: 0 whenever it printed an answer, 1 if reading failed halfway, 2 for a missing file or wrong arguments.
`;

/** Opens a reader of what the agent prints; `now` (ms) fixes the clock for texts such as `resets 5pm`. */
export type OpenReader = (agent: ReadAgent, now: number) => Promise<TranscriptReader>;

/** `ralph analyze`: one agent output → its analysis. */
export function createAnalyzeCommand(openReader: OpenReader): Command {
  return { ...LISTED.analyze, help: HELP, run: (args, terminal) => analyzeOutput(openReader, args, terminal) };
}

const instant = z.iso.datetime({ offset: true });

async function analyzeOutput(openReader: OpenReader, args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(args, { agent: 'value', json: 'flag', now: 'value' }, { name: 'FILE', min: 0, max: 1 });
  const [now] = given.values('now');
  const [agentName = 'claude'] = given.values('agent');
  const agent = READ_AGENTS.find((known) => known === agentName);
  const name = given.positionals[0] ?? '-';
  const input = await openInput(name, terminal);
  const problems = [
    ...given.problems,
    ...(agent === undefined ? [unknownAgent(agentName)] : []),
    ...(now === undefined || instant.safeParse(now).success
      ? []
      : [`--now: ${JSON.stringify(now)} is not an ISO instant such as 2026-11-21T12:00:00Z.`]),
    ...(input.kind === 'missing' ? [input.why] : []),
  ];
  if (problems.length > 0 || agent === undefined || input.kind === 'missing') throw new UsageError(problems);

  const reader = await openReader(agent, now === undefined ? terminal.now() : Date.parse(now));
  try {
    for await (const chunk of input.bytes) reader.push(chunk);
  } catch (error) {
    terminal.error(`ralph analyze: reading ${JSON.stringify(name)} failed: ${reasonOf(error)}.\n`);
    return 'failed';
  }
  const { analysis, endsInFencedBlock } = analyze(reader.end(), KNOWN_SIGNALS.done);
  terminal.out(
    given.has('json')
      ? `${JSON.stringify(printedAnalysis(analysis), null, 2)}\n`
      : renderAnalysis(analysis, endsInFencedBlock),
  );
  return 'done';
}

function unknownAgent(name: string): string {
  const meant = nearest(name, READ_AGENTS);
  return `--agent: ${JSON.stringify(name)} is not one of ${READ_AGENTS.join(', ')}.${meant === null ? '' : ` Did you mean ${meant}?`}`;
}
