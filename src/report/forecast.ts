import type { ForecastAdvice, Forecast, SimilarTasks } from '../core/forecast/forecast.ts';
import { formatCost, formatCount } from './format.ts';
import { renderCode } from './markdown.ts';

/** Returns Markdown lines about a task before it starts: the effort of similar tasks, and advice on its text. */
export function describeForecast(forecast: Forecast | null): readonly string[] {
  if (forecast === null) return [];
  const { similar, advice } = forecast;
  return [...(similar === null ? [] : [renderSimilar(similar)]), ...advice.map(renderAdvice)];
}

function renderSimilar({ count, label, costUsd, iterations, untouchedPercent }: SimilarTasks): string {
  const which = label === null ? 'here' : `with the label ${renderCode(label, 60)}`;
  const cost = costUsd === null ? 'cost not known' : `about ${formatCost(costUsd)}`;
  const merged = untouchedPercent === null ? '' : `; ${untouchedPercent} % merged untouched`;
  return `**The last ${count} tasks ${which}:** ${cost}, ${formatCount(iterations, 'iteration')} each${merged}.`;
}

/** Renders the parts that an issue lacks, and advice about them. */
export function renderAdvice(advice: ForecastAdvice): string {
  switch (advice.kind) {
    case 'thin':
      return '**This issue may be too thin.** It says neither what must be true at the end nor which file or symbol it is about. Add what must be true at the end, for example as boxes `- [ ] …`, and a file or function to begin with. The next run reads it.';
    case 'large':
      return `**This issue may be too large.** It has ${advice.boxes} boxes that have little to do with one another. Smaller issues, each with boxes that belong together, are likelier to succeed: to have them proposed, remove the label and comment \`/ralph plan\`.`;
  }
}
