import type { Listed } from './listing.ts';

/** What a command has of the world. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  out(text: string): void;
  error(text: string): void;
  now(): number;
}

/** `done`; `different`: the command worked, and found what it looks for; `failed`: it could not do its work. */
export type CommandEnd = 'done' | 'different' | 'failed';

export interface Command extends Listed {
  /** Everything that `--help` says. */
  readonly help: string;
  /** Throws UsageError for arguments that make no sense. */
  run(args: readonly string[], terminal: Terminal): Promise<CommandEnd>;
}

/** Arguments that make no sense; every problem at once. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly problems: readonly string[];
  /** What else is printed: where the help is, or nothing, since it knows no more. */
  readonly hint: 'help' | 'none';

  constructor(problems: readonly string[], hint: 'help' | 'none' = 'help') {
    super(problems.join('\n'));
    this.problems = problems;
    this.hint = hint;
  }
}
