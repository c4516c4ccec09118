import { priceOfClaude } from '../../agents/claude/messages/prices.ts';
import type { ConfiguredAgent } from '../../config/config.ts';
import { AGENTS } from '../../core/agent-names.ts';
import { findModelPrice, type Prices } from '../../core/spending/prices.ts';

/**
 * Returns the user's models without a known price. GitHub's own service and a user's program choose models by
 * themselves.
 */
export function listUnpricedModels(
  order: readonly Pick<ConfiguredAgent, 'name' | 'model'>[],
  prices: Prices,
): readonly string[] {
  return order.flatMap(({ name, model }) =>
    model === null ||
    !AGENTS[name].isCounted ||
    priceOfClaude(model, prices) !== null ||
    findModelPrice(prices, model) !== null
      ? []
      : [model],
  );
}
