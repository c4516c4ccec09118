import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createSecretSearch } from '../../../src/git/checkout/known-secrets.ts';
import { createSecretScanner } from '../../../src/secrets/scanner.ts';

/** `length` characters without a pattern, put together here so that no scanner takes this file for a leak. */
function random(length: number): string {
  return Array.from({ length }, (_, i) => 'aB3dE5fG7hJ9kL1mN'[(i * 7) % 17]).join('');
}

const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();
const edKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

describe('the scanner knows keys by their pattern', () => {
  const scanner = createSecretScanner();

  test.each([
    ['aws', `AWS_SECRET_ACCESS_KEY=${random(40)}`],
    ['github', `const t = "ghp_${random(36)}"`],
    ['github', `ghs_${random(36)}`],
    ['github', `github_pat_${random(22)}_${random(59)}`],
    ['anthropic', `ANTHROPIC_API_KEY=sk-ant-api03-${random(93)}AA`],
    ['slack', `xoxb-23984754863-2348975623103`],
    ['privatekey', rsaKey],
    ['privatekey', edKey],
    ['privatekey', `const key = ${JSON.stringify(edKey)};`],
    ['github', `// secretlint-disable\nghp_${random(36)}`],
  ])('%s in %s', async (rule, text) => {
    expect(await scanner.scan(text)).toEqual([rule]);
  });

  test.each([
    ['code', 'export const sum = (a, b) => a + b; // see https://example.com/a?b=c\n'],
    ['a workflow', 'env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n  KEY: ${{ secrets.ANTHROPIC_API_KEY }}\n'],
    ['a placeholder', 'ANTHROPIC_API_KEY=your-key-here\n-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n'],
    ['hashes', `"integrity": "sha512-${Buffer.alloc(64, 7).toString('base64')}"\n${'0a1b2c3d'.repeat(5)}\n`],
    ['nothing', ''],
  ])('%s is not a key', async (_, text) => {
    expect(await scanner.scan(text)).toEqual([]);
  });
});

describe('known values are found', () => {
  const value = 'correct-horse?battery>staple';
  const search = createSecretSearch([
    value,
    'short',
    `-----BEGIN KEY-----\nfirst-line-of-the-key-body\nsecond-line-of-the-key-body\n-----END KEY-----`,
  ]);

  test.each([
    ['as they are', `x${value}y`, true],
    ...[0, 1, 2, 3].map(
      (before) =>
        [
          `in base64 after ${before} bytes`,
          Buffer.from(`${'u'.repeat(before)}${value}tail`).toString('base64'),
          true,
        ] as const,
    ),
    ['in base64url', Buffer.from(value).toString('base64url'), true],
    ['one line of many', 'x first-line-of-the-key-body', true],
    ['not when too short to tell', 'short', false],
    ['not in other text', 'correct horse battery staple', false],
  ] as const)('%s', (_, text, found) => {
    expect(search(Buffer.from(text))).toBe(found);
  });
});
