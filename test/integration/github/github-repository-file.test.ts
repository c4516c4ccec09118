import { expect, test } from 'vitest';
import { readRepositoryFile } from '../../../src/github/repository-file.ts';
import { readConfigTexts } from '../../../src/wiring/settings/run-settings.ts';
import { now, openForge, TOKEN } from './github-fixture.ts';

const PATH = '.github/ralph-settings.yml';

function read(url: string, repo: string) {
  const ignored = (): undefined => undefined;
  return readRepositoryFile(
    {
      ...{ token: TOKEN, tokenFrom: 'input', apiUrl: url, repository: { owner: 'octo', repo }, userAgent: 'test' },
      log: { info: ignored, warning: ignored, error: ignored, group: (_, body) => body() },
      now: () => now,
    },
    PATH,
  );
}

test('reads the file of another repository, with one request', async () => {
  await using scene = await openForge();
  scene.github.state.filesElsewhere.set(`octo/settings:${PATH}`, 'max-iterations: 3\n');
  expect(await read(scene.github.url, 'settings')).toEqual({ kind: 'text', text: 'max-iterations: 3\n' });
  expect(scene.github.state.rate.remaining).toBe(scene.github.state.rate.limit - 1);
});

test('says what to do if the token finds none, or if it is too long', async () => {
  await using scene = await openForge();
  scene.github.state.filesElsewhere.set(`octo/long:${PATH}`, '#'.repeat(64 * 1024 + 1));
  expect(await read(scene.github.url, 'private')).toEqual({
    kind: 'missing',
    why: expect.stringMatching(/read \.github\/ralph-settings\.yml in octo\/private.*the token can see it/) as string,
  });
  expect(await read(scene.github.url, 'long')).toMatchObject({
    kind: 'missing',
    why: expect.stringMatching(/64 KiB/) as string,
  });
});

test('a run takes what its own workflow does not set from there, and makes no request without `settings-from`', async () => {
  await using scene = await openForge();
  scene.github.state.filesElsewhere.set(`octo/settings:${PATH}`, 'max-iterations: 3\nmodel: opus\n');
  const context = { event: { name: 'schedule', payload: {} }, workspace: '/nowhere', apiUrl: scene.github.url };
  const inputs = { 'github-token': TOKEN, model: 'sonnet' };
  const place = { environment: {}, context };
  const { texts, settings } = await readConfigTexts({ ...inputs, settings: 'settings-from: octo/settings' }, place);
  expect(texts).toMatchObject({ 'max-iterations': '3', model: 'sonnet' });
  expect(settings.found.map(({ input }) => input)).toContain('max-iterations');
  expect((await readConfigTexts(inputs, place)).settings.found).toEqual([]);
  expect(scene.sent()).toHaveLength(1);
});
