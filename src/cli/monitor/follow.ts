import type { Terminal } from '../command.ts';
import { giveOrder, type Given } from './give-order.ts';
import type { Picture } from './monitor-schema.ts';
import type { Screen } from './screen-port.ts';
import type { Source } from './source.ts';
import { renderScreen } from './view/screen.ts';
import { initialSession, pressKey, said, type OrderOfKey } from './view/session.ts';

/** How often files are looked at. */
const POLL_MS = 500;

/** What the screen follows. */
export interface Followed {
  readonly source: Source;
  readonly screen: Screen;
  readonly shows: Picture['shows'];
  readonly folder: string;
  readonly remote: string | null;
}

/** Shows the picture, and obeys keys, until one says that it is enough. The screen is as it was before, whatever happens. */
export async function follow(followed: Followed, terminal: Terminal): Promise<void> {
  const { source, screen } = followed;
  let session = initialSession(followed.shows);
  /** The last order, until the screen has shown what came of it. */
  let unsaid: Promise<Given> | null = null;
  try {
    for (;;) {
      const now = terminal.now();
      const picture = await (session.shows === 'all' ? source.all(now) : source.local(now));
      screen.draw(renderScreen(picture, screen.size(), session, now));
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
  // An order that is on its way is not cut off in the middle.
  if (unsaid !== null) terminal.out(`${(await unsaid).text}\n`);

  async function order(asked: OrderOfKey): Promise<Given> {
    const { folder, remote } = followed;
    const given = await giveOrder(asked, { open: source.open, folder, remote }, () => terminal.now());
    source.refresh();
    session = { ...said(session, given.text, given.kind === 'kept' ? 'good' : 'bad'), isOrdering: false };
    return given;
  }
}
