import type { CellHead, CellName, CellRead, CellStore, CellWritten } from '../../../src/ports/state.ts';

/** What all machines share: the texts, and how often one was written. */
export interface CellPlace {
  readonly texts: Map<CellName, { readonly head: CellHead; readonly text: string }>;
  written: number;
}

export function createCellPlace(): CellPlace {
  return { texts: new Map(), written: 0 };
}

/** One machine's access to the place. Each call is answered at once and is atomic. */
export function createCells(place: CellPlace): CellStore {
  return {
    place: 'memory',
    read: (names) => Promise.resolve(names.map(read)),
    write: (name, expected, text) => Promise.resolve(write(name, expected, text)),
    readHead: (name) => Promise.resolve({ kind: 'head', head: place.texts.get(name)?.head ?? null }),
  };

  function read(name: CellName): CellRead {
    const found = place.texts.get(name);
    return found === undefined ? { kind: 'absent' } : { kind: 'found', ...found };
  }

  function write(name: CellName, expected: CellHead | null, text: string): CellWritten {
    if ((place.texts.get(name)?.head ?? null) !== expected) return { kind: 'conflict' };
    place.written += 1;
    const head = `write-${place.written}`;
    place.texts.set(name, { head, text });
    return { kind: 'written', head };
  }
}

type CellMethod = 'read' | 'write' | 'readHead';

/**
 * `refused`: nothing is done and the caller is told so. `answer-lost`: it is done, but the caller hears that nobody answered.
 * `taken-for-conflict`: it is done, but the caller hears that somebody was faster (a write that was sent twice).
 */
export type CellFault = 'refused' | 'answer-lost' | 'taken-for-conflict';

export interface FaultyCells extends CellStore {
  /** What was asked, oldest first: `write queue`. */
  readonly asked: string[];
  /** Why nothing at all is answered; null: all is well. */
  outage: string | null;
  /** What every write is told, now and later; null: it is taken. */
  refusal: string | null;
  /** What goes wrong with the method's next call. */
  fail(method: CellMethod, fault: CellFault): void;
  /** What happens elsewhere just before the method's next call. */
  meanwhile(method: CellMethod, action: () => Promise<unknown>): void;
}

/** The same cells, with what can go wrong between them and this machine. */
export function withFaults(cells: CellStore): FaultyCells {
  const faults = new Map<CellMethod, CellFault>();
  const actions = new Map<CellMethod, () => Promise<unknown>>();
  const faulty: FaultyCells = {
    place: cells.place,
    asked: [],
    outage: null,
    refusal: null,
    fail: (method, fault) => {
      faults.set(method, fault);
    },
    meanwhile: (method, action) => {
      actions.set(method, action);
    },
    read: (names) =>
      ask('read', names.join(' '), {
        call: () => cells.read(names),
        unavailable: (why) => names.map(() => ({ kind: 'unavailable', why })),
      }),
    write: (name, expected, text) =>
      ask<CellWritten>('write', name, {
        call: () =>
          faulty.refusal === null
            ? cells.write(name, expected, text)
            : Promise.resolve({ kind: 'refused', why: faulty.refusal }),
        unavailable,
        conflict: { kind: 'conflict' },
      }),
    readHead: (name) => ask('readHead', name, { call: () => cells.readHead(name), unavailable }),
  };
  return faulty;

  async function ask<Answer>(
    method: CellMethod,
    names: string,
    { call, unavailable, conflict }: Answers<Answer>,
  ): Promise<Answer> {
    faulty.asked.push(`${method} ${names}`);
    const [action, fault] = [actions.get(method), faults.get(method)];
    actions.delete(method);
    faults.delete(method);
    await action?.();
    if (faulty.outage !== null) return unavailable(faulty.outage);
    if (fault === 'refused') return unavailable('the server refuses');
    const answer = await call();
    if (fault === 'answer-lost') return unavailable('the server did not answer');
    return fault === 'taken-for-conflict' && conflict !== undefined ? conflict : answer;
  }
}

interface Answers<Answer> {
  readonly call: () => Promise<Answer>;
  readonly unavailable: (why: string) => Answer;
  readonly conflict?: Answer;
}

function unavailable(why: string): { readonly kind: 'unavailable'; readonly why: string } {
  return { kind: 'unavailable', why };
}

/** The same cells, whose every request and answer takes a turn: a scheduler decides who is next. */
export function paced(cells: CellStore, turn: () => Promise<unknown>): CellStore {
  return {
    place: cells.place,
    read: (names) => inTurn(() => cells.read(names)),
    write: (name, expected, text) => inTurn(() => cells.write(name, expected, text)),
    readHead: (name) => inTurn(() => cells.readHead(name)),
  };

  async function inTurn<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    await turn();
    const answer = await call();
    await turn();
    return answer;
  }
}
