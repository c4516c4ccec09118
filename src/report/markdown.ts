/**
 * Text from outside (titles, agent prose, file names, command output) on its way into Markdown.
 * What goes through here renders as the text it is: it cannot mark up, link, ping a person, mention or close an issue,
 * neither on GitHub's page nor in a commit message that GitHub makes from it (squash merges take title and body raw).
 */
const ZERO_WIDTH_SPACE = '\u200B';

/** One line of plain text, safe in a paragraph, list item, heading or table cell. */
export function text(foreign: string, maxChars: number): string {
  return escapeText(cap(flatten(foreign), maxChars));
}

/** One line of our own wording around foreign values, in which `backticks` mark code. */
export function prose(sentence: string, maxChars: number): string {
  const parts = cap(flatten(sentence), maxChars).split('`');
  const closed = parts.length % 2 === 1 ? parts.length : parts.length - 1;
  return parts
    .map((part, index) => {
      if (index >= closed) return `\\\`${escapeText(part)}`;
      return index % 2 === 1 ? code(part, maxChars) : escapeText(part);
    })
    .join('');
}

/** Like `prose` for a message of several lines: the first is a paragraph, the others become a list. */
export function proseLines(message: string, maxChars: number): string {
  const [first = '', ...others] = message
    .split(/[\r\n]+/)
    .map((line) => line.replace(/^\s*[-*•]\s+/, '').trim())
    .filter((line) => line !== '')
    .slice(0, 50);
  return [prose(first, maxChars), ...(others.length > 0 ? [''] : []), ...others.map((line) => `- ${prose(line, maxChars)}`)].join('\n');
}

/** Inline code: backticks where they suffice, else a `<code>` element, which also bears pipes and backticks in tables. */
export function code(foreign: string, maxChars: number): string {
  const line = cap(flatten(foreign), maxChars);
  return /^[\w ./:=+,()-]+$/.test(line) && !/:\/\/|gh-\d|www\./i.test(line) ? `\`${line}\`` : codeElement(line, maxChars);
}

/** Inline code inside an HTML block, where Markdown is not read: every ASCII mark is an entity. */
export function codeElement(foreign: string, maxChars: number): string {
  const line = cap(flatten(foreign), maxChars);
  return `<code>${line.replace(/[!-.:-@[-`{-~]/g, (char) => `&#x${char.charCodeAt(0).toString(16)};`)}</code>`;
}

/** A fenced block with the last `maxChars` characters of some output. */
export function fence(foreign: string, maxChars: number): string {
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

/** A title where no Markdown is rendered: nothing is escaped, references are broken all the same. */
export function plainTitle(foreign: string, maxChars: number): string {
  return breakReferences(cap(flatten(foreign), maxChars));
}

/** `label` is Markdown already; only an http(s) address becomes a link. */
export function link(label: string, url: string): string {
  return /^https?:\/\/[\w.:/?#=&%~+-]+$/.test(url) ? `[${label}](${url})` : label;
}

/** A table; cells are Markdown already. Empty string when there are no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Adds no bytes for a short text; cuts a long one at a code point and says so with `…`. */
export function cap(line: string, maxChars: number): string {
  if (line.length <= maxChars) return line;
  return `${line.slice(0, maxChars - 1).toWellFormed().replace(/\uFFFD$/, '').trimEnd()}…`;
}

/** Control and format characters go (joiners of emoji stay), white space of any kind becomes one blank. */
export function flatten(foreign: string): string {
  return foreign
    .toWellFormed()
    .replace(ANSI_SEQUENCE, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/(?!\u200D)\p{Cf}/gu, '')
    .trim();
}

/** Colours and cursor moves of terminal programs. */
const ANSI_SEQUENCE = /\u001B\[[0-9;?]*[A-Za-z]/g;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escapeText(line: string): string {
  return breakReferences(line)
    .replace(/[&<>]/g, (char) => ENTITIES[char] ?? char)
    .replace(/[\\`*_~[\]|$]/g, '\\$&')
    .replace(/^[-+=#]/, '\\$&')
    .replace(/^(\d+)([.)])/, '$1\\$2');
}

/**
 * GitHub looks for `@user`, `#12`, `GH-12` and addresses in the rendered text, so neither a backslash nor an entity helps;
 * an invisible character inside does.
 */
function breakReferences(line: string): string {
  return line
    .replace(/@/g, `@${ZERO_WIDTH_SPACE}`)
    .replace(/#(?=\d)/g, `#${ZERO_WIDTH_SPACE}`)
    .replace(/gh-(?=\d)/gi, `$&${ZERO_WIDTH_SPACE}`)
    .replace(/:\/\//g, `:${ZERO_WIDTH_SPACE}//`)
    .replace(/www(?=\.)/gi, `$&${ZERO_WIDTH_SPACE}`);
}
