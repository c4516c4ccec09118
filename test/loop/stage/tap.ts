/** Stands between a process and its ports: everything that the process does to the world goes through it, by its name. */
export interface Tap {
  readonly call: <T>(name: string, call: () => Promise<T>) => Promise<T>;
  /** For what is done without waiting for an answer. */
  readonly act: (name: string, act: () => void) => void;
  /** Settles when the process is dead. */
  readonly killed: Promise<void>;
}

const never = new Promise<never>(() => undefined);

/** Nothing comes between. */
export const open: Tap = {
  call: (_name, call) => call(),
  act: (_name, act) => {
    act();
  },
  killed: never,
};

/** The port with each of its methods behind the tap; what a method returns as a function as well. */
export function tapped<Port extends object>(port: string, object: Port, tap: Tap): Port {
  return new Proxy(object, {
    get(target, key, receiver): unknown {
      const member: unknown = Reflect.get(target, key, receiver);
      if (typeof member !== 'function' || instant.has(key)) return member;
      return throughTap(`${port}.${String(key)}`, member as Method, tap);
    },
  });
}

type Method = (...values: readonly unknown[]) => Promise<unknown>;

/** Methods that answer without a promise: nothing can happen in them. */
const instant: ReadonlySet<string | symbol> = new Set(['requests', 'kindOfDenial', 'coAuthor', 'carry']);

function throughTap(name: string, method: Method, tap: Tap): Method {
  return (...values) =>
    tap.call(name, async () => {
      const answer = await method(...values);
      return typeof answer === 'function' ? throughTap(`${name} (undo)`, answer as Method, tap) : answer;
    });
}

export type When = 'before' | 'after';

/** A tap that kills the process at a call: right before it takes effect, or right after, with its answer lost. */
export interface KillingTap extends Tap {
  /** Names of the calls so far, in order. */
  readonly calls: readonly string[];
  /** Where the process died, for a person; empty while it lives. */
  readonly deathPoint: () => string;
}

export function killAt(isTheOne: (name: string, number: number) => boolean, when: When): KillingTap {
  const calls: string[] = [];
  const { promise: killed, resolve } = Promise.withResolvers<undefined>();
  let dead = false;
  const isDead = (): boolean => dead;
  let deathPoint = '';
  const die = (): void => {
    dead = true;
    resolve(undefined);
  };
  const isNext = (name: string): boolean => {
    calls.push(name);
    const isLast = isTheOne(name, calls.length);
    if (isLast) deathPoint = `${when} #${String(calls.length)} ${name}`;
    return isLast;
  };
  return {
    calls,
    deathPoint: () => deathPoint,
    killed,
    call: async (name, call) => {
      if (dead) return never;
      const isLast = isNext(name);
      if (isLast && when === 'before') {
        die();
        return never;
      }
      // Whether it is answered or fails, a dead process does not hear of it.
      const answer = await call().catch((error: unknown) => (isLast || dead ? never : Promise.reject(error as Error)));
      if (isLast) die();
      return isDead() ? never : answer;
    },
    act: (name, act) => {
      if (dead) return;
      const isLast = isNext(name);
      if (!(isLast && when === 'before')) act();
      if (isLast) die();
    },
  };
}

/** Counts and never kills. */
export function counting(): KillingTap {
  return killAt(() => false, 'before');
}
