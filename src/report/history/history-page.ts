import { formatInstant } from '../../core/countdown.ts';
import type { HistorySummary, HistoryGroup, TaskHistory } from '../../core/history/task-history.ts';
import { renderMore } from '../../core/text/phrase.ts';
import { formatCost, formatCount } from '../format.ts';
import { renderCostChart, renderMergedChart } from './history-chart.ts';
import {
  formatLong,
  describeMissingMeasures,
  type GroupKind,
  MEASURES,
  formatMeasures,
  nameOfGroup,
  renderEnds,
} from './history-text.ts';

/** Maximum numbers of rows of the tables. */
const SHOWN = { weeks: 26, others: 12, tasks: 40 };

/** The history of a repository; every text in it is one clean line. */
export interface HistoryPage {
  readonly history: HistorySummary;
  /** Newest pull request first. */
  readonly tasks: readonly TaskHistory[];
  /** Address of the repository's page, or null if it is unknown. */
  readonly repository: string | null;
  readonly now: number;
}

/**
 * Renders the history as one page of HTML: it loads nothing, runs no script, and reads well on a phone, in light and
 * dark.
 */
export function renderHistoryPage(page: HistoryPage): string {
  const { history, tasks, repository, now } = page;
  const name = repository?.split('/').slice(-2).join('/') ?? '';
  const title = name === '' ? 'What merged tasks cost' : `What merged tasks cost: ${name}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>
${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>What merged tasks cost</h1>
<p>${[...(repository === null ? [] : [renderPageLink(repository, name)]), renderEnds(history.all), formatInstant(now)].join(' · ')}</p>
</header>
${history.all.tasks === 0 ? '<p>No run has published a pull request yet.</p>' : renderContent(history, tasks, repository)}
</main>
</body>
</html>
`;
}

function renderContent(history: HistorySummary, tasks: readonly TaskHistory[], repository: string | null): string {
  const measures = formatMeasures(history.all);
  const notes = describeMissingMeasures(history.all);
  return `<dl class="cards">
${MEASURES.map((measure) => `<div><dt>${measure}</dt><dd>${measures[measure]}</dd></div>`).join('\n')}
</dl>
${notes.length === 0 ? '' : `<p class="note">${escapeHtml(notes.join(' '))}</p>\n`}<div class="charts">
<figure>
<figcaption>Merged tasks per week <span class="legend"><span><i class="untouched"></i>untouched</span> <span><i class="changed"></i>changed by people</span> <span><i class="unknown"></i>unknown</span></span></figcaption>
${renderMergedChart(history.weeks)}
</figure>
<figure>
<figcaption>Cost per merged task, per week <span class="legend">on average, of those whose cost is known</span></figcaption>
${renderCostChart(history.weeks)}
</figure>
</div>
${renderGroups('By label', 'label', history.labels.slice(0, SHOWN.others))}
${renderGroups('By agent', 'agent', history.agents.slice(0, SHOWN.others))}
${renderGroups('By model', 'model', history.models.slice(0, SHOWN.others))}
<details>
<summary>By week</summary>
${renderGroupTable('week', history.weeks.toReversed().slice(0, SHOWN.weeks))}
</details>
<section>
<h2>Tasks</h2>
<table class="tasks">
<thead><tr><th>task</th><th>ended</th><th class="n">cost</th><th class="n">iterations</th><th class="n">label to merge</th><th>agent or model</th></tr></thead>
<tbody>
${tasks
  .slice(0, SHOWN.tasks)
  .map((task) => renderTask(task, repository))
  .join('\n')}
</tbody>
</table>
${tasks.length > SHOWN.tasks ? `<p class="note">${renderMore(tasks.length - SHOWN.tasks).trim()}</p>\n` : ''}</section>
<footer>Costs include an equal part of what answers to reviews and checks of the pull request cost. “Untouched” means merged without a commit of a person, “review rounds” are runs that answered reviews, per merged task, “label to merge” is the median, and “reverted” means within 30 days.</footer>`;
}

/** Renders a table of groups below a heading. */
function renderGroups(heading: string, kind: GroupKind, groups: readonly HistoryGroup[]): string {
  return `<section>
<h2>${heading}</h2>
${renderGroupTable(kind, groups)}
</section>`;
}

function renderGroupTable(kind: GroupKind, groups: readonly HistoryGroup[]): string {
  const rows = groups.map((group) => {
    const measures = formatMeasures(group);
    const cells = MEASURES.map((measure) => `<td class="n">${measures[measure]}</td>`);
    return `<tr><th scope="row">${escapeHtml(nameOfGroup(group, kind))}</th>${cells.join('')}</tr>`;
  });
  return `<table class="groups">
<thead><tr><th>${kind}</th>${MEASURES.map((measure) => `<th class="n">${measure}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
}

function renderTask(task: TaskHistory, repository: string | null): string {
  const { title, pullRequest, labels, agent, model, iterations, costUsd, labelledAt, endedAt, end } = task;
  const number = `#${String(pullRequest)}`;
  const link = repository === null ? number : renderPageLink(`${repository}/pull/${String(pullRequest)}`, number);
  const names = labels.map((label) => `<span class="label">${escapeHtml(label)}</span>`).join(' ');
  const time = end !== 'merged' || labelledAt === null || endedAt === null ? null : formatLong(endedAt - labelledAt);
  const cells = [
    `<td>${escapeHtml(describeTaskEnd(task))}</td>`,
    `<td class="n">${costUsd === null ? `unknown${word('cost')}` : formatCost(costUsd)}</td>`,
    `<td class="n">${String(iterations)}${word(iterations === 1 ? 'iteration' : 'iterations')}</td>`,
    time === null ? '<td class="n none">–</td>' : `<td class="n">${time}${word('to merge')}</td>`,
    `<td>${escapeHtml(model ?? agent ?? 'unknown agent')}</td>`,
  ];
  return `<tr><th scope="row">${escapeHtml(title)} ${link} ${names}</th>${cells.join('')}</tr>`;
}

/** Returns the word that replaces the column's heading on a narrow page. */
function word(text: string): string {
  return `<span class="word">&nbsp;${text}</span>`;
}

/** Returns the end of a task: `merged 2026-11-21, untouched, reverted`. */
function describeTaskEnd({ end, endedAt, isUntouched, peopleCommits, reviewRounds, revertedAt }: TaskHistory): string {
  const day = endedAt === null ? '' : ` ${formatInstant(endedAt).slice(0, 10)}`;
  const words = { open: 'open', merged: 'merged', unfinished: 'not merged', closed: 'closed' }[end];
  const changed = isUntouched === false ? [formatCount(peopleCommits ?? 1, 'commit').concat(' by people')] : [];
  return [
    `${words}${day}`,
    ...(isUntouched === true ? ['untouched'] : changed),
    ...(reviewRounds === 0 ? [] : [formatCount(reviewRounds, 'review round')]),
    ...(revertedAt === null ? [] : ['reverted']),
  ].join(', ');
}

function renderPageLink(address: string, text: string): string {
  return /^https?:\/\//.test(address) ? `<a href="${escapeHtml(address)}">${escapeHtml(text)}</a>` : escapeHtml(text);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

const STYLE = `:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --text: #1b1f24; --soft: #57606a; --line: #d8dee4; --link: #0860c9;
  --untouched: #1f7a4d; --changed: #d98e04; --unknown: #8c959f; --cost: #3b6fd4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0e1116; --card: #171b22; --text: #e8ebef; --soft: #9aa4b0; --line: #2d343d; --link: #6cb0ff;
    --untouched: #3fb27f; --changed: #e3a534; --unknown: #77818c; --cost: #6a9cf5;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { width: min(1120px, 100%); margin: 0 auto; padding: 28px 20px 40px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; }
h2 { margin: 0 0 10px; font-size: 17px; }
header p, .note, footer { margin: 10px 0 0; color: var(--soft); }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.cards { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin: 22px 0 0; }
.cards div, figure, section, details { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.cards div { display: flex; flex-direction: column; justify-content: space-between; padding: 12px 14px; }
dt { color: var(--soft); font-size: 13px; }
dd { margin: 2px 0 0; font-size: 24px; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; margin-top: 16px; }
figure { margin: 0; padding: 14px 16px 6px; min-width: 0; }
figcaption { font-weight: 600; }
.legend { display: block; color: var(--soft); font-size: 13px; font-weight: 400; }
.legend i { display: inline-block; width: 10px; height: 10px; margin-right: 4px; border-radius: 2px; }
.legend span { margin-right: 6px; white-space: nowrap; }
svg { display: block; margin-top: 8px; overflow: visible; }
svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
svg line { stroke: var(--line); }
.untouched { fill: var(--untouched); background: var(--untouched); }
.changed { fill: var(--changed); background: var(--changed); }
.unknown { fill: var(--unknown); background: var(--unknown); }
.cost { fill: var(--cost); }
.hit { fill: transparent; }
g:hover .hit { fill: var(--line); fill-opacity: .4; }
section, details { margin-top: 16px; padding: 14px 16px; }
summary { font-size: 17px; font-weight: 700; cursor: pointer; }
summary + table { margin-top: 10px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 7px 8px; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { overflow-wrap: normal; border: 0; vertical-align: bottom; color: var(--soft); font-size: 13px; font-weight: 400; }
tbody th { font-weight: 500; }
td { font-variant-numeric: tabular-nums; }
.n { text-align: right; white-space: nowrap; }
.groups th:first-child { width: 25%; }
.groups .n { width: 12.5%; white-space: normal; }
.tasks { table-layout: fixed; }
.tasks thead th { width: 8%; }
.tasks thead th:nth-child(1) { width: 38%; }
.tasks thead th:nth-child(2) { width: 20%; }
.tasks thead th:nth-child(5) { width: 10%; }
.tasks thead th:nth-child(6) { width: 16%; }
.tasks td:last-child, .tasks th:last-child { padding-left: 16px; }
.word { display: none; }
.label { padding: 0 7px; border: 1px solid var(--line); border-radius: 10px; color: var(--soft); font-size: 12px; font-weight: 400; }
footer { margin-top: 20px; font-size: 13px; }
@media (width <= 900px) {
  .cards { grid-template-columns: repeat(3, 1fr); }
  .charts { grid-template-columns: 1fr; }
}
@media (width <= 640px) {
  main { padding: 18px 12px 28px; }
  .cards { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  section, details { padding: 12px; }
  table, thead, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr 1.5fr 1.2fr 1fr 1fr 1fr; gap: 2px 6px; padding: 8px 0; border-top: 1px solid var(--line); }
  thead tr { padding: 0 0 6px; border: 0; }
  th, td { padding: 0; border: 0; }
  thead th { align-self: end; font-size: 11px; line-height: 1.25; }
  thead th:first-child { display: none; }
  tbody th { grid-column: 1 / -1; }
  .groups .n, .groups th:first-child { width: auto; }
  .groups td { font-size: 14px; }
  .tasks thead { display: none; }
  .tasks tr { display: block; }
  .tasks th { display: block; margin-bottom: 2px; }
  .tasks td, .tasks td:last-child { display: inline; padding: 0; color: var(--soft); font-size: 13px; white-space: normal; }
  .tasks td + td::before { content: ' · '; }
  .tasks .none { display: none; }
  .word { display: inline; }
}
`;
