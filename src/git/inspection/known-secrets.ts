import { createHash } from 'node:crypto';
import { createSpellingSearch, partsOf } from '../../core/secrets/spellings.ts';
import { unpackedParts } from './packed.ts';

type Search = (content: Buffer) => boolean;

/** By the values: what is committed and what is pushed is searched for the same ones. */
const searches = new Map<string, Search>();

/** Contents whose answer is remembered, at most. */
const MOST_KNOWN = 5_000;

/** Whether bytes hold one of the values: as it is, in a common spelling, or in either of them inside of what is packed in them. Each content is searched once. */
export function createSecretSearch(values: readonly string[]): Search {
  const parts = [...new Set(values.flatMap(partsOf))].sort();
  if (parts.length === 0) return () => false;
  const name = JSON.stringify(parts);
  const search = searches.get(name) ?? remembering(searchFor(values));
  searches.set(name, search);
  return search;
}

function searchFor(values: readonly string[]): Search {
  const needles = values.flatMap(partsOf).map((part) => Buffer.from(part));
  const isSpelled = createSpellingSearch(values);
  const holds: Search = (content) => needles.some((needle) => content.includes(needle)) || isSpelled(content);
  return (content) => holds(content) || unpackedParts(content).some(holds);
}

/** By hash of the content, and not by its id in git: SHA-1 can be made to collide. */
function remembering(search: Search): Search {
  const known = new Map<string, boolean>();
  return (content) => {
    const hash = createHash('sha256').update(content).digest('base64');
    const found = known.get(hash) ?? search(content);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(hash, found);
    return found;
  };
}
