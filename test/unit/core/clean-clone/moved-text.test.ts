import { describe, expect, test } from 'vitest';
import { mapPathToCopy, replaceMovedPaths, namesPaths } from '../../../../src/core/clean-clone/searched-upward.ts';

const moves = [{ from: '/w/shop', to: '/c/shop' }];

describe('absolute paths in a text', () => {
  test.each([
    ['#!/w/shop/.venv/bin/python3\n', '#!/c/shop/.venv/bin/python3\n'],
    ['/w/shop\n', '/c/shop\n'],
    ['VIRTUAL_ENV="/w/shop/.venv"', 'VIRTUAL_ENV="/c/shop/.venv"'],
    ["VIRTUAL_ENV='/w/shop/.venv'", "VIRTUAL_ENV='/c/shop/.venv'"],
    ['NODE_PATH=/w/shop/a:/w/shop/b', 'NODE_PATH=/c/shop/a:/c/shop/b'],
    ['"url": "file:///w/shop"', '"url": "file:///c/shop"'],
    ['--prefix=/w/shop', '--prefix=/c/shop'],
  ])('%j becomes %j', (text, moved) => {
    expect(replaceMovedPaths(text, moves)).toBe(moved);
  });

  test.each([
    '/w/shop-2/src',
    '/w/shopping',
    '/w/shop.git',
    '/w/shopé',
    '/elsewhere/w/shop',
    './w/shop',
    '~/w/shop',
    '${HOME}/w/shop',
    'http://w/shop',
    '//w/shop',
    '/w',
  ])('%j is another one', (text) => {
    expect(replaceMovedPaths(text, moves)).toBe(text);
  });

  test('names that mean something to patterns are names', () => {
    const odd = [{ from: '/w/a+b (1) [x] $&.^', to: '/c/$1$&' }];
    expect(replaceMovedPaths('x /w/a+b (1) [x] $&.^/y', odd)).toBe('x /c/$1$&/y');
  });
});

test.each([
  ['/w/shop', '/c/shop'],
  ['/w/shop/lib', '/c/shop/lib'],
  ['/w/shop-2', '/w/shop-2'],
  ['lib', 'lib'],
  ['', ''],
])('the path %j becomes %j', (path, moved) => {
  expect(mapPathToCopy(path, moves)).toBe(moved);
});

test.each([
  ['.venv/bin/pytest', true],
  ['bin/rspec', true],
  ['node_modules/.bin/jest', true],
  ['a/.venv/Scripts/pip', true],
  ['.venv/pyvenv.cfg', true],
  ['.venv/lib/python3.12/site-packages/a.pth', true],
  ['.venv/lib/python3.12/site-packages/shop.egg-link', true],
  ['.venv/lib/python3.12/site-packages/__editable___shop_1_0_finder.py', true],
  ['.venv/lib/python3.12/site-packages/shop.py', false],
  ['cabin/x', false],
  ['bin/deep/er', false],
  ['node_modules/a/index.js', false],
])('whether %s names paths: %j', (path, names) => {
  expect(namesPaths(path)).toBe(names);
});
