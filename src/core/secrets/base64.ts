/**
 * Returns the base64 form of `bytes` inside a longer content at `offset` bytes (modulo 3), without the characters
 * shared with neighbouring bytes.
 */
export function encodeBase64At(bytes: Uint8Array, offset: number): string {
  const shifted = new Uint8Array(offset + bytes.length);
  shifted.set(bytes, offset);
  let binary = '';
  for (const byte of shifted) binary += String.fromCharCode(byte);
  return btoa(binary).slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
}
