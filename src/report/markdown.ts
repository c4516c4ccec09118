import { isListedTask, nameOfTask, type Task } from '../core/tasks/task.ts';
import { ANSI_SEQUENCE, breakReferences, hasSkipWords, toOneLine, ZERO_WIDTH_SPACE } from '../core/text/phrase.ts';

// These functions put untrusted text (titles, agent prose, file names, command output) into Markdown as plain text, so
// that it cannot mark up, link, ping a person, mention or close an issue, neither on GitHub's page nor in a commit
// message that GitHub makes from it. A squash merge copies title and body unchanged.

/** Returns one line of plain text, safe in a paragraph, list item, heading or table cell. */
export function renderText(foreign: string, maxChars: number): string {
  return escapeText(toOneLine(foreign, maxChars));
}

/** Renders one line of our own wording around untrusted values, in which `backticks` mark code. */
export function renderProse(sentence: string, maxChars: number): string {
  const parts = toOneLine(sentence, maxChars).split('`');
  const closed = parts.length % 2 === 1 ? parts.length : parts.length - 1;
  return parts
    .map((part, index) => {
      if (index >= closed) return `\\\`${escapeText(part)}`;
      return index % 2 === 1 ? renderCode(part, maxChars) : escapeText(part);
    })
    .join('');
}

/** Renders a message of several lines like `renderProse`: the first line is a paragraph, the others become a list. */
export function renderProseLines(message: string, maxChars: number): string {
  const [first = '', ...others] = message
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^\s*[-*•]\s+/, '').trim())
    .filter((line) => line !== '')
    .slice(0, 50);
  return [
    renderProse(first, maxChars),
    ...(others.length > 0 ? [''] : []),
    ...others.map((line) => `- ${renderProse(line, maxChars)}`),
  ].join('\n');
}

/**
 * Renders inline code: backticks, or a `<code>` element for text that backticks or a table cell cannot contain, or that
 * the raw text must not show.
 */
export function renderCode(foreign: string, maxChars: number): string {
  const line = toOneLine(foreign, maxChars);
  return line === '' || NOT_IN_BACKTICKS.test(line) || hasSkipWords(line)
    ? renderCodeElement(line, maxChars)
    : `\`${line}\``;
}

/**
 * Matches characters that end a code span or a table cell, comments, and references: a squash merge copies them
 * unchanged into a commit message, in which backticks protect nothing.
 */
const NOT_IN_BACKTICKS = /[`|@]|#\d|gh-\d|:\/\/|www\.|<!--|-->/i;

/**
 * Renders inline code that is also valid in an HTML block, in which Markdown is not read. Marks of HTML, Markdown and
 * references are entities.
 */
export function renderCodeElement(foreign: string, maxChars: number): string {
  const line = toOneLine(foreign, maxChars);
  return `<code>${line.replace(MARKS_IN_CODE, (char) => ENTITIES[char] ?? char)}</code>`;
}

const MARKS_IN_CODE =
  /[&<>"`|@*_~[\]\\$!]|#(?=\d)|:(?=\/\/)|(?<=gh)-(?=\d)|(?<=www)\.|(?<=\b(?:skip|request))-(?=checks\s*:)/gi;

/** Entities without decimal numbers, because `&#64;` would read like an issue in a commit message. */
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '`': '&#x60;', '|': '&vert;', '@': '&#x40;' },
  ...{ '*': '&ast;', _: '&#x5f;', '~': '&#x7e;', '[': '&lsqb;', ']': '&rsqb;', '\\': '&bsol;', $: '&#x24;' },
  ...{ '!': '&excl;', '#': '&num;', ':': '&#x3a;', '-': '&#x2d;', '.': '&#x2e;' },
};

/** Renders a fenced block with the last `maxChars` characters of some output. */
export function renderFence(foreign: string, maxChars: number): string {
  const clean = breakReferences(
    foreign
      .toWellFormed()
      .replace(ANSI_SEQUENCE, '')
      .replace(/\r\n?/g, '\n')
      .replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
      .slice(-maxChars)
      .toWellFormed(),
  ).replaceAll('<!--', `<${ZERO_WIDTH_SPACE}!--`);
  const longestRun = Math.max(0, ...[...clean.matchAll(/`+/g)].map(([run]) => run.length));
  const ticks = '`'.repeat(Math.max(3, longestRun + 1));
  return `${ticks}text\n${clean.trimEnd()}\n${ticks}`;
}

/**
 * Turns addresses of runs and comments of this repository, in Markdown of `renderText` or `renderProse`, into links
 * again. Addresses of any other server or repository stay inert.
 */
export function linkPages(markdown: string, repositoryUrl: string): string {
  const address = `${renderText(repositoryUrl, 500)}/`;
  if (!/^https?:/.test(address)) return markdown;
  const [before = '', ...others] = markdown.split(address);
  const linked = others.map((rest) => {
    const [page = '', run, issue] =
      /^(?:actions\/runs\/(\d{1,20})|issues\/(\d{1,15})#issuecomment-\d{1,20})(?![\w/?#&=%+~-])/.exec(rest) ?? [];
    if (page === '') return address + rest;
    const label = run === undefined ? `#${issue ?? ''} (comment)` : `run ${run}`;
    return renderLink(label, `${repositoryUrl}/${page}`) + rest.slice(page.length);
  });
  return [before, ...linked].join('');
}

/** Renders a link if the address is http(s), otherwise the label alone. `label` is already Markdown. */
export function renderLink(label: string, url: string): string {
  return /^https?:\/\/[\w.:/?#=&%~+-]+$/.test(url) ? `[${label}](${url})` : label;
}

/** Renders the name of the task, as a link if the task has a page. */
export function renderTaskLink(task: Task): string {
  return 'url' in task.source ? renderLink(nameOfTask(task), task.source.url) : renderCode(nameOfTask(task), 80);
}

/** Renders the task's name and title; a request's title alone, because it begins with the place that is its name. */
export function renderTaskWithTitle(task: Task): string {
  const title = renderText(task.title, 120);
  if (isListedTask(task)) return `${renderTaskLink(task)}: ${title}`;
  return 'url' in task.source ? renderLink(title, task.source.url) : title;
}

/** Renders a short commit id that links to the commit. */
export function renderCommitPageLink(sha: string, repositoryUrl: string): string {
  return /^[0-9a-f]{7,64}$/.test(sha)
    ? renderLink(`\`${sha.slice(0, 7)}\``, `${repositoryUrl}/commit/${sha}`)
    : renderCode(sha, 64);
}

/** Renders a table whose cells are already Markdown; empty if there are no rows. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * Escapes only the characters that Markdown would interpret at their position in the line, so that the raw text reads
 * like the page.
 */
function escapeText(line: string): string {
  return breakReferences(line)
    .replace(/&(?=#?\w+;)/g, '&amp;')
    .replace(/<(?=[a-z/!?])/gi, '&lt;')
    .replace(/(?<=--)>/g, '&gt;')
    .replace(/[\\`*~[\]|$]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\$&')
    .replace(/^(?:[=>]|[-+](?=[\s-]|$)|#(?=#*(?:\s|$)))/, '\\$&')
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2');
}
