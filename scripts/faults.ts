import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { faultRows } from '../test/loop/stage/faults/fault-rows.ts';
import { isAllMoneyBooked, playFault } from '../test/loop/stage/faults/play-fault.ts';

const HELP = `Usage: npm run faults [-- --every]

Plays every row of the fault table and prints it as Markdown: what goes wrong, how this run ends, how the next one does.
--every also kills the real bundle with SIGKILL before each single thing that it does to the world (half an hour on two cores).
`;

const args = process.argv.slice(2);
if (args.some((arg) => arg !== '--every')) {
  process.stdout.write(HELP);
  process.exit(args.includes('--help') ? 0 : 2);
}

/** Number of rows with unexpected ends. */
let differing = 0;
process.stdout.write('| | what goes wrong | this run | the next run |\n|---|---|---|---|\n');
for (const row of faultRows) {
  const played = await playFault(row);
  const isExpected =
    played.thisRun === row.thisRun &&
    played.nextRun === row.nextRun &&
    row.reported.test(played.reported) &&
    played.isReached &&
    isAllMoneyBooked(row, played.cost);
  if (!isExpected) differing += 1;
  process.stdout.write(
    `| ${isExpected ? '✓' : '✗'} | ${cell(`${row.title} ${row.happened}`)} | ${cell(played.thisRun)} | ${cell(played.nextRun)} |\n`,
  );
}
process.stdout.write(
  `\n${String(faultRows.length - differing)} of ${String(faultRows.length)} rows end as expected.\n`,
);
const killed = args.includes('--every') ? killEverywhere() : 0;
process.exit(differing > 0 ? 1 : killed);

function killEverywhere(): number {
  const vitest = join(import.meta.dirname, '..', 'node_modules', '.bin', 'vitest');
  return (
    spawnSync(process.execPath, [vitest, 'run', 'test/e2e/kill-anywhere.test.ts'], {
      stdio: 'inherit',
      env: { ...process.env, RALPH_FAULTS: 'every' },
    }).status ?? 1
  );
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
