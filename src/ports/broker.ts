import type { MeteredUsage, CallLimits, Spent } from '../core/spending/meter.ts';

/** Connects an agent with its model. The agent holds placeholders, and the broker holds the keys. */
export interface Broker {
  /**
   * Opens the broker for one call. `hear` receives the provider's reactions as they happen. `spending` receives the
   * call's usage so far whenever a request ends.
   */
  open(
    limits: CallLimits,
    hear: (sign: ProviderSign) => void,
    spending?: (spent: Spent) => void,
  ): Promise<BrokeredCall>;
}

/** The provider's reactions to those requests of a call that are not free, regardless of what the CLI reports. */
export type ProviderSign =
  /** A request was sent to the provider, or the provider has answered one. */
  | { readonly kind: 'asked' | 'answered' }
  /** All requests have ended, and the last one failed in this way. */
  | ({ readonly kind: 'failed' } & ProviderFailure);

/** A failed request: the provider answered with an error or not at all. */
export interface ProviderFailure {
  /** HTTP status, or null if no answer came. */
  readonly status: number | null;
  /** The provider's own words, or the problem of the connection; null if none. */
  readonly words: string | null;
  /** Time for which the provider asks to wait, in ms, or null if it gives none. */
  readonly waitMs: number | null;
}

/** The connection of one call to the model. */
export interface BrokeredCall {
  /** Variables by which the agent's CLI finds the broker, with a placeholder for each key. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends the call: its placeholders become void and its open requests are ended. */
  end(): Promise<MeteredUsage>;
}

/** A request of the agent's CLI as received, with its whole body. */
export interface AgentRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** An answer that the broker gives without asking the provider. */
export interface BrokerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The broker's decision on a request. */
export type Reading =
  | { readonly kind: 'answered'; readonly answer: BrokerAnswer }
  /** The request is refused; `why` is for the log. */
  | { readonly kind: 'refused'; readonly answer: BrokerAnswer; readonly why: string }
  | {
      readonly kind: 'forwarded';
      /** Path and query at the provider, below its address. */
      readonly target: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** Estimated usage of the request if nobody reads its answer. */
      readonly expected: Spent;
      /** Maximum usage of the request. */
      readonly atMost: Spent;
      /** The requested model if its price is not known; null if the price is known or the request is free. */
      readonly unpriced: string | null;
      /** Creates the reader of the answer; null if the request is free. */
      readonly account: ((contentType: string) => AnswerMeter) | null;
    };

/** Reads the usage of a request from the answer while it passes. */
export interface AnswerMeter {
  push(text: string): void;
  /** Returns the usage according to the part that has passed so far. */
  spent(): Spent;
  /** Returns true if the provider has reported the usage of the whole answer. */
  isComplete(): boolean;
}

/** Returns the headers that identify the sender of this request to a provider instead of a key. */
export type SignRequest = (request: {
  readonly url: string;
  readonly body: string;
}) => Promise<Readonly<Record<string, string>>>;

/** One provider's protocol, as far as a broker needs it, in pure functions. */
export interface ModelProtocol {
  /**
   * Decides on a request. `secretFor` returns the key for a placeholder, or null if the placeholder is unknown or void.
   */
  read(request: AgentRequest, secretFor: (placeholder: string) => string | null): Reading;
  /** Answer to a request beyond the limits, in the provider's own words, so that the CLI ends without another try. */
  readonly exhausted: BrokerAnswer;
  /**
   * Returns the provider's error that ends a stream of this content type in the middle. An empty text means that the
   * stream just breaks off. Null means that this is not a stream and passes to its end.
   */
  exhaustedIn(contentType: string): string | null;
  /** Answers a request for a model without a known price while a limit in dollars applies. */
  withoutPrice(model: string): BrokerAnswer;
  /** Returns true if the price of a model is known; `model` is the name in the user's settings. */
  hasPrice(model: string): boolean;
  /** Answer to a request that is larger than any provider accepts. */
  readonly tooLarge: BrokerAnswer;
  /** Returns the answer for a provider that cannot be reached; the CLI may try again. */
  unreachable(why: string): BrokerAnswer;
}
