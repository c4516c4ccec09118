import type { Transcript } from '../../core/analysis/analysis.ts';
import { computeModelCost } from '../../core/spending/prices.ts';
import type { CliPlace } from '../cli/cli.ts';
import { asAmount, asArray, asObject, asString, type JsonObject } from '../reading/json-value.ts';

/**
 * Returns the usage of a session's answers since an instant; empty if none. The protocol reports only the
 * tokens of a prompt's last answer, and the cost of the session with all earlier runs.
 */
export function sumUsageSince(
  session: JsonObject | null,
  { since, prices }: { readonly since: number } & Pick<CliPlace, 'prices'>,
): Partial<Pick<Transcript, 'tokens' | 'costUsd'>> {
  const answers = asArray(session?.['messages']).flatMap((message) => {
    const info = asObject(asObject(message)?.['info']) ?? {};
    const isNew = (asAmount(asObject(info['time'])?.['created']) ?? 0) >= since;
    return info['role'] === 'assistant' && isNew ? [info] : [];
  });
  const used = answers.map((info) => {
    const { cache, ...counts } = asObject(info['tokens']) ?? {};
    const cached = asAmount(asObject(cache)?.['read']) ?? 0;
    const input = sum([counts['input'], cached, asObject(cache)?.['write']]);
    const output = sum([counts['output'], counts['reasoning']]);
    // Price the tokens if the cost is 0, which OpenCode reports for a model whose price it does not know.
    const model = `${asString(info['providerID']) ?? ''}/${asString(info['modelID']) ?? ''}`;
    const cost = asAmount(info['cost']) || computeModelCost(prices, model, { input, cached, output });
    return { tokens: input + output, cost };
  });
  const tokens = sum(used.map((one) => one.tokens));
  const costUsd = sum(used.map(({ cost }) => cost)) || (tokens === 0 ? 0 : null);
  return used.length === 0 ? {} : { tokens, costUsd };
}

function sum(amounts: readonly unknown[]): number {
  return amounts.reduce<number>((all, one) => all + (asAmount(one) ?? 0), 0);
}
