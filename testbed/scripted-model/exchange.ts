import type { Conversation, ErrorStep, StepError } from './step.ts';

/** The API of one provider: how requests are read and answers are written. */
export interface Dialect {
  readonly name: 'anthropic' | 'openai-responses' | 'openai-chat' | 'gemini';
  /** Paths of requests for an answer. */
  readonly path: RegExp;
  /** Reads a request at such a path; returns a body at once for a request that does not ask for an answer. */
  read(path: string, body: object): Exchange | { readonly body: object };
}

/** A request for an answer, and the form of its answer. */
export interface Exchange {
  readonly conversation: Conversation;
  /** Set for a side request, such as for a title; it uses no step. */
  readonly isSide: boolean;
  readonly tools: readonly OfferedTool[];
  /** The CLI's working folder as its request names it, or null if it does not. */
  readonly folder: string | null;
  /** The form of the answer: one body, server-sent events, or Amazon's frames. */
  readonly form: 'whole' | 'events' | 'frames';
  whole(answer: ModelAnswer): object;
  stream(answer: ModelAnswer): Stream;
  errorBody(error: ErrorStep): object;
  errorEvents(error: StepError): readonly ServerEvent[];
}

/** A tool that a request offers. */
export interface OfferedTool {
  readonly name: string;
  /** The group in which the tool is called, or null if it has none. */
  readonly namespace: string | null;
  /** Set if the input is text instead of JSON. */
  readonly isText: boolean;
}

/** The model's text and tool call; the answer is empty if both are absent. */
export interface ModelAnswer {
  readonly text: string | null;
  readonly use: ToolUse | null;
}

export interface ToolUse {
  readonly tool: string;
  readonly namespace: string | null;
  /** Text for a tool that takes no JSON. */
  readonly input: Readonly<Record<string, unknown>> | string;
}

/** An answer as events; without the end events it is incomplete. */
export interface Stream {
  readonly said: readonly ServerEvent[];
  readonly end: readonly ServerEvent[];
}

export interface ServerEvent {
  /** The name of the event, or null if it has none. */
  readonly name: string | null;
  readonly data: object | string;
}

/** The data of an event whose name is its type. */
export type TypedData = Readonly<Record<string, unknown>> & { readonly type: string };
