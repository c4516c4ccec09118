/** Longer texts are for the agent to read. */
const MAX_CHARS = 80;

/** What people write who want nothing more. Neither a word beside them nor agreement is among them: "Yes" may answer a question. */
const COURTESIES = [
  'thanks?( you)?',
  'thank you',
  'many thanks',
  'thx',
  'ty',
  'cheers',
  'lgtm',
  'looks good',
  '(very |so )?(great|nice|good|perfect|excellent|awesome|cool|neat)( (work|job|catch|one|fix|stuff))?',
  'well done',
  'love it',
  'got it',
  'understood',
].join('|');
const FILLERS =
  '(?: (?:to me|now|so much|a lot|very much|for (?:this|that|the (?:fix|change|explanation))|again|all|then))*';
const ONLY_COURTESY = new RegExp(`^(?:(?:${COURTESIES})${FILLERS} ?)+$`);

/** Whether a comment is nothing but thanks or praise, which waits for no answer. */
export function isCourtesy(text: string): boolean {
  if (text.length > MAX_CHARS) return false;
  const words = text
    .toLowerCase()
    .replaceAll(/:[a-z0-9_+-]+:/g, ' ')
    .replaceAll(/@[\w-]+(?:\[bot\])?/g, ' ')
    .replaceAll(/[\p{Extended_Pictographic}\p{Emoji_Modifier}\u200d\ufe0f.,!;()~*–—]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return ONLY_COURTESY.test(words);
}
