/** Returns instants in ms since the epoch. */
export interface Clock {
  now(): number;
}

/** Waits for `ms`. Settles early if the signal is aborted, and never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/**
 * Sends a body of JSON to the user's webhook. Returns the reason why it was not accepted, as a sentence part, or null
 * if it was. `id` names the message in each attempt.
 */
export type SendWebhook = (message: { readonly id: string; readonly body: string }) => Promise<string | null>;

/** The style of a line of the log, on a terminal with colours; `words` are the agent's and less prominent. */
export type Tone = 'good' | 'bad' | 'heading' | 'words';

/** The job log. The adapter cleans text of workflow commands and redacts it. */
export interface Log {
  info(text: string, tone?: Tone): void;
  warning(text: string): void;
  error(text: string): void;
  /** Runs `body` in one collapsible group; groups do not nest. */
  group<T>(title: string, body: () => Promise<T>): Promise<T>;
}
