import { parseJson, type ParsedJson } from '../../../../json/parse.ts';

/** Reads the JSON of a prd or its archive. Where the text is one code fence, perhaps with words around it, what stands in the fence is read; every offset is one of the whole text. */
export function parsePrdJson(text: string): ParsedJson {
  return parseJson(insideFence(text));
}

/** The same text with blanks in place of everything outside of its one fence; unchanged where it is not such a text. */
function insideFence(text: string): string {
  if (/^\uFEFF?\s*[[{]/.test(text)) return text;
  const fences = [...text.matchAll(/^\uFEFF? {0,3}(`{3,}|~{3,})[^`\r\n]*/gm)];
  const [open, close] = fences;
  if (open === undefined || close === undefined || fences.length > 2) return text;
  if (!isClosing(close[0], open[1] ?? '')) return text;
  const [from, to] = [open.index + open[0].length, close.index];
  return blank(text.slice(0, from)) + text.slice(from, to) + blank(text.slice(to));
}

function isClosing(line: string, opening: string): boolean {
  const mark = line.trim();
  return mark.startsWith(opening) && mark === opening.charAt(0).repeat(mark.length);
}

function blank(text: string): string {
  return text.replaceAll(/[^\r\n]/g, ' ');
}
