import type { Bill, CallLimits, Spent } from '../core/spending/meter.ts';

/** Stands between an agent and its model: the agent holds placeholders, the broker the keys. */
export interface Broker {
  /** Opens it for one call. `hear`: what the provider does, as it does it. `spending`: what the call has spent, each time that a request ends. */
  open(
    limits: CallLimits,
    hear: (sign: ProviderSign) => void,
    spending?: (spent: Spent) => void,
  ): Promise<BrokeredCall>;
}

/** What a provider does with the requests of a call that are not free, whatever the CLI says of it. */
export type ProviderSign =
  /** A request is on its way to it, or it has answered one. */
  | { readonly kind: 'asked' | 'answered' }
  /** Nothing is on its way any more, and what came last was no answer but this. */
  | ({ readonly kind: 'failed' } & ProviderFailure);

/** An answer that is an error, or none. */
export interface ProviderFailure {
  /** HTTP status; null: no answer came. */
  readonly status: number | null;
  /** The provider's own words, or what is wrong with the connection; null: none. */
  readonly words: string | null;
  /** For how long it asks to wait, in ms; null: it does not say. */
  readonly waitMs: number | null;
}

/** One call's way to the model. */
export interface BrokeredCall {
  /** By which the agent's CLI finds the broker, with a placeholder for each key. */
  readonly environment: Readonly<Record<string, string>>;
  /** Ends it: its placeholders are void, its open requests are ended. */
  end(): Promise<Bill>;
}

/** A request of the agent's CLI as it came in, its body read to the end. */
export interface AgentRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** An answer that the broker gives by itself. */
export interface OwnAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is made of a request. */
export type Reading =
  | { readonly kind: 'answered'; readonly answer: OwnAnswer }
  /** `why`: as words for the log. */
  | { readonly kind: 'refused'; readonly answer: OwnAnswer; readonly why: string }
  | {
      readonly kind: 'forwarded';
      /** Path and query at the provider, behind its address. */
      readonly target: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      /** What it will come to, roughly, if nobody reads its answer. */
      readonly expected: Spent;
      /** What it can come to at most. */
      readonly atMost: Spent;
      /** The model that it asks for, where its price is not known; null: it is known, or the request is free. */
      readonly unpriced: string | null;
      /** Reads the answer; null: the request is free. */
      readonly account: ((contentType: string) => Account) | null;
    };

/** Reads what a request came to from the answer, while it passes. */
export interface Account {
  push(text: string): void;
  /** By what has passed so far. */
  spent(): Spent;
  /** Whether the provider has told what the whole answer comes to. */
  isComplete(): boolean;
}

/** Headers by which a provider knows who sends this request, in place of a key. */
export type Sign = (request: {
  readonly url: string;
  readonly body: string;
}) => Promise<Readonly<Record<string, string>>>;

/** One provider's protocol, as far as a broker needs it; pure. */
export interface ModelProtocol {
  /** `secretFor`: the key for a placeholder; null: it is none, or not any more. */
  read(request: AgentRequest, secretFor: (placeholder: string) => string | null): Reading;
  /** In the provider's own words, so that the CLI ends without another try. */
  readonly exhausted: OwnAnswer;
  /** What ends a stream of this content type in the middle, as an error of the provider's; empty: it breaks off; null: it is not a stream, and passes to its end. */
  exhaustedIn(contentType: string): string | null;
  /** Answers a request for a model without a known price while a limit in dollars holds. */
  withoutPrice(model: string): OwnAnswer;
  /** Whether the price of a model is known, by the name that the user chose it by. */
  hasPrice(model: string): boolean;
  /** For a request that is larger than any provider takes. */
  readonly tooLarge: OwnAnswer;
  /** The provider cannot be reached; the CLI may try again. */
  unreachable(why: string): OwnAnswer;
}
