/** 12 hex digits that stand for a text in a task's id: the same in every run and version. No secret, no proof: collisions are for the caller to tell apart. */
export function hashId(text: string): string {
  // Two lanes of multiply-and-rotate (as in MurmurHash3) over the UTF-16 units; each feeds the other at the end.
  let a = 0x9747b28c ^ text.length;
  let b = 0x1b873593 ^ text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = rotated(Math.imul(a ^ unit, 0xcc9e2d51), 15);
    b = rotated(Math.imul(b ^ unit, 0x85ebca6b), 13);
  }
  const first = avalanche(a ^ avalanche(b));
  const second = avalanche(b ^ first);
  return hex(first) + hex(second).slice(0, 4);
}

/** Every bit of the input changes about half of the output's: the final step of MurmurHash3. */
function avalanche(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function hex(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
