import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { summarizeHistory, listTaskHistories } from '../src/core/history/task-history.ts';
import { renderHistoryPage } from '../src/report/history/history-page.ts';
import { noon } from '../test/unit/core/core-fixtures.ts';
import { wholeHistory } from '../test/unit/core/history/history-fixture.ts';
import { findChromium, startBrowser } from './pictures/browser.ts';
import { htmlPage } from './pictures/frame.ts';
import { renderMovingPicture } from './pictures/moving-picture.ts';
import { numbersOf, pagesOf } from './pictures/pages.ts';
import { scenes } from './pictures/scenes.ts';

/** The scene that is rendered as a separate page, at these widths. */
const HISTORY = 'history';
const HISTORY_WIDTHS = [1280, 390];

const HELP = `Usage: npm run pictures [-- --readme] [SCENE …]

Plays fifteen situations and leaves every page that people see of them in pictures/, as HTML and, where the machine has a
Chromium (or CHROME names one), as PNG at 1040 and 390 pixels. --readme also replaces the pictures in README.md.
The scene "history" is the page of ralph history, light and dark.
Scenes: ${HISTORY}, ${scenes.map(({ name }) => name).join(', ')}
`;

const root = join(import.meta.dirname, '..');
const folder = join(root, 'pictures');
/** Widths in CSS pixels: a desktop window, and a phone. */
const WIDE = 1040;
const WIDTHS = [WIDE, 390];
/**
 * The pictures in README.md: the pull request of this scene without its comments, and a moving picture of the run that
 * leads to it.
 */
const README = {
  scene: 'complete',
  png: join(root, 'docs', 'pull-request.png'),
  svg: join(root, 'docs', 'label-to-pull-request.svg'),
};

const args = process.argv.slice(2);
const replacesReadme = args.includes('--readme');
const wanted = args.filter((arg) => arg !== '--readme');
if (wanted.some((arg) => arg !== HISTORY && !scenes.some(({ name }) => name === arg))) {
  process.stdout.write(HELP);
  process.exit(args.includes('--help') ? 0 : 2);
}

const chromium = findChromium(process.env);
if (chromium === null)
  process.stdout.write(
    'There is no Chromium on this machine, so only the HTML is written: install one, or set CHROME.\n',
  );
await using browser = chromium === null ? null : await startBrowser(chromium);
for (const scene of scenes.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const played = await scene.play();
  const at = join(folder, scene.name);
  await rm(at, { recursive: true, force: true });
  await mkdir(at, { recursive: true });
  const place = { repositoryUrl: played.report.repositoryUrl, numbers: numbersOf(played) };
  const pages = pagesOf(scene, played);
  if (replacesReadme && scene.name === README.scene) await writeFile(README.svg, renderMovingPicture(pages));
  for (const page of pages) {
    const html = join(at, `${page.name}.html`);
    await writeFile(html, htmlPage(page, place));
    for (const width of WIDTHS)
      await browser?.picture({ html, png: join(at, `${page.name}-${width}.png`), width, scheme: 'light' });
    if (!replacesReadme || scene.name !== README.scene || page.name !== 'pull-request') continue;
    const body = join(at, 'readme.html');
    await writeFile(body, htmlPage({ ...page, posts: page.posts.slice(0, 1) }, place));
    await browser?.picture({ html: body, png: README.png, width: WIDE, scheme: 'light' });
  }
  process.stdout.write(`${relative(root, at)}/ ${scene.title}\n`);
}

if (wanted.length === 0 || wanted.includes(HISTORY)) {
  const at = join(folder, HISTORY);
  await rm(at, { recursive: true, force: true });
  await mkdir(at, { recursive: true });
  const html = join(at, 'page.html');
  const tasks = listTaskHistories(wholeHistory());
  const repository = 'https://github.test/acme/shop';
  await writeFile(html, renderHistoryPage({ history: summarizeHistory(tasks), tasks, repository, now: noon }));
  for (const width of HISTORY_WIDTHS)
    for (const scheme of ['light', 'dark'] as const)
      await browser?.picture({ html, png: join(at, `page-${width}-${scheme}.png`), width, scheme });
  process.stdout.write(`${relative(root, at)}/ What merged tasks cost\n`);
}
