import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { RUN_TAG_NAME } from './process-tree.ts';

/** A command of this program for a process of its own. */
interface OwnProcess {
  /** The first message to the process. */
  readonly work: unknown;
  readonly command: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The tag by which `endTagged` finds the process. */
  readonly tag: string;
  /** Signals by the name of the order that the process gets when they are aborted. */
  readonly orders: Readonly<Partial<Record<Order, AbortSignal>>>;
  /** Receives each line of its output. */
  readonly line: (text: string) => void;
}

type Order = 'SIGINT' | 'SIGTERM';

/** A message of one of the two processes to the other. */
type Message =
  | { readonly kind: 'work'; readonly work: unknown }
  | { readonly kind: 'order'; readonly signal: Order }
  | { readonly kind: 'end'; readonly result: unknown };

/** The environment variable that tells a process to take its work from the one that started it. */
const TAKES_WORK = 'RALPH_TAKES_WORK';

/**
 * Maximum time in ms for the last lines of a process that has ended; a program that it left behind may hold its output.
 */
const LAST_LINES_MS = 1_000;

/** Runs a command of this program in a process of its own; returns its result, or null if it ended without one. */
export async function runSameProgram(own: OwnProcess): Promise<{ readonly result: unknown } | null> {
  const { work, command, environment, tag, orders, line } = own;
  const { execa } = await import('execa');
  const child = execa(process.execPath, [...process.execArgv, process.argv[1] ?? '', command], {
    env: { ...environment, [TAKES_WORK]: 'true', [RUN_TAG_NAME]: tag },
    extendEnv: false,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'json',
    // Detach the process: a terminal sends Ctrl-C to every process of a group, but this process passes it on itself.
    detached: true,
    reject: false,
    buffer: false,
  });
  let ended: { readonly result: unknown } | null = null;
  child.on('message', (message) => {
    const said = message as Message;
    if (said.kind === 'end') ended = { result: said.result };
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', line);
  const isOver = Promise.all([once(child, 'exit'), once(child, 'disconnect')]).catch(() => undefined);
  const isClosed = once(child, 'close').catch(() => undefined);
  const send = (message: Message): void => {
    // Ignore a failure to send, which means that the process has ended.
    child.send(message, () => undefined);
  };
  send({ kind: 'work', work });
  for (const [signal, order] of Object.entries(orders) as [Order, AbortSignal][]) {
    const pass = (): void => {
      send({ kind: 'order', signal });
    };
    if (order.aborted) pass();
    else order.addEventListener('abort', pass, { once: true });
  }
  await isOver;
  await Promise.race([isClosed, sleep(LAST_LINES_MS)]);
  return ended;
}

/** The work of a process that `runSameProgram` started. */
export interface TakenWork {
  readonly work: unknown;
  /** Turns orders into signals of this process, including orders that have arrived already. */
  readonly obey: () => void;
  /** Sends the result to the other process. */
  readonly end: (result: unknown) => Promise<void>;
}

/** Returns the work that another process of this program gives to this one; null if a person started it. */
export async function takeWork(environment: NodeJS.ProcessEnv): Promise<TakenWork | null> {
  if (environment[TAKES_WORK] === undefined || process.send === undefined) return null;
  Reflect.deleteProperty(environment, TAKES_WORK);
  const early: Order[] = [];
  let receive = (signal: Order): unknown => early.push(signal);
  // End if the process that started this one is gone, because there is nobody to report to.
  process.once('disconnect', () => receive('SIGTERM'));
  const obey = (): void => {
    receive = (signal) => process.emit(signal, signal);
    for (const signal of early) receive(signal);
  };
  const end = (result: unknown): Promise<void> =>
    new Promise((resolve) => {
      const message: Message = { kind: 'end', result };
      process.send?.(message, () => {
        resolve();
      });
    });
  return new Promise((resolve) => {
    process.on('message', (message) => {
      const said = message as Message;
      if (said.kind === 'work') resolve({ work: said.work, obey, end });
      else if (said.kind === 'order') receive(said.signal);
    });
  });
}
