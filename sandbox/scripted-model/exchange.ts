import type { OfferedTool } from './tools.ts';
import type { Conversation, ErrorStep, StepError } from './step.ts';

/** How one provider's API is spoken. */
export interface Dialect {
  readonly name: 'anthropic' | 'openai-responses' | 'openai-chat' | 'gemini';
  /** Paths at which it is asked for an answer. */
  readonly path: RegExp;
  /** Reads a request at such a path; what asks for something else than an answer gets its body at once. */
  read(path: string, body: object): Exchange | { readonly body: object };
}

/** A request for an answer, and how it is answered. */
export interface Exchange {
  readonly conversation: Conversation;
  /** Asked on the side, e.g. for a title: takes no step. */
  readonly isSide: boolean;
  readonly tools: readonly OfferedTool[];
  /** The folder that the CLI says it works in; null: it does not say. */
  readonly folder: string | null;
  /** How the answer is sent: as a whole, as server-sent events, or as Amazon frames them. */
  readonly form: 'whole' | 'events' | 'frames';
  whole(answer: Answer): object;
  stream(answer: Answer): Stream;
  errorBody(error: ErrorStep): object;
  errorEvents(error: StepError): readonly ServerEvent[];
}

/** What the model says and does; neither: an empty answer. */
export interface Answer {
  readonly text: string | null;
  readonly use: ToolUse | null;
}

export interface ToolUse {
  readonly tool: string;
  readonly namespace: string | null;
  /** A text goes to a tool that takes no JSON. */
  readonly input: Readonly<Record<string, unknown>> | string;
}

/** An answer as events; without those of its end it is incomplete. */
export interface Stream {
  readonly said: readonly ServerEvent[];
  readonly end: readonly ServerEvent[];
}

export interface ServerEvent {
  /** Null: it has no name. */
  readonly name: string | null;
  readonly data: object | string;
}

/** What a provider sends as an event, and names by its type. */
export type TypedData = Readonly<Record<string, unknown>> & { readonly type: string };
