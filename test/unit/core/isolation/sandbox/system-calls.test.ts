import { describe, expect, test } from 'vitest';
import { buildCallFilter, findCallNumbers } from '../../../../../src/core/isolation/sandbox/system-calls.ts';

const [X64, I386, ARM64, ARM] = [0xc000_003e, 0x4000_0003, 0xc000_00b7, 0x4000_0028];
const ALLOWED = 0x7fff_0000;
const refused = (error: number): number => 0x0005_0000 + error;

/** Returns the kernel's decision about a call: an interpreter for the instructions that the filter uses. */
function decided(processor: string, arch: number, number: number, firstArgument = 0): number {
  const code = Buffer.from(buildCallFilter(processor) ?? '', 'hex');
  const seen: Readonly<Record<number, number>> = { 0: number, 4: arch, 16: firstArgument };
  let loaded = 0;
  for (let at = 0; at < code.length; at += 8) {
    const [operation, yes, no, value] = [
      code.readUInt16LE(at),
      code[at + 2] ?? 0,
      code[at + 3] ?? 0,
      code.readUInt32LE(at + 4),
    ];
    if (operation === 0x06) return value;
    if (operation === 0x20) loaded = seen[value] ?? Number.NaN;
    else if (operation === 0x15) at += 8 * (loaded === value ? yes : no);
    else if (operation === 0x35) at += 8 * (loaded >= value ? yes : no);
    else throw new Error(`no such operation: ${String(operation)}`);
  }
  throw new Error('it does not end');
}

describe('buildCallFilter()', () => {
  test.each([
    ['x64', X64, { socket: 41, pair: 53, keys: [248, 249, 250], hidden: [], others: [0, 1, 59, 257, 435] }],
    ['x64', I386, { socket: 359, pair: 360, keys: [286, 287, 288], hidden: [102], others: [1, 11, 41, 248, 435] }],
    ['arm64', ARM64, { socket: 198, pair: 199, keys: [217, 218, 219], hidden: [], others: [63, 64, 221, 435] }],
    ['arm64', ARM, { socket: 281, pair: 288, keys: [309, 310, 311], hidden: [102], others: [3, 4, 11, 435] }],
  ])('%s, programs of %i', (processor, arch, { socket, pair, keys, hidden, others }) => {
    for (const key of keys) expect(decided(processor, arch, key)).toBe(refused(1));
    for (const call of [425, 426, 427, ...hidden]) expect(decided(processor, arch, call)).toBe(refused(38));
    for (const number of [socket, pair]) {
      for (const family of [1, 2, 10, 16]) expect(decided(processor, arch, number, family)).toBe(ALLOWED);
      for (const family of [17, 31, 38, 40, 42, 44]) expect(decided(processor, arch, number, family)).toBe(refused(97));
    }
    for (const other of others) expect(decided(processor, arch, other, 40)).toBe(ALLOWED);
  });

  test('the other table of calls of the same processor is not there; a tracer may skip a call', () => {
    for (const number of [0, 39, 41, 248]) expect(decided('x64', X64, 0x4000_0000 + number, 40)).toBe(refused(38));
    expect(decided('x64', X64, 0xffff_ffff)).toBe(ALLOWED);
  });

  test.each([
    ['x64', ARM64],
    ['arm64', X64],
    ['x64', 0x0000_0008],
  ])('on %s, a program of %i is ended', (processor, arch) => {
    expect(decided(processor, arch, 1)).toBe(0x8000_0000);
  });

  test('a processor that is not known has no filter', () => {
    expect([buildCallFilter('riscv64'), findCallNumbers('riscv64')]).toEqual([null, null]);
  });
});
