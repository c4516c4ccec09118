import { parseOtherCircuit, parseProgress, parseFoundStatus } from '../../../core/local/found-status.ts';
import { mapTexts } from '../../../core/text/redact.ts';
import { readCheckoutFile } from '../../checkout-file.ts';
import { readLane } from '../../lane/read-lane.ts';
import type { StatePlace } from '../../lane/state-places.ts';
import { plainLine } from '../../plain-line.ts';
import { laneOfLocalRun, type LocalPicture } from '../monitor-schema.ts';
import type { LastRun } from '../screen-port.ts';
import { readLastLines } from './last-lines.ts';
import type { LocalFolder } from './local-folder.ts';

const MAX_TEXT_CHARS = 300;

/** What a look needs. `last`: the checkout's last run; `place`: the directory that keeps the lanes, if there is one. */
export interface LocalWorld {
  readonly where: LocalFolder;
  readonly last: LastRun | null;
  readonly place: StatePlace | null;
  readonly isAlive: (pid: number) => boolean;
}

/** The local run as its files tell it. Every text in it is one clean line. Never throws on what the files contain. */
export async function readLocal({ where, last, place, isAlive }: LocalWorld, now: number): Promise<LocalPicture> {
  const { folder, prefix } = where;
  const [run, progress, output] = await Promise.all([
    readRun(where, isAlive),
    readCheckoutFile(folder, `${prefix}progress.json`),
    readLastLines(folder, `${prefix}logs`),
  ]);
  const lane = laneOfLocalRun(run);
  const state = place === null || !keepsStateOf(run, where, last) ? null : await readLane(lane, [place], now);
  const picture: LocalPicture = {
    folder,
    run,
    agent: progress.kind === 'text' ? parseProgress(progress.text) : null,
    output: null,
    state,
  };
  return {
    ...mapTexts(picture, (text) => plainLine(text, MAX_TEXT_CHARS)),
    output:
      output === null
        ? null
        : { file: plainLine(output.file), at: new Date(output.at).toISOString(), lines: output.lines },
  };
}

/** Whether the state of the checkout is that of the run whose files are shown: it has one, which is its last run's. */
function keepsStateOf(run: LocalPicture['run'], { isLast }: LocalFolder, last: LastRun | null): boolean {
  switch (run.kind) {
    case 'ours':
      return last === null
        ? isLast
        : last.pid === run.status.pid && last.startedAt === Date.parse(run.status.startedAt);
    case 'other':
      return false;
    default:
      return isLast;
  }
}

async function readRun({ folder, prefix }: LocalFolder, isAlive: LocalWorld['isAlive']): Promise<LocalPicture['run']> {
  const name = `${prefix}status.json`;
  const file = await readCheckoutFile(folder, name);
  if (file.kind === 'absent') return { kind: 'none' };
  if (file.kind === 'refused') return { kind: 'unreadable', why: `\`${name}\` ${file.why}.` };
  const found = parseFoundStatus(file.text);
  switch (found.kind) {
    case 'ours':
      return { kind: 'ours', status: found.run, isAlive: isAlive(found.run.pid) };
    case 'other': {
      const circuit = await readCheckoutFile(folder, `${prefix}.circuit_breaker_state`);
      return {
        kind: 'other',
        status: found.run,
        circuit: circuit.kind === 'text' ? parseOtherCircuit(circuit.text) : null,
      };
    }
    case 'unreadable':
      return { kind: 'unreadable', why: `\`${name}\` ${found.why}.` };
  }
}
