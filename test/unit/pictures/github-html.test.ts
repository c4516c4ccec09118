import { expect, test } from 'vitest';
import { githubHtml } from '../../../scripts/pictures/github-html.ts';

const place = { lineBreaks: false, repositoryUrl: 'https://github.test/acme/shop', numbers: new Set([7]) };

test.each([
  ['a script', 'a<script>alert(1)</script>', '<p>a&lt;script&gt;alert(1)&lt;/script&gt;</p>'],
  ['a style', '<div>a<style>b{}</style></div>', '<div>a&lt;style&gt;b{}&lt;/style&gt;</div>'],
  ['an attribute that acts', '<a onclick="x()" href="https://a.test">b</a>', '<p><a href="https://a.test">b</a></p>'],
  ['an address that acts', '<a href="javascript:x()">b</a>', '<p><a>b</a></p>'],
  ['an unknown element', '<font>a</font>', '<p>a</p>'],
  ['a comment', 'a<!-- b -->', '<p>a</p>'],
  [
    'details',
    '<details><summary>a</summary>\n\nb\n\n</details>',
    '<details><summary>a</summary>\n<p>b</p>\n</details>',
  ],
  [
    'a task list',
    '- [x] a\n- [ ] b',
    '<ul class="contains-task-list">\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled checked> a</li>\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled> b</li>\n</ul>',
  ],
  [
    'an alert',
    '> [!WARNING]\n> a',
    '<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title">Warning</p>\n<p>a</p>\n</div>',
  ],
  ['a quote', '> a', '<blockquote>\n<p>a</p>\n</blockquote>'],
  ['a mention', 'by @ann.', '<p>by <a class="user-mention" href="https://github.com/ann">@ann</a>.</p>'],
  [
    'no mention in code or an address',
    '`@ann` a@b.test',
    '<p><code>@ann</code> <a href="mailto:a@b.test">a@b.test</a></p>',
  ],
  ['a reference', 'Closes #7', '<p>Closes <a href="https://github.test/acme/shop/issues/7">#7</a></p>'],
  ['no reference to nothing', '#8, `#7`', '<p>#8, <code>#7</code></p>'],
  [
    'the address of an issue',
    'https://github.test/acme/shop/issues/7',
    '<p><a href="https://github.test/acme/shop/issues/7">#7</a></p>',
  ],
])('%s', (_what, markdown, html) => {
  expect(githubHtml(markdown, place).trim()).toBe(html);
});

test.each([
  ['a\nb', '<p>a<br>\nb</p>', '<p>a\nb</p>'],
  // A written `<br>` is followed by the line's own break.
  ['a<br>\nb', '<p>a<br><br>\nb</p>', '<p>a<br>\nb</p>'],
  ['a\\\nb', '<p>a<br>b</p>', '<p>a<br>b</p>'],
  ['- a\n  b', '<ul>\n<li>a<br>\nb</li>\n</ul>', '<ul>\n<li>a\nb</li>\n</ul>'],
  [
    '- a\n  - b',
    '<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>',
    '<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>',
  ],
  ['```\na\nb\n```', '<pre><code>a\nb\n</code></pre>', '<pre><code>a\nb\n</code></pre>'],
])('line breaks of %j, in a comment and in a summary', (markdown, inComment, inSummary) => {
  expect(githubHtml(markdown, { ...place, lineBreaks: true })).toBe(inComment);
  expect(githubHtml(markdown, place)).toBe(inSummary);
});
