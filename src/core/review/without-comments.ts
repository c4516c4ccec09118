const HASH = /\.(?:py|pyi|rb|rake|exs?|sh|bash|bats|pl|pm|t|r|jl|cr|nim|ya?ml|toml)$/i;
const DASHES = /\.(?:hs|lhs|lua|elm|sql)$/i;

/** The text of a program without its comments, as far as they take up whole lines or blocks: what is in them does not run. */
export function withoutComments(path: string, text: string): string {
  if (HASH.test(path)) return withoutLines(withoutBlocks(text, /\.pyi?$/i.test(path) ? DOCSTRINGS : RUBY), /^[ \t]*#/);
  if (DASHES.test(path))
    return withoutLines(
      withoutBlocks(text, [
        ['{-', '-}'],
        ['--[[', ']]'],
      ]),
      /^[ \t]*--/,
    );
  // PHP has both; in Rust and PHP `#[` is an attribute.
  return withoutLines(
    withoutBlocks(text, [['/*', '*/']]),
    /\.php$/i.test(path) ? /^[ \t]*(?:\/\/|#(?!\[))/ : /^[ \t]*\/\//,
  );
}

type Blocks = readonly (readonly [string, string])[];
const DOCSTRINGS: Blocks = [
  ['"""', '"""'],
  ["'''", "'''"],
];
const RUBY: Blocks = [['\n=begin', '\n=end']];

function withoutBlocks(text: string, blocks: Blocks): string {
  return blocks.reduce((rest, [start, end]) => withoutBlock(rest, start, end), text);
}

/** What does not end is none, nor is what begins within a word, such as `dist/*`. */
function withoutBlock(text: string, start: string, end: string): string {
  const kept: string[] = [];
  let at = 0;
  for (let open = text.indexOf(start); open !== -1; open = text.indexOf(start, open)) {
    if (start === '/*' && /[\w.*'"`\\/]/.test(text.charAt(open - 1))) {
      open += 1;
      continue;
    }
    const close = text.indexOf(end, open + start.length);
    if (close === -1) break;
    kept.push(text.slice(at, open));
    at = close + end.length;
    open = at;
  }
  return [...kept, text.slice(at)].join(' ');
}

function withoutLines(text: string, comment: RegExp): string {
  return text
    .split('\n')
    .filter((line) => !comment.test(line))
    .join('\n');
}
