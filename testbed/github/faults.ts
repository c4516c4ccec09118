/** A fault for the next `times` requests that match. */
interface Fault {
  readonly match: { readonly method?: string; readonly path: RegExp };
  readonly times: number;
  readonly effect: FaultEffect;
}

/** `answer`, `hang` and `drop` replace the operation; `lost` and `cut` take effect after it was carried out. */
export type FaultEffect =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Accepts the request and never answers. */
  | { readonly kind: 'hang' }
  /** Closes the connection without an answer. */
  | { readonly kind: 'drop' }
  /** Answers 502 although the operation was carried out. */
  | { readonly kind: 'lost' }
  /** Closes the connection in the middle of the answer. */
  | { readonly kind: 'cut' };

/** Faults that wait for matching requests. */
export interface Faults {
  inject(fault: Fault): void;
}

export interface FaultQueue extends Faults {
  /** Returns the fault that this request suffers, or null. Each call uses up one of the fault's `times`. */
  take(method: string, path: string): FaultEffect | null;
}

export function createFaults(): FaultQueue {
  const waiting: { readonly fault: Fault; left: number }[] = [];
  return {
    inject: (fault) => void waiting.push({ fault, left: fault.times }),
    take(method, path) {
      const found = waiting.find(
        ({ fault: { match }, left }) => left > 0 && (match.method ?? method) === method && match.path.test(path),
      );
      if (found === undefined) return null;
      found.left -= 1;
      return found.fault.effect;
    },
  };
}
