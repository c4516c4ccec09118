import { generateKeyPairSync } from 'node:crypto';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createSecretSearch } from '../../../src/git/inspection/inspection.ts';
import { createSecretScanner } from '../../../src/secrets/scanner.ts';
import { redactSecrets } from '../../../src/core/text/redact.ts';
import { cpuMs } from '../../cpu.ts';

/**
 * Returns `length` characters without a pattern, composed at run time so that no scanner takes this file for a leak.
 */
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
    ['google', `AIza${random(35)}`],
    ['stripe', `sk_live_${random(24)}`],
    ['stripe', `rk_live_${random(24)}`],
    ['stripe', `whsec_${random(32)}`],
    ['azure-storage', `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${random(86)}==;`],
    ['pypi', `pypi-AgEIcHlwaS5vcmc${random(60)}`],
    ['telegram', `BOT=123456789:${random(35)}`],
    ['gitlab', `glpat-${random(20)}`],
    ['jwt', `eyJ${random(20)}.eyJ${random(20)}.${random(30)}`],
    ['openai', `sk-${random(40)}`],
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
    ['a test key', `sk_test_${random(24)}`],
    ['a time and a hash', `12:30:45 ${random(35)} 2026-11-22T10:00:00`],
  ])('%s is not a key', async (_, text) => {
    expect(await scanner.scan(text)).toEqual([]);
  });
});

describe('what the log hides is not pushed', () => {
  const samples = [
    `sk-ant-${random(20)}`,
    `ghp_${random(36)}`,
    `AKIAABCDEFGHIJKLMNOP`,
    `xoxb-${random(20)}`,
    `AIza${random(35)}`,
    `npm_${random(36)}`,
    `glpat-${random(20)}`,
    `sk_live_${random(24)}`,
    `lin_api_${random(40)}`,
    `hf_${random(34)}`,
    `SG.${random(22)}.${random(43)}`,
    `dckr_pat_${random(27)}`,
    `shpat_${'0a1b2c3d'.repeat(4)}`,
  ];
  test.each(samples)('%#', async (sample) => {
    expect(redactSecrets(sample, [])).toBe('***');
    expect(await createSecretScanner().scan(sample)).not.toEqual([]);
  });
});

describe('known values are found', () => {
  const value = 'correct-horse?battery>staple';
  const search = createSecretSearch([
    value,
    'short',
    `-----BEGIN KEY-----\nfirst-line-of-the-key-body\nsecond-line-of-the-key-body\n-----END KEY-----`,
  ]);
  const bytes = [...Buffer.from(value)];
  const hexBytes = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
  const base64 = Buffer.from(`user:${value}:tail`).toString('base64');
  const wide = Buffer.from(value, 'utf16le');
  const packed = gzipSync(`password = ${value}\n`);

  test.each([
    ['as they are', `x${value}y`],
    ...[0, 1, 2, 3].map(
      (before) =>
        [
          `in base64 after ${before} bytes`,
          Buffer.from(`${'u'.repeat(before)}${value}tail`).toString('base64'),
        ] as const,
    ),
    ['in base64url', Buffer.from(value).toString('base64url')],
    ['in base64 with line ends', base64.replaceAll(/.{9}/g, '$&\r\n')],
    ['in base64 with escaped line ends', base64.replaceAll(/.{9}/g, '$&\\n')],
    ['in base64 of UTF-16', wide.toString('base64')],
    ['in base64, reversed', Array.from(base64).reverse().join('')],
    ['in hex', hexBytes.join('')],
    ['in large hex', hexBytes.join('').toUpperCase()],
    ['in hex with colons', hexBytes.join(':')],
    ['in \\x', hexBytes.map((byte) => `\\x${byte}`).join('')],
    ['in 0x', hexBytes.map((byte) => `0x${byte}, `).join('')],
    ['in numbers', JSON.stringify(bytes)],
    ['in \\u', hexBytes.map((byte) => `\\u00${byte}`).join('')],
    ['in \\u{}', hexBytes.map((byte) => `\\u{${byte}}`).join('')],
    ['in octal', bytes.map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')],
    ['percent-encoded', encodeURIComponent(value)],
    ['percent-encoded as a whole', hexBytes.map((byte) => `%${byte}`).join('')],
    ['in part percent-encoded', value.replaceAll('r', '%72')],
    ['in entities', bytes.map((byte) => `&#${byte};`).join('')],
    ['in hexadecimal entities', hexBytes.map((byte) => `&#x${byte};`).join('')],
    ['in HTML', value.replaceAll('>', '&gt;')],
    ['in UTF-16 LE', wide],
    ['in UTF-16 BE', Buffer.from(wide).swap16()],
    ['reversed', Array.from(value).reverse().join('')],
    ['spaced', Array.from(value).join(' ')],
    ['dotted', Array.from(value).join('.')],
    ['with dashes', Array.from(value).join('-')],
    ['as characters of an array', JSON.stringify(Array.from(value))],
    ['cut over lines', value.replaceAll(/.{5}/g, '$&\n')],
    ['cut over lines of comments', value.replaceAll(/.{5}/g, '$&\n// ')],
    ['cut into literals', `"${value.slice(0, 9)}" + "${value.slice(9, 20)}" + "${value.slice(20)}"`],
    ['with zero-width characters', Array.from(value).join('\u200B')],
    ['in gzip', packed],
    ['in gzip, cut off', packed.subarray(0, -6)],
    ['in gzip behind something else', Buffer.concat([Buffer.alloc(1000, 7), packed, Buffer.alloc(50, 9)])],
    ['in zlib', deflateSync(`x ${value}`)],
    ['in raw deflate', deflateRawSync(`x ${value}`)],
    ['in gzip in gzip', gzipSync(packed)],
    ['in base64 of gzip', `const data = "${packed.toString('base64')}";`],
    ['in base64 of gzip with line ends', packed.toString('base64').replaceAll(/.{24}/g, '$&\n')],
    ['in base64 of zlib', deflateSync(`x ${value}`).toString('base64')],
    ['base64 in gzip', gzipSync(base64)],
    ['one line of many', 'x first-line-of-the-key-body'],
  ] as const)('%s', (_, content) => {
    expect(search(typeof content === 'string' ? Buffer.from(content) : content)).toBe(true);
  });

  test.each([
    ['too short to tell', 'short'],
    ['other text', 'correct horse battery staple'],
    ['another order', 'battery-horse?correct>staple'],
    ['other letter case', value.toUpperCase()],
    ['a beginning', value.slice(0, -1)],
    ['a beginning in base64', Buffer.from(value.slice(0, -3)).toString('base64')],
    ['nothing', ''],
  ] as const)('%s is not found', (_, content) => {
    expect(search(Buffer.from(content))).toBe(false);
  });

  test('without values nothing is found', () => {
    expect(createSecretSearch([])(Buffer.from('anything'))).toBe(false);
  });

  test('what unpacks without end is bounded', () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
    expect(cpuMs(() => search(Buffer.concat(Array.from({ length: 20 }, () => bomb))))).toBeLessThan(5_000);
  });

  test('2 MiB of text are searched for six secrets in less than 150 ms', () => {
    const secrets = Array.from({ length: 6 }, (_, i) => `${i}${random(40)}`);
    const find = createSecretSearch(secrets);
    const source = Buffer.from(
      'const value = items["a-b"].map((x) => x.y % 3); // \\n &amp; 0x12 "text"\n'.repeat(29_000),
    );
    const base64Text = Buffer.from(source.toString('base64')).subarray(0, source.length);
    for (const content of [source, base64Text]) {
      find(content.subarray(0, 200_000));
      expect(cpuMs(() => find(content))).toBeLessThan(150);
    }
  });
});
