/** How base64 of a longer content shows `bytes` when they start `offset` bytes (modulo 3) into it, without the characters that their neighbours share. */
export function base64At(bytes: Uint8Array, offset: number): string {
  const shifted = new Uint8Array(offset + bytes.length);
  shifted.set(bytes, offset);
  let binary = '';
  for (const byte of shifted) binary += String.fromCharCode(byte);
  return btoa(binary).slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
}
