import { expect, test } from 'vitest';
import { secretsOfSettings } from '../../../src/git/checkout/credentials/credentials.ts';

const basic = Buffer.from('x-access-token:c2VjcmV0-of-it').toString('base64');

test.each([
  ['http.https://github.com/.extraheader', `AUTHORIZATION: basic ${basic}`, [basic, 'c2VjcmV0-of-it']],
  ['http.extraheader', 'Authorization: Bearer c2VjcmV0', ['c2VjcmV0']],
  ['http.extraheader', 'PRIVATE-TOKEN: c2VjcmV0', ['c2VjcmV0']],
  ['http.extraheader', 'Accept: application/json', []],
  ['http.extraheader', '', []],
  ['credential.helper', `!f() { echo "username=someone"; echo "password=c2VjcmV0"; }; f`, ['c2VjcmV0']],
  ['credential.helper', 'store --file=/x/some-file', []],
  ['credential.helper', '!login https://a-rather-long-name.example.com:8443/x me@example.com', []],
  ['credential.username', 'a.very.long.user.name@example.com', []],
  ['remote.origin.url', 'https://x-access-token:c2VjcmV0@github.com/o/r.git', ['c2VjcmV0']],
  ['remote.origin.url', 'https://me:c2Vj%2BcmV0@github.com/o/r.git', ['c2Vj%2BcmV0', 'c2Vj+cmV0']],
  ['remote.origin.url', 'https://ghp-0123456789abcdefghij@github.com/o/r.git', ['ghp-0123456789abcdefghij']],
  [
    'remote.origin.url',
    'https://ghp-0123456789abcdefghij:x-oauth-basic@github.com/o/r.git',
    ['ghp-0123456789abcdefghij'],
  ],
  ['remote.origin.url', 'https://some-one@github.com/o/r.git', []],
  ['remote.origin.url', 'git@github.com:o/r.git', []],
  ['remote.origin.url', 'https://github.com/o/a-rather-long-repository-name.git', []],
  ['http.proxy', 'me:c2VjcmV0@proxy:8080', ['c2VjcmV0']],
  ['http.proxy', 'http://me:short@proxy:8080', []],
  ['url.https://x:c2VjcmV0@github.com/.insteadof', 'https://github.com/', ['c2VjcmV0']],
])('%s = %s', (key, value, secrets) => {
  expect(secretsOfSettings([{ key, value }])).toEqual(secrets);
});

test('a key that stands alone has none', () => {
  expect(secretsOfSettings([{ key: 'http.extraheader', value: null }])).toEqual([]);
});
