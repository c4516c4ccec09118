import { UsageError, type Command } from '../command.ts';
import type { OpenPlaces } from '../lane/state-places.ts';
import { createOrderCommands } from '../lane/orders.ts';
import type { OrderOfKey } from './view/session.ts';

/** What came of an order, as a sentence. */
export interface Given {
  readonly kind: 'kept' | 'failed';
  readonly text: string;
}

/** Gives an order by the command that a person would type, to the one place that the key was meant for. */
export async function giveOrder(
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
  const options = ['--lane', lane, '--dir', folder, ...(remote === null ? [] : ['--remote', remote])];
  return run(command, [...args, ...options], now);
}

async function run(command: Command, args: readonly string[], now: () => number): Promise<Given> {
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
    return end === 'done' ? { kind: 'kept', text: firstLine(out) } : { kind: 'failed', text: firstLine(error || out) };
  } catch (thrown) {
    // Whatever happens to an order, the picture stays.
    const text = thrown instanceof UsageError ? thrown.problems.join(' ') : String(thrown);
    return { kind: 'failed', text: `${command.name}: ${text}` };
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // Orders read no input.
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
