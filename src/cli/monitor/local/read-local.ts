import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseOtherCircuit, parseProgress, parseStatus } from '../../../core/local/found-status.ts';
import { mapTexts } from '../../../core/text/redact.ts';
import { readCheckoutFile } from '../../checkout-file.ts';
import { readLane } from '../../lane/read-lane.ts';
import type { StatePlace } from '../../lane/state-places.ts';
import { plainLine } from '../../plain-line.ts';
import type { LocalPicture } from '../monitor-schema.ts';
import { laneOf } from '../view/lane-of.ts';
import { readLastLines } from './last-lines.ts';

const MAX_TEXT_CHARS = 300;

/** Where a local run leaves its files: in `.ralph/`, or, as the first Ralphs did, beside the prompt. */
export interface LocalFolder {
  readonly folder: string;
  /** `.ralph/`, or nothing. */
  readonly prefix: string;
}

/** The nearest folder, from `folder` up to `top`, that a Ralph has worked in; `.ralph/` of `folder` itself where there is none. Both are absolute. */
export async function findLocalFolder(folder: string, top: string): Promise<LocalFolder> {
  for (let at = folder; ; at = dirname(at)) {
    if (await isFolder(join(at, '.ralph'))) return { folder: at, prefix: '.ralph/' };
    if (await saysLoop(at)) return { folder: at, prefix: '' };
    if (at === top || dirname(at) === at) return { folder, prefix: '.ralph/' };
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() === true;
}

/** Whether a `status.json` that could be anybody's is that of a Ralph. */
async function saysLoop(folder: string): Promise<boolean> {
  const file = await readCheckoutFile(folder, 'status.json');
  if (file.kind !== 'text') return false;
  const found = parseStatus(file.text);
  return found.kind === 'other' && found.run.iteration !== null;
}

/** What a look needs; `place`: the directory that keeps the lanes, if there is one. */
export interface LocalWorld {
  readonly where: LocalFolder;
  readonly place: StatePlace | null;
  readonly isAlive: (pid: number) => boolean;
}

/** The local run as its files tell it. Every text in it is one clean line. Never throws on what the files contain. */
export async function readLocal({ where, place, isAlive }: LocalWorld, now: number): Promise<LocalPicture> {
  const { folder, prefix } = where;
  const [run, progress, output] = await Promise.all([
    readRun(where, isAlive),
    readCheckoutFile(folder, `${prefix}progress.json`),
    readLastLines(folder, `${prefix}logs`),
  ]);
  const lane = laneOf(run);
  const state = place === null ? null : await readLane(lane, [place], now);
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

async function readRun({ folder, prefix }: LocalFolder, isAlive: LocalWorld['isAlive']): Promise<LocalPicture['run']> {
  const name = `${prefix}status.json`;
  const file = await readCheckoutFile(folder, name);
  if (file.kind === 'absent') return { kind: 'none' };
  if (file.kind === 'refused') return { kind: 'unreadable', why: `\`${name}\` ${file.why}.` };
  const found = parseStatus(file.text);
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
