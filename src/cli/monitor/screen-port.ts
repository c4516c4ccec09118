import type { Line, Size } from './view/columns.ts';

/** What happens at a terminal; `tick`: nothing did for a while. */
export type ScreenEvent =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'resize' }
  | { readonly kind: 'tick' };

/** A terminal that is drawn on as a whole. */
export interface Screen {
  size(): Size;
  /** Shows these lines, from the top: writes only what changed. */
  draw(lines: readonly Line[]): void;
  /** The next thing that happens, at the latest after `ms`. */
  next(ms: number): Promise<ScreenEvent>;
  /** Shows again what was there before, and the cursor. */
  close(): void;
}

/** The last run of a checkout that this program made. `folder`: of the repository, which it works for and has its files in. */
export interface LastRun {
  readonly folder: string;
  readonly pid: number;
  /** In ms. */
  readonly startedAt: number;
}

/** What the monitor has of the machine beside the terminal that every command has. */
export interface MonitorWorld {
  /** Null: there is no terminal to draw on. */
  openScreen(): Promise<Screen | null>;
  /** The width of what is printed as text. */
  columns(): number;
  pause(ms: number): Promise<void>;
  /** Whether there is a process with this id. */
  isAlive(pid: number): boolean;
  /** By the state in the checkout with this top folder; null: nothing is known of one. */
  lastRun(top: string): Promise<LastRun | null>;
}
