/** Intercepts all effects of a process on its ports, by their names. */
export interface Tap {
  readonly call: <T>(name: string, call: () => Promise<T>) => Promise<T>;
  /** Intercepts an effect that returns no promise. */
  readonly act: (name: string, act: () => void) => void;
  /** Settles when the process is dead. */
  readonly killed: Promise<void>;
}

const never = new Promise<never>(() => undefined);

/** A tap that changes nothing. */
export const open: Tap = {
  call: (_name, call) => call(),
  act: (_name, act) => {
    act();
  },
  killed: never,
};

/** Returns the port with each of its methods behind the tap, including a function that a method returns. */
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

/** Methods that answer without a promise, during which nothing else can happen. */
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
  /** Returns the place where the process died, for a person; an empty string while it lives. */
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
      // A dead process gets neither the answer nor the error.
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

/** Returns a tap that counts and never kills. */
export function counting(): KillingTap {
  return killAt(() => false, 'before');
}
