/** Shorter values would be found in any text. */
const SHORTEST_VALUE = 8;

/** Whether bytes hold one of the values, as it is or in base64. */
export function createSecretSearch(values: readonly string[]): (content: Buffer) => boolean {
  // Of a value of many lines (a private key), each long line gives it away.
  const parts = values.flatMap((value) => [
    value.trim(),
    ...value
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line.length >= 20),
  ]);
  const needles = [...new Set(parts)]
    .filter((part) => part.length >= SHORTEST_VALUE)
    .flatMap((part) => [Buffer.from(part), ...inBase64(part)]);
  return (content) => needles.some((needle) => content.includes(needle));
}

/** The parts of the encoded value that do not depend on its neighbours, for each of the three ways in which it can fall into groups of 3 bytes. */
function inBase64(value: string): readonly Buffer[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    const whole = bytes
      .subarray(0, bytes.length - (bytes.length % 3))
      .toString('base64')
      .slice(before === 0 ? 0 : 4);
    return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')]
      .filter((text) => text.length >= SHORTEST_VALUE)
      .map((text) => Buffer.from(text));
  });
}
