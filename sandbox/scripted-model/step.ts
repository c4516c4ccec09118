/** One answer of the model, in no dialect. */
export type Step =
  | { readonly kind: 'reply'; readonly text: string }
  /** One tool by its name in the CLI under test; `namespace`: of the group that it is in. */
  | (Saying & {
      readonly kind: 'use';
      readonly tool: string;
      readonly namespace?: string;
      readonly input: Readonly<Record<string, unknown>>;
    })
  /** Whatever tool the CLI offers to run a command, or to read or write a file (`path` is relative to its folder). */
  | (Saying & { readonly kind: 'run'; readonly command: string })
  | (Saying & { readonly kind: 'read'; readonly path: string })
  | (Saying & { readonly kind: 'write'; readonly path: string; readonly content: string })
  | ErrorStep
  /** The same after the answer has begun, with status 200. */
  | (Saying & StepError & { readonly kind: 'stream-error' })
  | { readonly kind: 'hang' }
  /** It begins to speak, and then says nothing more, or the connection breaks. */
  | { readonly kind: 'stall' | 'cut'; readonly text: string }
  /** It ends without a word. */
  | { readonly kind: 'empty' };

export type ErrorStep = StepError & {
  readonly kind: 'error';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the dialect's usual one. */
  readonly body?: object;
};

export interface StepError {
  readonly type: string;
  readonly message: string;
}

interface Saying {
  readonly text?: string;
}

/** A list answers the n-th request with its n-th step and every later one with its last; a function answers by the conversation. */
export type Script = readonly Step[] | ((conversation: Conversation) => Step);

/** What a request says, as far as a script needs it. */
export interface Conversation {
  /** Text of every turn of the user that is not a tool's result, oldest first. */
  readonly prompts: readonly string[];
  /** Results of tools since the last prompt. */
  readonly results: readonly ToolResult[];
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}
