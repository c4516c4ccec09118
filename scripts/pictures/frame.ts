import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { escape, githubHtml, type Place } from './github-html.ts';
import type { Page } from './pages.ts';

const markdownCss = readFileSync(
  createRequire(import.meta.url).resolve('github-markdown-css/github-markdown-light.css'),
  'utf8',
);

/** The parts of GitHub's page around Markdown that take up space or matter to a reader. */
const FRAME_CSS = `
* { box-sizing: border-box; }
body { margin: 0; padding: 24px; color: #1f2328; background: #fff; font: 14px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
h1.title { margin: 0 0 8px; font-size: 32px; font-weight: 400; line-height: 1.25; overflow-wrap: anywhere; }
h1.title span { color: #59636e; font-weight: 300; }
.labels { margin: 0 0 16px; }
.labels span { display: inline-block; margin-right: 4px; padding: 0 10px; border: 1px solid #d1d9e0; border-radius: 2em; font-size: 12px; font-weight: 500; line-height: 22px; background: #f6f8fa; }
.post { margin: 0 0 16px; border: 1px solid #d1d9e0; border-radius: 6px; }
.post header { padding: 8px 16px; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; background: #f6f8fa; color: #59636e; }
.post header b { color: #1f2328; font-weight: 600; }
.post .markdown-body { padding: 16px; font-size: 14px; }
.summary { border: 1px solid #d1d9e0; border-radius: 6px; padding: 16px 24px; }
.summary .markdown-body { font-size: 14px; }
.log { border-radius: 6px; padding: 16px; background: #f6f8fa; font: 12px/20px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.user-mention { font-weight: 600; color: #1f2328 !important; }
@media (max-width: 767px) {
  body { padding: 16px; }
  h1.title { font-size: 26px; }
}
`;

/** Returns a GitHub page as a whole document; it loads and runs nothing. */
export function htmlPage(page: Page, place: Omit<Place, 'lineBreaks'>): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escape(page.name)}</title>
<style>${markdownCss}${FRAME_CSS}</style></head>
<body>${contentOf(page, place)}</body></html>
`;
}

function contentOf(page: Page, place: Omit<Place, 'lineBreaks'>): string {
  switch (page.kind) {
    case 'thread':
      return [
        `<h1 class="title">${escape(page.title)} <span>#${page.number}</span></h1>`,
        `<p class="labels">${page.labels.map((label) => `<span>${escape(label)}</span>`).join('')}</p>`,
        ...page.posts.map(
          ({ by, markdown }) =>
            `<article class="post"><header><b>${escape(by)}</b> commented</header>${body(markdown, { ...place, lineBreaks: true })}</article>`,
        ),
      ].join('\n');
    case 'summary':
      return `<div class="summary">${body(page.markdown, { ...place, lineBreaks: false })}</div>`;
    case 'log':
      return `<div class="log">${escape(page.text)}</div>`;
  }
}

function body(markdown: string, place: Place): string {
  return `<div class="markdown-body">${githubHtml(markdown, place)}</div>`;
}
