import { formatTasksDone } from '../../core/tasks/queue.ts';
import type { Terminal } from '../command.ts';
import { describeLaneCondition, describeLaneWait, nameOfLaneAt } from '../../report/overview/overview-text.ts';
import type { LocalPicture, Picture } from './monitor-schema.ts';
import type { MonitorWorld } from './terminal-world.ts';
import type { MonitorSource } from './source.ts';
import { isContinuing, listLocalFacts } from './view/facts.ts';

const POLL_MS = 1000;

/** Prints a line for each change until the local run is over; for all branches, until the process is ended. */
export async function printChanges(
  source: MonitorSource,
  shows: Picture['shows'],
  { world, terminal }: { readonly world: MonitorWorld; readonly terminal: Terminal },
): Promise<void> {
  let before: ReadonlyMap<string, string> = new Map();
  for (;;) {
    const now = terminal.now();
    const picture = await (shows === 'all' ? source.all(now) : source.local(now));
    const facts = pictureFacts(picture, now);
    const time = new Date(now).toISOString().slice('2026-11-21T'.length, -'.000Z'.length);
    for (const [name, text] of facts) if (before.get(name) !== text) terminal.out(`${time}  ${name}: ${text}\n`);
    before = facts;
    if (picture.local !== null && isOver(picture.local)) return;
    await world.pause(POLL_MS);
  }
}

/**
 * Returns true if there is nothing more to follow. A run of another Ralph is over when it gives a reason; if no run has
 * begun yet, the monitor waits for the first one.
 */
function isOver({ run, beside, state, output }: LocalPicture): boolean {
  if (run.kind === 'none' && state === null && output === null) return false;
  if (run.kind === 'other') return run.status.exitReason !== null;
  return ![run, ...beside.map((one) => ({ kind: 'ours', ...one }) as const)].some(isContinuing);
}

/** Returns texts by name; none of them changes merely because time passes. */
function pictureFacts(picture: Picture, now: number): ReadonlyMap<string, string> {
  const { local, all, problems } = picture;
  const facts = new Map<string, string>();
  const add = (name: string, text: string): void => {
    facts.set(name, facts.has(name) ? `${facts.get(name) ?? ''}; ${text}` : text);
  };
  for (const { name, parts, gap } of local === null ? [] : listLocalFacts(local, now))
    add(name, parts.map((line) => line.map(({ text }) => text).join('')).join(gap.text));
  for (const lane of all?.branches ?? []) {
    const name = nameOfLaneAt(lane.branchId, lane.place);
    if (lane.kind !== 'branch') {
      add(name, lane.why);
      continue;
    }
    const all = lane.tasks.length;
    const done = lane.tasks.filter(({ state }) => state === 'done').length;
    add(name, `${describeLaneCondition(lane)}, ${all === 0 ? 'no tasks' : formatTasksDone(done, all)}`);
    // The remaining time shrinks without being a change, so describe each wait as of its end.
    for (const wait of lane.waits.filter(({ task }) => task === null))
      add(name, describeLaneWait(wait, wait.until === null ? 0 : Date.parse(wait.until)));
  }
  for (const problem of [...problems, ...(all?.problems ?? [])]) add('problem', problem);
  return facts;
}
