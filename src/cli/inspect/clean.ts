import type { CleanedText } from '../../core/text/cleaned.ts';
import { parseArguments } from '../arguments.ts';
import { UsageError, type Command, type CommandEnd, type Terminal } from '../command.ts';
import { openInput, reasonOf } from '../input.ts';
import { LISTED } from '../listing.ts';

const HELP = `Usage: ralph clean [FILE|-] [--json]

Prints the text of a task (FILE; stdin for - or without FILE) as a prompt gets it: what a reader sees on the page that
GitHub renders, still as Markdown. The error output counts what was removed.

  --json  prints one JSON object instead, described by schemas/ralph-clean.schema.json

Exit codes: 0 whenever it printed an answer, 1 if reading failed halfway, 2 for a missing file or wrong arguments.
`;

/** `ralph clean`: the text of a task without what nobody sees. */
export const cleanCommand: Command = { ...LISTED.clean, help: HELP, run: clean };

async function clean(args: readonly string[], terminal: Terminal): Promise<CommandEnd> {
  const given = parseArguments(args, { json: 'flag' }, { name: 'FILE', min: 0, max: 1 });
  const name = given.positionals[0] ?? '-';
  const input = await openInput(name, terminal);
  if (given.problems.length > 0 || input.kind === 'missing')
    throw new UsageError([...given.problems, ...(input.kind === 'missing' ? [input.why] : [])]);

  // A byte order mark is one of the characters that nobody sees.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  try {
    for await (const chunk of input.bytes) text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    terminal.error(`ralph clean: reading ${JSON.stringify(name)} failed: ${reasonOf(error)}.\n`);
    return 'failed';
  }
  // The Markdown parser is loaded by those who need it.
  const { cleanMarkdown } = await import('../../core/text/clean.ts');
  const cleaned = cleanMarkdown(text + decoder.decode());
  if (given.has('json')) {
    terminal.out(`${JSON.stringify(cleaned, null, 2)}\n`);
    return 'done';
  }
  terminal.out(cleaned.text === '' || cleaned.text.endsWith('\n') ? cleaned.text : `${cleaned.text}\n`);
  terminal.error(`${describeRemoved(cleaned)}\n`);
  return 'done';
}

/** `removed 12 characters: html-comment 10, invisible 2`, the most frequent kind first. */
function describeRemoved({ removed, kinds }: CleanedText): string {
  if (removed === 0) return 'removed nothing';
  const counts = Object.entries(kinds)
    .sort(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${kind} ${String(count)}`);
  return `removed ${String(removed)} ${removed === 1 ? 'character' : 'characters'}: ${counts.join(', ')}`;
}
