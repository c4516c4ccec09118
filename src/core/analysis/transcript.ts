import type { Analysis } from './analysis.ts';

/** What one process of an agent printed, whichever agent it was; `null` means that the agent did not say. */
export interface Transcript extends Pick<
  Analysis,
  'format' | 'agentError' | 'denials' | 'usageLimit' | 'sessionId' | 'turns' | 'tokens' | 'costUsd'
> {
  readonly finalMessage: string;
  /** Whether it came to its end: it holds the agent's result, or in plain text any word. */
  readonly finished: boolean;
  /** Whether the agent turned to a person with a tool made for that. */
  readonly askedPerson: boolean;
}

/** Turns the bytes that an agent's process prints into a transcript, in one pass; never throws for what they are. */
export interface TranscriptReader {
  push(chunk: Uint8Array): void;
  /** To be called once, after the last chunk. */
  end(): Transcript;
}
