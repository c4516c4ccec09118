import { Tokenizer } from 'htmlparser2';
import type { Span } from './source.ts';

/** A character reference such as `&#8203;` and the character that it stands for. */
export interface Reference extends Span {
  readonly character: string;
}

/** The references in raw HTML between two offsets; some need no semicolon there. */
export function htmlReferences(text: string, start: number, end: number): readonly Reference[] {
  return [...text.slice(start, end).matchAll(/&(?:shy;?|#\d+;?|#x[\da-f]+;?|[a-z][a-z\d]*;)/gi)].map((match) => ({
    start: start + match.index,
    end: start + match.index + match[0].length,
    character: decodeByHtml(match[0]),
  }));
}

/** What a reference of Markdown stands for. GitHub takes numbers as they are, browsers would read some by an old Windows table. */
export function decodeReference(reference: string): string {
  const number = /^&#(?:x([\da-f]+)|(\d+));$/i.exec(reference);
  if (number === null) return decodeByHtml(reference);
  const codePoint = number[1] === undefined ? Number(number[2]) : Number.parseInt(number[1], 16);
  const shown = codePoint > 0 && codePoint <= 0x10_ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
  return shown ? String.fromCodePoint(codePoint) : '\uFFFD';
}

function decodeByHtml(reference: string): string {
  let decoded = '';
  const ignore = (): void => undefined;
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => {
        decoded += reference.slice(start, end);
      },
      ontextentity: (codePoint) => {
        decoded += String.fromCodePoint(codePoint);
      },
      onattribdata: ignore,
      onattribentity: ignore,
      onattribend: ignore,
      onattribname: ignore,
      oncdata: ignore,
      onclosetag: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onopentagname: ignore,
      onprocessinginstruction: ignore,
      onselfclosingtag: ignore,
    },
  );
  tokenizer.write(reference);
  tokenizer.end();
  return decoded;
}
