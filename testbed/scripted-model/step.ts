/** One answer of the model, independent of any API. */
export type ModelStep =
  | { readonly kind: 'reply'; readonly text: string }
  /** Calls one tool by its name in the CLI under test; `namespace` is the group that contains it. */
  | (Saying & {
      readonly kind: 'use';
      readonly tool: string;
      readonly namespace?: string;
      readonly input: Readonly<Record<string, unknown>>;
    })
  /**
   * Calls the tool that the CLI offers for running a command, reading or writing a file (`path` is relative to the
   * CLI's folder).
   */
  | (Saying & { readonly kind: 'run'; readonly command: string })
  | (Saying & { readonly kind: 'read'; readonly path: string })
  | (Saying & { readonly kind: 'write'; readonly path: string; readonly content: string })
  | ErrorStep
  /** Fails like `error`, but after the answer has begun with status 200. */
  | (Saying & StepError & { readonly kind: 'stream-error' })
  | { readonly kind: 'hang' }
  /** Begins an answer and then stalls, or breaks the connection. */
  | { readonly kind: 'stall' | 'cut'; readonly text: string }
  /** Ends without any text. */
  | { readonly kind: 'empty' };

export type ErrorStep = StepError & {
  readonly kind: 'error';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the API's usual error body. */
  readonly body?: object;
};

export interface StepError {
  readonly type: string;
  readonly message: string;
}

interface Saying {
  readonly text?: string;
}

/**
 * A list answers the n-th request with its n-th step, and every later one with its last step; a function chooses the
 * step by the conversation.
 */
export type Script = readonly ModelStep[] | ((conversation: Conversation) => ModelStep);

/** The content of a request, as far as a script needs it. */
export interface Conversation {
  /** The user's turns that are not tool results, oldest first. */
  readonly prompts: readonly string[];
  /** Tool results since the last prompt. */
  readonly results: readonly ToolResult[];
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}
