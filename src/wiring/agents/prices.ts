import { priceOfClaude } from '../../agents/claude/messages/prices.ts';
import type { ChosenAgent } from '../../config/config.ts';
import { priceOf, type Prices } from '../../core/spending/prices.ts';

/** The models that the user chose and whose price nobody knows. GitHub's own service and a program of the user's ask for models by themselves. */
export function unpricedModels(
  order: readonly Pick<ChosenAgent, 'name' | 'model'>[],
  prices: Prices,
): readonly string[] {
  return order.flatMap(({ name, model }) =>
    model === null ||
    name === 'command' ||
    name === 'copilot' ||
    priceOfClaude(model, prices) !== null ||
    priceOf(prices, model) !== null
      ? []
      : [model],
  );
}
