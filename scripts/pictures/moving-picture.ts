import { escape } from './github-html.ts';
import type { Page } from './pages.ts';

const WIDTH = 880;
const HEIGHT = 440;
/** The instant of each scene, in percent of the picture's 20 seconds. */
const SHOWN = { issue: [0, 22], log: [22, 62], pull: [62, 100] } as const;
const SECONDS = 20;
const LINE = 22;

/**
 * Renders an animated SVG of a run: the issue with its label, the job log line by line, and the resulting pull request.
 */
export function renderMovingPicture(pages: readonly Page[]): string {
  const issue = threadOf(pages, 'issue');
  const pull = threadOf(pages, 'pull-request');
  const log = pages.find((page) => page.kind === 'log')?.text.split('\n') ?? [];
  const [asked = ''] = plainLines(issue.posts[0]?.markdown ?? '');
  const lines = log.slice(0, 16);
  const [from, to] = SHOWN.log;
  const each = (to - from - 6) / lines.length;
  const frames = [
    frame('issue', [heading(issue), text(asked, 108), `<g class="label">${chip('ralph', 140)}</g>`]),
    frame('log', [
      text('Actions · ralph · loop', 44, 'title'),
      ...lines.map((line, at) => `<g class="l${String(at)}">${text(line, 80 + at * LINE, 'code')}</g>`),
    ]),
    frame('pull', [
      heading(pull),
      chip(pull.labels[0] ?? '', 72),
      ...plainLines(pull.posts[0]?.markdown ?? '')
        .slice(0, 13)
        .map((line, at) => text(line, 132 + at * LINE, at === 0 ? 'strong' : '')),
    ]),
  ];
  const appear = [
    ...Object.entries(SHOWN).map(([name, [begin, end]]) => shownBetween(`.${name}`, begin, end)),
    shownBetween('.label', 8, 100),
    ...lines.map((_, at) => shownBetween(`.l${String(at)}`, Math.round(from + at * each), 100)),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}" role="img" aria-label="From the label on an issue to the pull request">
<style>
text { font: 15px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 22px; } .strong { font-weight: 600; } .code { font: 13px ui-monospace, Menlo, Consolas, monospace; white-space: pre; }
.chip { fill: #f6f8fa; stroke: #d1d9e0; }
/* Without animation, only the pull request is visible. */
.issue, .log { opacity: 0; }
@media (prefers-reduced-motion: no-preference) {
${appear.join('\n')}
}
</style>
<rect width="${String(WIDTH)}" height="${String(HEIGHT)}" rx="8" fill="#ffffff" stroke="#d1d9e0"/>
${frames.join('\n')}
</svg>
`;
}

function threadOf(pages: readonly Page[], name: 'issue' | 'pull-request'): Extract<Page, { kind: 'thread' }> {
  const page = pages.find((one) => one.name === name);
  if (page?.kind !== 'thread') throw new Error(`The scene has no ${name}.`);
  return page;
}

function frame(name: string, parts: readonly string[]): string {
  return `<g class="${name}">\n${parts.join('\n')}\n</g>`;
}

function heading({ title, number }: Extract<Page, { kind: 'thread' }>): string {
  return text(`${cut(title, 64)} #${String(number)}`, 44, 'title');
}

/** Renders a line of text at `y`, cut at the edge of the picture. */
function text(line: string, y: number, kind = ''): string {
  return `<text x="24" y="${String(y)}"${kind === '' ? '' : ` class="${kind}"`}>${escape(cut(line, 104))}</text>`;
}

function cut(line: string, most: number): string {
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

function chip(label: string, y: number): string {
  const width = 24 + label.length * 8;
  return `<rect class="chip" x="24" y="${String(y)}" width="${String(width)}" height="26" rx="13"/><text x="36" y="${String(y + 18)}">${escape(label)}</text>`;
}

/**
 * Lines of Markdown as a reader sees them: without comments, marks, tags and addresses of links, and without tables.
 */
function plainLines(markdown: string): readonly string[] {
  return markdown
    .replaceAll(/<!--[^]*?-->|<details>[^]*?<\/details>/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<[^>]*>|[*`]|^#+ /gm, '')
    .replaceAll(/^(?:- |\* )/gm, '• ')
    .replaceAll(/\\(?=[^\w\s])/g, '')
    .replaceAll(/&#x([\da-f]+);/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replaceAll(/^ *> /gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('|'));
}

/** Renders CSS that shows the elements of a class between two instants of each round, in percent. */
function shownBetween(selector: string, begin: number, end: number): string {
  const name = selector.slice(1);
  const before = begin === 0 ? '' : `0%, ${String(begin)}% { opacity: 0; } `;
  const after =
    end === 100
      ? ` 100% { opacity: 1; }`
      : ` ${String(end)}% { opacity: 1; } ${String(end + 1)}%, 100% { opacity: 0; }`;
  return `${selector} { animation: ${name} ${String(SECONDS)}s infinite; } @keyframes ${name} { ${before}${String(begin === 0 ? 0 : begin + 1)}% { opacity: 1; }${after} }`;
}
