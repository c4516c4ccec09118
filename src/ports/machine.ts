/** Instants in ms since the epoch. */
export interface Clock {
  now(): number;
}

/** Lets time pass; settles early when the signal is aborted, and never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** The job log. Text given to it is cleaned of workflow commands and redacted by the adapter. */
export interface Log {
  info(text: string): void;
  warning(text: string): void;
  error(text: string): void;
  /** One collapsible group; nests not. */
  group<T>(title: string, body: () => Promise<T>): Promise<T>;
}
