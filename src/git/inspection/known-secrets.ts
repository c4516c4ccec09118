import { createSpellingSearch, partsOf } from '../../core/secrets/spellings.ts';
import { unpackedParts } from './packed.ts';

/** Whether bytes hold one of the values: as it is, in a common spelling, or in either of them inside of what is packed in them. */
export function createSecretSearch(values: readonly string[]): (content: Buffer) => boolean {
  const needles = values.flatMap(partsOf).map((part) => Buffer.from(part));
  const isSpelled = createSpellingSearch(values);
  const holds = (content: Buffer): boolean => needles.some((needle) => content.includes(needle)) || isSpelled(content);
  return (content) => needles.length > 0 && (holds(content) || unpackedParts(content).some((part) => holds(part)));
}
