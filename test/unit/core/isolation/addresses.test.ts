import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isForbiddenAddress, parseAddress } from '../../../../src/core/isolation/addresses.ts';
import { runs } from '../../../runs.ts';

test.each([
  ['8.8.8.8'],
  ['1.1.1.1'],
  ['100.63.255.255'],
  ['100.128.0.0'],
  ['172.15.255.255'],
  ['172.32.0.0'],
  ['192.0.1.0'],
  ['198.17.255.255'],
  ['198.20.0.0'],
  ['203.0.113.7'],
  ['223.255.255.255'],
  ['168.63.129.15'],
  ['2606:4700::1111'],
  ['2001:200::1'],
  ['2001:4860:4860::8888'],
  ['2a00:1450:4001:80b::200e'],
  ['::ffff:8.8.8.8'],
  ['::ffff:808:808'],
  ['64:ff9b::8.8.8.8'],
])('%s is public', (address) => {
  expect(isForbiddenAddress(address)).toBe(false);
});

test.each([
  ['this machine', ['0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.255.255', '::1', '::']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1']],
  ['behind a NAT', ['100.64.0.1', '100.127.255.255']],
  ['link-local', ['169.254.1.1', 'fe80::1', 'febf::1', 'fec0::1', 'fe80::1%eth0']],
  ['metadata', ['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254']],
  ['multicast', ['224.0.0.1', '239.255.255.255', 'ff02::1']],
  ['reserved', ['240.0.0.1', '255.255.255.255', '198.18.0.1', '198.19.255.255', '192.88.99.1', '2001::1', '4000::1']],
  ['mapped', ['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:169.254.169.254', '::FFFF:A9FE:A9FE']],
  ['compatible and translated', ['::127.0.0.1', '::8.8.8.8', '::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8']],
  ['6to4', ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:808:808::1']],
  ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::8.8.8.8', '64:ff9b::1:808:808']],
  ['Teredo', ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001::f5ff:fffe']],
  [
    'another notation',
    ['0177.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '127.0.0.01', '8.8.8.8.', ' 8.8.8.8'],
  ],
  [
    'not an address',
    ['', 'localhost', 'example.com', '1.2.3', '1.2.3.4.5', '256.1.1.1', '1.2.3.-4', '٨.٨.٨.٨', '8.8.8.8\n'],
  ],
  [
    'not an IPv6 one',
    [':', ':::', '1::2::3', '2606:4700', '2606::g', '26060::1', '2606:1:2:3:4:5:6:7:8', '2606::8.8.8.8::1'],
  ],
  [
    'nor one of these',
    ['2606:1:2:3:4:5:6:7::', '2606:8.8.8.8::', '[2606::1]', '2606::1/64', '2606::8.8.8', '2606::1:', ':2606::1'],
  ],
])('%s: none of these is public', (_, addresses) => {
  expect(addresses.filter((address) => !isForbiddenAddress(address))).toEqual([]);
});

test.each([
  ['8.8.8.8', '8.8.8.8'],
  ['2606:4700::1111', '2606:4700:0:0:0:0:0:1111'],
  ['2606:4700:0000:0:0:0:0.0.17.17', '2606:4700:0:0:0:0:0:1111'],
  ['2606:4700:0:0:0:0:0:1111', '2606:4700:0:0:0:0:0:1111'],
  ['::ffff:8.8.8.8', '8.8.8.8'],
  ['64:ff9b::8.8.8.8', '64:ff9b:0:0:0:0:808:808'],
  ['::', '0:0:0:0:0:0:0:0'],
  ['ABCD::', 'abcd:0:0:0:0:0:0:0'],
  ['08.8.8.8', null],
])('%s is %s', (text, address) => {
  expect(parseAddress(text)).toBe(address);
});

const byte = fc.nat(255);
const privateV4 = fc.oneof(
  fc.tuple(fc.constant(10), byte, byte, byte),
  fc.tuple(fc.constant(127), byte, byte, byte),
  fc.tuple(fc.constant(0), byte, byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.integer({ min: 224, max: 255 }), byte, byte, byte),
);
const hex = (high: number, low: number): string => ((high << 8) | low).toString(16);

test('no private address is public in any notation', () => {
  fc.assert(
    fc.property(privateV4, fc.boolean(), ([a, b, c, d], isUpper) => {
      const dotted = [a, b, c, d].join('.');
      const groups = `${hex(a, b)}:${hex(c, d)}`;
      const notations = [
        dotted,
        `::ffff:${dotted}`,
        `::ffff:${groups}`,
        `0:0:0:0:0:ffff:${groups}`,
        `0000:0000:0000:0000:0000:ffff:${dotted}`,
        `::${groups}`,
        `::ffff:0:${groups}`,
        `64:ff9b::${dotted}`,
        `64:ff9b:0:0::${groups}`,
        `64:ff9b:1::${groups}`,
        `2002:${groups}::1`,
        `2001:0:808:808:0:0:${hex(a ^ 255, b ^ 255)}:${hex(c ^ 255, d ^ 255)}`,
        String(((a * 256 + b) * 256 + c) * 256 + d),
        [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
      ];
      for (const text of notations) expect(isForbiddenAddress(isUpper ? text.toUpperCase() : text)).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});

test('an address stays the same in its one notation, and as public as it was', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const address = parseAddress(text);
      expect(address).not.toBeNull();
      expect(parseAddress(address ?? '')).toBe(address);
      expect(isForbiddenAddress(address ?? '')).toBe(isForbiddenAddress(text));
    }),
    { numRuns: runs(500) },
  );
});

test('no text makes it throw, and what is not an address is not public', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.nat(0x24f).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcf:.x%[]')) }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      if (parseAddress(text) === null) expect(isForbiddenAddress(text)).toBe(true);
    }),
    { numRuns: runs(1_000) },
  );
});
