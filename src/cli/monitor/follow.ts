import { issueOfId } from '../../core/tasks/ids.ts';
import { createOrderCommands } from '../lane/orders.ts';
import type { OpenPlaces } from '../lane/read-lane.ts';
import { type CliCommand, type Terminal, UsageError } from '../command.ts';
import type { Picture } from './monitor-schema.ts';
import type { Screen } from './terminal-world.ts';
import type { MonitorSource } from './source.ts';
import { layOutScreen } from './view/screen.ts';
import { createScreenState, type OrderOfKey, pressKey, withMessage } from './view/session.ts';

/** The result of an order, as a sentence. */
interface Given {
  readonly kind: 'kept' | 'failed';
  readonly text: string;
}

/** Interval in ms at which files are checked. */
const POLL_MS = 500;

/** The picture and the screen that are updated. */
interface Followed {
  readonly source: MonitorSource;
  readonly screen: Screen;
  readonly shows: Picture['shows'];
  readonly folder: string;
  readonly remote: string | null;
}

/** Shows the picture and handles keys until the person quits. Always restores the screen. */
export async function showPicture(followed: Followed, terminal: Terminal): Promise<void> {
  const { source, screen } = followed;
  let session = createScreenState(followed.shows);
  /** The last order, until the screen has shown its result. */
  let unsaid: Promise<Given> | null = null;
  try {
    for (;;) {
      const now = terminal.now();
      const picture = await (session.shows === 'all' ? source.all(now) : source.local(now));
      screen.draw(layOutScreen(picture, screen.size(), session, now));
      if (!session.isOrdering) unsaid = null;
      const event = await screen.next(POLL_MS);
      if (event.kind !== 'key') continue;
      const pressed = pressKey(session, event.key, picture);
      session = pressed.session;
      if (pressed.asked.kind === 'quit') break;
      if (pressed.asked.kind === 'order') unsaid = order(pressed.asked.order);
    }
  } finally {
    screen.close();
  }
  // An order that has begun is not interrupted.
  if (unsaid !== null) terminal.out(`${(await unsaid).text}\n`);

  async function order(asked: OrderOfKey): Promise<Given> {
    const { folder, remote } = followed;
    const given = await giveOrder(asked, { open: source.open, folder, remote }, () => terminal.now());
    source.refresh();
    session = { ...withMessage(session, given.text, given.kind === 'kept' ? 'good' : 'bad'), isOrdering: false };
    return given;
  }
}

/** Gives an order by running the command that a person would type, for the place that the key applies to. */
async function giveOrder(
  { words: [name, ...args], lane, place }: OrderOfKey,
  { open, folder, remote }: { readonly open: OpenPlaces; readonly folder: string; readonly remote: string | null },
  now: () => number,
): Promise<Given> {
  const openOne: OpenPlaces = async (checkout) => {
    const opened = await open(checkout);
    if (opened.kind === 'missing') return opened;
    const places = opened.places.filter((each) => each.name === place);
    return places.length === 0
      ? { kind: 'missing', folder: null, why: `the ${place} is no longer there.` }
      : { ...opened, places };
  };
  const command = createOrderCommands(openOne).find((each) => each.name === name);
  if (command === undefined) return { kind: 'failed', text: `There is no order ${name}.` };
  const issue = issueOfId(lane);
  const options = [
    ...(issue === null ? [] : ['--issue', String(issue)]),
    '--dir',
    folder,
    ...(remote === null ? [] : ['--remote', remote]),
  ];
  return run(command, [...args, ...options], now);
}

async function run(command: CliCommand, args: readonly string[], now: () => number): Promise<Given> {
  let out = '';
  let error = '';
  try {
    const end = await command.run(args, {
      stdin: nothing(),
      out: (text) => {
        out += text;
      },
      error: (text) => {
        error += text;
      },
      now,
    });
    return end === 'done'
      ? { kind: 'kept', text: firstLineOfError(out) }
      : { kind: 'failed', text: firstLineOfError(error || out) };
  } catch (thrown) {
    // A failed order must not end the monitor.
    const text = thrown instanceof UsageError ? thrown.problems.join(' ') : String(thrown);
    return { kind: 'failed', text: `${command.name}: ${text}` };
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // Orders read no input.
}

function firstLineOfError(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
