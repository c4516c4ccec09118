/** Text that is fit for a prompt; `removed` counts code points that were taken out or cut off. */
export interface CleanedText {
  readonly text: string;
  readonly removed: number;
}

const maxTextChars = 20_000;
const maxTitleChars = 200;

/** A comment as browsers end it (`-->`, `--!>`, at once, or never). */
const htmlComment = /<!--(?:-?>|[^]*?(?:--!?>|$))/g;

/** Controls, joiners, fillers, selectors, direction marks, tags, private use, lone surrogates: nothing that a reader sees. */
const invisible =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u2800\u3164\uE000-\uF8FF\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\u{F0000}-\u{10FFFF}]|\p{Surrogate}/gu;

/** The body of a task: without what a reader of the rendered page would not see, at most 20,000 characters. */
export function cleanText(text: string): CleanedText {
  const lines = text.replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, '\n').replaceAll(/[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/g, ' ');
  const visible = withoutComments(lines.replaceAll(invisible, ''));
  const cut = visible.length > maxTextChars ? visible.slice(0, maxTextChars).replace(/\p{Surrogate}$/u, '') : visible;
  return { text: cut, removed: codePoints(lines) - codePoints(cut) };
}

/** A title: one line of at most 200 characters. */
export function cleanTitle(title: string): CleanedText {
  const { text, removed } = cleanText(title);
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const cut = line.slice(0, maxTitleChars).replace(/\p{Surrogate}$/u, '');
  return { text: cut, removed: removed + codePoints(line) - codePoints(cut) };
}

/** Again until nothing is left: what stood around a comment may form a new one. */
function withoutComments(text: string): string {
  let before = text;
  for (;;) {
    const after = before.replaceAll(htmlComment, '');
    if (after === before) return after;
    before = after;
  }
}

function codePoints(text: string): number {
  return [...text].length;
}
