import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { htmlPage } from '../../scripts/pictures/frame.ts';
import { renderMovingPicture } from '../../scripts/pictures/moving-picture.ts';
import { numbersOf, pagesOf, type Page } from '../../scripts/pictures/pages.ts';
import type { Scene } from '../../scripts/pictures/play.ts';
import { scenes } from '../../scripts/pictures/scenes.ts';

/** GitHub's limit for the body of a pull request and of a comment. */
const MAX_BODY_CHARS = 65_536;

/** The end of each scene and the number of its pages, to prove that it shows the situation in its name. */
const expected: readonly (readonly [string, string, number])[] = [
  ['complete', 'complete (plan_complete)', 4],
  ['limit-red', 'limit (iterations)', 4],
  ['blocked', 'blocked (needs_human)', 4],
  ['stuck', 'blocked (needs_human)', 4],
  ['circuit-open', 'halted (circuit_open)', 4],
  ['findings', 'limit (iterations)', 4],
  ['withheld', 'limit (iterations)', 4],
  ['first-run', 'complete (plan_complete)', 4],
  ['parked', 'parked (usage_limit)', 4],
  ['configuration-error', 'failed (configuration)', 2],
  ['thirty-tasks', 'limit (iterations)', 5],
  ['reviewed', 'complete (plan_complete)', 4],
  ['half-answered', 'limit (iterations)', 4],
  ['same-complaint', 'blocked (needs_human)', 4],
  ['checks-missing', 'complete (plan_complete)', 4],
];

test('there are pictures of fifteen situations', () => {
  expect(scenes.map(({ name }) => name)).toEqual(expected.map(([name]) => name));
});

function sourcesOf(page: Page): readonly string[] {
  switch (page.kind) {
    case 'thread':
      return page.posts.map(({ markdown }) => markdown);
    case 'summary':
      return [page.markdown];
    case 'log':
      return [page.text];
  }
}

test.each(expected)('%s: ends as %s, and each of its %i pages can be shown', async (name, end, count) => {
  const scene = scenes.find((one): one is Scene => one.name === name);
  const played = await scene?.play();
  if (scene === undefined || played === undefined) throw new Error('There is no such scene.');
  expect(`${played.report.outcome.kind} (${played.report.outcome.reason})`).toBe(end);
  const pages = pagesOf(scene, played);
  expect(pages).toHaveLength(count);
  for (const page of pages) {
    for (const source of sourcesOf(page)) {
      expect(source).not.toMatch(/\bundefined\b|\bNaN\b|\[object Object\]/);
      expect(source.trim()).not.toBe('');
      if (page.kind === 'thread') expect(source.length).toBeLessThanOrEqual(MAX_BODY_CHARS);
    }
    const html = htmlPage(page, { repositoryUrl: played.report.repositoryUrl, numbers: numbersOf(played) });
    expect(html).toMatch(/^<!doctype html>[^]*<\/html>\n$/);
    expect(html).not.toMatch(/<script|\bundefined\b|\bNaN\b|ralph-action:/);
  }
});

/** Returns the sentences of more than 40 characters that a reader sees in Markdown, without its signs. */
function sentencesIn(markdown: string): readonly string[] {
  return markdown
    .replaceAll(/<!--[^]*?-->|^```[^]*?^```$/gm, '')
    .replaceAll(/\[([^\]]+)\]\([^)\s]+\)/g, '$1')
    .replaceAll(/<[^>]+>|[*`“”>\u200B]/g, '')
    .split(/\n|(?<=[.!?])\s/)
    .map((sentence) => sentence.replace(/^[-#\s]+/, '').trim())
    .filter((sentence) => sentence.length > 40);
}

test.each(scenes)(
  '$name: a reader of the pull request, the issue and their comments finds no sentence three times',
  async (scene) => {
    const pages = pagesOf(scene, await scene.play()).map((page) =>
      page.kind === 'log' ? [] : sourcesOf(page).map(sentencesIn),
    );
    const repeated = (sentences: readonly string[], times: number): readonly string[] =>
      [...new Set(sentences)].filter((one) => sentences.filter((other) => other === one).length >= times);
    for (const post of pages.flat()) expect(repeated(post, 2)).toEqual([]);
    expect(repeated(pages.slice(0, -2).flat(2), 3)).toEqual([]);
  },
);

test('the moving picture of the README is current: npm run pictures -- --readme complete', async () => {
  const scene = scenes.find(({ name }) => name === 'complete');
  if (scene === undefined) throw new Error('There is no such scene.');
  const svg = renderMovingPicture(pagesOf(scene, await scene.play()));
  expect(readFileSync(new URL('../../docs/label-to-pull-request.svg', import.meta.url), 'utf8')).toBe(svg);
  // GitHub shows it as an image: nothing is loaded or run, and nothing of the Markdown is left.
  expect(svg).not.toMatch(/<script|href=|url\(|&lt;!--|\bundefined\b/);
});
