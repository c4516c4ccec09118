import { createHash, randomBytes } from 'node:crypto';
import {
  decideAdmission,
  type MeteredUsage,
  type CallLimits,
  findExhaustedLimit,
  NO_SPENDING,
  addSpent,
  type Spent,
} from '../core/spending/meter.ts';
import type { AnswerMeter, ProviderFailure, ProviderSign, Reading } from '../ports/broker.ts';

export type ForwardedCall = Extract<Reading, { kind: 'forwarded' }>;

/** Maximum number of refusal reasons kept per call. */
const MAX_REASONS = 5;

/** Maximum length of a model's name; a longer name is cut. */
const MAX_MODEL_CHARS = 200;

/** A brokered call, with its spending so far and its limits. */
export interface BrokerCall {
  readonly placeholders: Readonly<Record<string, string>>;
  readonly secretFor: (placeholder: string) => string | null;
  /** Starts a request as soon as the limits allow it; returns null if a limit is used up or the call has ended. */
  enter(reading: Pick<ForwardedCall, 'atMost' | 'account'>): Promise<PassingRequest | null>;
  /** True if a model without a known price must not be called. */
  readonly needsPrice: boolean;
  refuse(why: string): void;
  /** Records a model that was not called because its price is unknown. */
  refuseModel(model: string): void;
  end(): Promise<MeteredUsage>;
}

/** A request in progress, whose maximum cost is part of the call's spending until it leaves. */
export interface PassingRequest {
  readonly signal: AbortSignal;
  /** Sets the meter of the request's cost; null if the request costs nothing. */
  count(account: AnswerMeter | null): void;
  /** Returns true if the spending of the call, including all requests in progress, has reached a limit. */
  isOver(): boolean;
  /** Records how the request ended: a failure, or null if the provider answered. Free requests are not reported. */
  recordEnd(failure: ProviderFailure | null): void;
  leave(): void;
}

/** Creates a brokered call; its placeholders are valid for this call only. */
export function createBrokerCall(
  limits: CallLimits,
  keys: Readonly<Record<string, string>>,
  listeners: { readonly hear: (sign: ProviderSign) => void; readonly spending: ((spent: Spent) => void) | undefined },
): BrokerCall {
  const { hear } = listeners;
  const placeholders = Object.fromEntries(
    Object.keys(keys).map((name) => [name, `ralph-placeholder-${randomBytes(16).toString('hex')}`]),
  );
  const secrets = new Map(Object.entries(placeholders).map(([name, text]) => [digest(text), keys[name] ?? null]));
  const open = new Map<object, { readonly atMost: Spent; account: AnswerMeter | null }>();
  const reasons = new Set<string>();
  const ended = new AbortController();
  let spent = NO_SPENDING;
  let requests = 0;
  let unpriced: string | null = null;
  let wake = Promise.withResolvers<undefined>();
  const change = (): void => {
    wake.resolve(undefined);
    wake = Promise.withResolvers();
  };
  const standing = () => {
    const live = [...open.values()].map(({ atMost, account }) => ({ atMost, spent: account?.spent() ?? NO_SPENDING }));
    return {
      spent: live.reduce((sum, one) => addSpent(sum, one.spent), spent),
      open: live.reduce((sum, one) => addSpent(sum, rest(one.atMost, one.spent)), NO_SPENDING),
    };
  };
  return {
    placeholders,
    secretFor: (placeholder) => secrets.get(digest(placeholder)) ?? null,
    needsPrice: limits.costUsd !== null,
    async enter({ atMost, account: counted }) {
      for (;;) {
        if (ended.signal.aborted) return null;
        const admitted = decideAdmission(limits, { ...standing(), next: atMost });
        if (admitted.kind === 'refused') return null;
        if (admitted.kind === 'admitted') break;
        await wake.promise;
      }
      requests += 1;
      const passage = {};
      const under: { readonly atMost: Spent; account: AnswerMeter | null } = { atMost, account: null };
      let failure: ProviderFailure | null = null;
      open.set(passage, under);
      if (counted !== null) hear({ kind: 'asked' });
      return {
        signal: ended.signal,
        recordEnd: (result) => {
          failure = result;
          if (result === null && counted !== null) hear({ kind: 'answered' });
        },
        count: (account) => {
          under.account = account;
        },
        isOver: () => findExhaustedLimit(limits, standing().spent) !== null,
        leave: () => {
          if (!open.delete(passage)) return;
          spent = addSpent(spent, under.account?.spent() ?? NO_SPENDING);
          if (counted !== null) listeners.spending?.(spent);
          // Report the failure only with the last open request, because another one may still be answered.
          if (failure !== null && counted !== null && open.size === 0 && !ended.signal.aborted)
            hear({ kind: 'failed', ...failure });
          change();
        },
      };
    },
    refuse: (why) => {
      if (reasons.size < MAX_REASONS) reasons.add(why);
    },
    refuseModel: (model) => {
      unpriced ??= model.slice(0, MAX_MODEL_CHARS);
    },
    async end() {
      ended.abort();
      change();
      while (open.size > 0) await wake.promise;
      return { ...spent, requests, exhausted: findExhaustedLimit(limits, spent), refused: [...reasons], unpriced };
    },
  };
}

/** Returns the maximum cost that a request in progress may still add to its spending so far. */
function rest(atMost: Spent, spent: Spent): Spent {
  const tokens = Math.max(1, atMost.tokens - spent.tokens);
  return { tokens, outputTokens: 0, costUsd: Math.max(0, atMost.costUsd - spent.costUsd) };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
